import type { Role } from '../../../src/core/operations/roles.ts';
import type { Fault, World } from '../fault.ts';
import type { Place } from '../system/roles.ts';
import { sleep } from '../system/wait.ts';

const DOWN_MS = 1_000;

/** Like an orchestrator: notices the exit and starts a replacement. */
async function killOnce(place: Place): Promise<void> {
  await place.kill();
  await sleep(DOWN_MS);
  await place.start();
}

async function killOneOf({ system, random }: World, role: Role): Promise<void> {
  await killOnce(random.pick(system.placesOf(role)));
}

export const killedApi: Fault = {
  name: 'killed-api',
  what: 'SIGKILL for the only `api`, which restarts after a second',
  pass: 'every acknowledged write is there, visitors are not affected',
  seconds: 8,
  parts: ['api'],
  tolerance: { api: 'any', visitors: 'none' },
  recoverySeconds: 10,
  async inject(world) {
    await killOneOf(world, 'api');
    return {};
  },
};

export const killedWorkers: Fault = {
  name: 'killed-workers',
  what: 'SIGKILL for one `worker` after the other, three times',
  pass: 'jobs run again within 20 s, effects once',
  seconds: 25,
  parts: ['worker'],
  tolerance: { api: 'none', visitors: 'none' },
  recoverySeconds: 20,
  mayLoseOrders: true,
  async inject({ system }) {
    for (const place of system.placesOf('worker')) await killOnce(place);
    return {};
  },
};

/** Requests under way fail; the balancer sends the next ones to the other edge. */
export const killedEdge: Fault = {
  name: 'killed-edge',
  what: 'SIGKILL for one of two `edge`s, which restarts after a second',
  pass: 'only running requests fail',
  seconds: 8,
  parts: ['edge'],
  tolerance: { api: 'none', visitors: 'any' },
  recoverySeconds: 10,
  async inject(world) {
    const { ledger } = world;
    const before = ledger.failures.length;
    await killOneOf(world, 'edge');
    const failed = ledger.failures.slice(before).filter(({ who }) => who === 'visitor');
    const UNDER_WAY = 2; // visitors arrive one at a time
    const wrong = failed.length > UNDER_WAY ? failed.map(({ what }) => what) : [];
    return { wrong };
  },
};
