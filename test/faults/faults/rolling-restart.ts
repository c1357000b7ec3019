import type { Role } from '../../../src/core/operations/roles.ts';
import type { Fault } from '../fault.ts';

function rolling(role: Role, rounds: number, seconds: number): Fault {
  return {
    name: `rolling-${role}`,
    what: `every \`${role}\` replaced by a new one and stopped with SIGTERM, ${rounds} times in a row`,
    pass: '0 failed requests, exit code 0',
    seconds,
    parts: [role],
    tolerance: { api: 'none', visitors: 'none' },
    recoverySeconds: 10,
    async inject({ system }) {
      const wrong: string[] = [];
      for (let round = 0; round < rounds; round += 1) {
        for (const place of system.placesOf(role)) {
          const code = await place.replace();
          if (code !== 0) wrong.push(`${place.name} ended with ${code}`);
        }
      }
      return { wrong };
    },
  };
}

export const rollingApi = rolling('api', 3, 15);
export const rollingWorker = rolling('worker', 1, 20);
export const rollingEdge = rolling('edge', 2, 20);
