/** A worker's event loop is blocked: its locks expire, then it returns. */
import type { Fault } from '../fault.ts';
import { sleep } from '../system/wait.ts';

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
