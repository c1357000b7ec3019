import { MINUTE } from '../../../src/core/time.ts';
import type { Fault, World } from '../fault.ts';
import { sleep } from '../system/wait.ts';

const WRONG_MS = 20_000;

/** Finds windows that ended early and checks beyond the ladder, due to the wrong clock. */
function shifted(name: string, words: string, shiftMs: number): Fault {
  return {
    name: `clock-${name}`,
    what: `one \`worker\` whose clock is ${words} for ${WRONG_MS / 1_000} s`,
    pass: 'no window or certificate ends early, no check is later than its schedule, effects once',
    seconds: WRONG_MS / 1_000 + 15,
    parts: ['worker'],
    tolerance: { api: 'none', visitors: 'none' },
    recoverySeconds: 30,
    async inject(world) {
      const { system, random } = world;
      const place = random.pick(system.placesOf('worker'));
      const began = new Date();
      await place.stop();
      place.launch({ CLOCK_SHIFT_MS: String(shiftMs) });
      await sleep(WRONG_MS);
      const wrong = [...(await endedEarly(world, began)), ...(await putOff(world))];
      await place.kill();
      await place.start();
      return { wrong };
    },
  };
}

export const clockAhead = shifted('ahead', '10 minutes ahead', 10 * MINUTE);
export const clockBehind = shifted('behind', '10 minutes behind', -10 * MINUTE);
export const clockTomorrow = shifted('tomorrow', 'a day ahead', 24 * 60 * MINUTE);

/** A window lasts 12 minutes here, so none that started later can have ended. */
async function endedEarly({ system }: World, since: Date): Promise<string[]> {
  const rows = await system.sql<{ hostname: string; type: string }>(
    `SELECT hostname, type FROM recorded_event AS event JOIN domain ON domain.id = domain_id
     WHERE event.id > (SELECT coalesce(max(id), 0) FROM recorded_event WHERE at < $1)
       AND (type = 'certificate.ended'
         OR type = 'domain.failed' AND pending_since > now() - interval '11 minutes')`,
    [since],
  );
  return rows.map(({ hostname, type }) => `${hostname}: ${type} before its time`);
}

/** The longest step of a pending domain is a second or two here. */
async function putOff({ system }: World): Promise<string[]> {
  const rows = await system.sql<{ hostname: string; at: Date }>(
    `SELECT hostname, next_check_at AS at FROM domain
     WHERE removed_at IS NULL AND status = 'pending' AND next_check_at > now() + interval '5 minutes'`,
  );
  return rows.map(
    ({ hostname, at }) => `${hostname} is pending and put off until ${at.toISOString()}`,
  );
}

/* A worker's event loop is blocked: its locks expire, then it returns. */

const BLOCKED_MS = 15_000;

export const blockedLoop: Fault = {
  name: 'blocked-loop',
  what: `the event loop of a \`worker\` blocked for ${BLOCKED_MS / 1_000} s, longer than its job leases`,
  pass: 'no job runs twice with effect',
  seconds: 18,
  parts: ['worker'],
  tolerance: { api: 'none', visitors: 'none' },
  recoverySeconds: 10,
  async inject({ random, system }) {
    random.pick(system.placesOf('worker')).block(BLOCKED_MS);
    await sleep(BLOCKED_MS + 1_000);
    return {};
  },
};
