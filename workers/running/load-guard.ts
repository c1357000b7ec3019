/**
 * While several accounts have jobs, limits concurrent jobs to what the process keeps up with. On a
 * busy CPU, more concurrent jobs raise the throughput but slow down each job, also one whose turn came
 * early. The jobs of a single account have no such limit.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { MINUTE } from '../../src/core/time.ts';
import type { AccountOf } from '../../src/db/accounts.ts';

const EVERY_MS = 100;
/** Of the measurement: an idle event loop is this late. */
const RESOLUTION_MS = 5;
/** docs/measured/performance.md has the figures for it. */
const BUSY_MS = 1;
/** The lowest limit, and the highest while the event loop is late. */
const [LEAST, CROWD] = [2, 16];
/** Longer jobs mostly wait for the network, so more of them at once do not slow each other. */
const [SLOW_MS, LEAST_SLOW] = [1_000, 8];
/** An account with a pending domain has a check at least this often. */
const RECENT_MS = 10 * MINUTE;

export type Load = {
  /** Jobs that may run at once now. */
  readonly limit: number;
  readonly active: number;
  /** Mean since the last call. */
  readonly loopDelayMs: number;
  /** Mean of the jobs that ended since the last call, or before if none did. */
  readonly jobMs: number;
  /** Accounts with a job in the last ten minutes. */
  readonly accounts: number;
};

/** Fewer while the event loop is late; more while all places are taken and it is not. */
export function nextLimit(load: Load, most: number): number {
  const { limit, active, loopDelayMs, jobMs, accounts } = load;
  if (accounts < 2) return most;
  if (loopDelayMs > BUSY_MS) {
    const least = jobMs > SLOW_MS ? LEAST_SLOW : LEAST;
    return Math.min(most, Math.max(least, Math.floor(Math.min(limit, CROWD) * 0.75)));
  }
  return active >= limit ? Math.min(most, Math.ceil(limit * 1.25)) : limit;
}

export type LoadGuard = {
  /** Returns `accountOf`, and notes which accounts have jobs. */
  watch(accountOf: AccountOf): AccountOf;
  /** Runs a job, which the guard counts until it ends. */
  count<T>(run: () => Promise<T>): Promise<T>;
  /** Changes the concurrency of a BullMQ Worker until `stop` is aborted. */
  adjust(worker: { concurrency: number }, stop: AbortSignal): void;
};

/** Of one queue. `most`: its concurrency if one account has all jobs. */
export function createLoadGuard(most: number): LoadGuard {
  const lastJobAt = new Map<string, number>();
  let active = 0;
  let ended = { count: 0, ms: 0 };
  let jobMs = 0;
  function countAccounts(): number {
    const since = performance.now() - RECENT_MS;
    for (const [account, at] of lastJobAt) if (at < since) lastJobAt.delete(account);
    return lastJobAt.size;
  }
  return {
    watch: (accountOf) => async (projectId) => {
      const account = await accountOf(projectId);
      lastJobAt.set(account, performance.now());
      return account;
    },
    async count(run) {
      active += 1;
      const began = performance.now();
      try {
        return await run();
      } finally {
        active -= 1;
        ended.count += 1;
        ended.ms += performance.now() - began;
      }
    },
    adjust(worker, stop) {
      const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      delay.enable();
      const timer = setInterval(() => {
        const loopDelayMs = Math.max(0, delay.mean / 1e6 - RESOLUTION_MS);
        delay.reset();
        if (ended.count > 0) jobMs = ended.ms / ended.count;
        ended = { count: 0, ms: 0 };
        const load = { active, loopDelayMs, jobMs, accounts: countAccounts() };
        worker.concurrency = nextLimit({ limit: worker.concurrency, ...load }, most);
      }, EVERY_MS);
      timer.unref();
      stop.addEventListener('abort', () => {
        clearInterval(timer);
        delay.disable();
      });
    },
  };
}
