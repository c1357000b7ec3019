/**
 * Keeps a process whose clock is wrong from working. Windows, certificates and locks end by the clock of whoever looks: one that
 * is ahead would end them early, and what it plans would be far off for everybody else. The others do its work meanwhile.
 */
import type { Logger } from 'pino';
import type { Pausable } from './spin-guard.ts';
import { startTimer } from './timer.ts';

export type ClockGuardDeps = {
  /** By how much the clock differs from the database's; missing: nobody else has a clock. */
  readonly clockSkewMs?: () => Promise<number>;
  readonly log: Logger;
};

/** What the guard needs of a BullMQ Worker that does not run by itself (`autorun: false`). */
export type Halting = Pick<Pausable, 'isPaused' | 'pause' | 'resume'> & {
  run(): Promise<void>;
  emit(event: 'error', fault: Error): unknown;
};

export type ClockGuard = {
  /** Whether the clock was right when it was last compared; waits for the first comparison. */
  isRight(): Promise<boolean>;
  stop(): Promise<void>;
};

/** Half of what a job is locked for (src/queue/backend.ts): so far apart, nobody takes a job from who works on it. */
export const SKEW_MS_MAX = 5_000;
const COMPARE_EVERY_MS = 5_000;

/**
 * Has the workers run while the clocks differ by five seconds at most; compares at once and then every five seconds. A database
 * that does not answer says nothing of the clock, and changes nothing.
 */
export function startClockGuard(
  { clockSkewMs = async () => 0, log }: ClockGuardDeps,
  workers: readonly Halting[],
): ClockGuard {
  let [isRight, haveBegun] = [true, false];
  let compared = () => {};
  const first = new Promise<void>((resolve) => {
    compared = resolve;
  });

  async function compare(stop: AbortSignal): Promise<void> {
    const skewMs = await clockSkewMs().catch(() => null);
    if (stop.aborted) return;
    const wasRight = isRight;
    if (skewMs !== null) isRight = Math.abs(skewMs) <= SKEW_MS_MAX;
    if (isRight !== wasRight) tell(skewMs);
    if (isRight) goOn(wasRight);
    else if (haveBegun) await halt(workers);
    compared();
  }

  function tell(skewMs: number | null): void {
    if (isRight) log.warn({ skewMs }, 'the clock of this machine is right again; it takes jobs');
    else log.error({ skewMs }, 'the clock of this machine is wrong; it takes no jobs');
  }

  function goOn(wasRight: boolean): void {
    if (!haveBegun) {
      haveBegun = true;
      for (const each of workers) each.run().catch((fault: Error) => each.emit('error', fault));
    } else if (!wasRight) for (const each of workers) each.resume();
  }

  const timer = startTimer('comparison of clocks', COMPARE_EVERY_MS, compare, log);
  return {
    async isRight() {
      await first;
      return isRight;
    },
    async stop() {
      compared(); // nobody waits for it any more
      await timer.stop();
    },
  };
}

/** Each time, because the guard against spinning (spin-guard.ts) may have let them go on. */
async function halt(workers: readonly Halting[]): Promise<void> {
  await Promise.all(workers.map((each) => (each.isPaused() ? undefined : each.pause(true))));
}
