import type { Config } from '../../src/config/config.ts';
import type { SweepQueue } from '../../src/core/operations/jobs.ts';
import { MINUTE, SECOND, scaledMs } from '../../src/core/time.ts';

export type WorkTimes = {
  readonly sweepEveryMs: { readonly [N in SweepQueue]: number };
  readonly reconcileEveryMs: number;
};

/** One of the worker processes reconciles this often. */
const RECONCILE_EVERY_MS = 20 * SECOND;
/** Each run costs the queue and the database a few milliseconds, even in a test lab. */
const SWEEP_MS_MIN = SECOND;
/** In test labs, where more runs would only cost time. */
const RECONCILE_MS_MIN = 3 * SECOND;

export function workTimes({ timeScale }: Pick<Config, 'timeScale'>): WorkTimes {
  return {
    sweepEveryMs: {
      'recheck-live': scaledMs(10 * SECOND, timeScale, SWEEP_MS_MIN),
      'renew-certificate': scaledMs(MINUTE, timeScale, SWEEP_MS_MIN),
    },
    reconcileEveryMs: scaledMs(RECONCILE_EVERY_MS, timeScale, RECONCILE_MS_MIN),
  };
}
