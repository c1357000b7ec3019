/** A process with a wrong clock would end windows and locks early, so it stops working. */
import type { Logger } from 'pino';
import type { Pausable } from './spin-guard.ts';
import { startTimer } from './timer.ts';

/** The part of a BullMQ Worker (with `autorun: false`) that the clock guard uses. */
export type Halting = Pick<Pausable, 'isPaused' | 'pause' | 'resume'> & {
  run(): Promise<void>;
  emit(event: 'error', fault: Error): unknown;
};

export type ClockGuard = {
  /** At the last comparison; waits for the first one. */
  isRight(): Promise<boolean>;
  /** `isRight` no longer waits for the first comparison. */
  stop(): Promise<void>;
};

/** Half of a job's lock time: with less skew, no process takes a job that another is working on. */
const SKEW_MS_MAX = 5_000;
const COMPARE_EVERY_MS = 5_000;

/**
 * `skewMs`: against the database's clock. Compares at once, then regularly. If the database does not
 * answer, nothing changes.
 */
export function startClockGuard(
  skewMs: () => Promise<number>,
  workers: readonly Halting[],
  log: Logger,
): ClockGuard {
  let [isRight, haveBegun] = [true, false];
  let compared = () => {};
  const first = new Promise<void>((resolve) => {
    compared = resolve;
  });

  async function compare(stop: AbortSignal): Promise<void> {
    const measured = await skewMs().catch(() => null);
    if (stop.aborted) return;
    const wasRight = isRight;
    if (measured !== null) isRight = Math.abs(measured) <= SKEW_MS_MAX;
    if (isRight !== wasRight) report(measured);
    if (isRight) goOn(wasRight);
    else if (haveBegun) await halt(workers);
    compared();
  }

  function report(measured: number | null): void {
    if (isRight) log.warn({ skewMs: measured }, 'clock is right again; taking jobs');
    else log.error({ skewMs: measured }, 'clock is off by more than 5 s; taking no jobs');
  }

  function goOn(wasRight: boolean): void {
    if (!haveBegun) {
      haveBegun = true;
      for (const each of workers) each.run().catch((fault: Error) => each.emit('error', fault));
    } else if (!wasRight) for (const each of workers) each.resume();
  }

  const timer = startTimer('clock comparison', COMPARE_EVERY_MS, compare, log);
  return {
    async isRight() {
      await first;
      return isRight;
    },
    async stop() {
      compared(); // ends any wait for it
      await timer.stop();
    },
  };
}

/** Every time, because the spin guard can have resumed them. */
async function halt(workers: readonly Halting[]): Promise<void> {
  await Promise.all(workers.map((each) => (each.isPaused() ? undefined : each.pause(true))));
}
