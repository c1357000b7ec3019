import type { Config } from '../../src/config/config.ts';
import type { SweepQueue } from '../../src/core/operations/jobs.ts';

export type WorkTimes = {
  readonly sweepEveryMs: { readonly [N in SweepQueue]: number };
  readonly reconcileEveryMs: number;
};

/** One of the worker processes reconciles this often. */
const RECONCILE_EVERY_MS = 20_000;
/** Each run costs the queue and the database a few milliseconds, even in a test lab. */
const SWEEP_MS_MIN = 1_000;
/** In test labs, where more runs would only cost time. */
const RECONCILE_MS_MIN = 3_000;

export function workTimes({ timeScale }: Pick<Config, 'timeScale'>): WorkTimes {
  return {
    sweepEveryMs: {
      'recheck-live': Math.max(SWEEP_MS_MIN, 10_000 / timeScale),
      'renew-certificate': Math.max(SWEEP_MS_MIN, 60_000 / timeScale),
    },
    reconcileEveryMs: Math.max(RECONCILE_MS_MIN, RECONCILE_EVERY_MS / timeScale),
  };
}
