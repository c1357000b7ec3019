/** A process with a wrong clock would end windows and locks early, so it stops working. */
import type { Logger } from 'pino';
import { MINUTE } from '../../src/core/time.ts';
import { createMinuteLog } from '../../src/ops/log.ts';

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

// Keeps a worker whose server fails from retrying without delay.

/** The part of a BullMQ Worker that the spin guard uses. */
type Pausable = {
  on(event: 'error', listener: (fault: Error) => void): unknown;
  isPaused(): boolean;
  pause(doNotWaitActive: boolean): Promise<void>;
  resume(): void;
};

/**
 * Errors within BURST_WINDOW_MS that pause a worker. The pause doubles, and resets after CALM_MS.
 */
const BURST = 10;
const BURST_WINDOW_MS = 1_000;
const CALM_MS = MINUTE;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 10_000;
/** One per job of a slow process (bullmq 6.7, lock-manager.js). A pause would slow it further. */
const lostLock = /^could not renew lock for job /;

/** Without a listener, BullMQ's errors would end the process. */
export function keepFromSpinning(worker: Pausable, log: Logger): void {
  const warnBehind = createMinuteLog(log, 'worker is behind and lost the lock of a job');
  let recent: number[] = [];
  let pauseMs = PAUSE_MS_MIN;
  let pausedAt = 0;

  worker.on('error', (err) => {
    const now = Date.now();
    if (lostLock.test(err.message)) {
      warnBehind({ err });
      return;
    }
    if (now - pausedAt > CALM_MS) pauseMs = PAUSE_MS_MIN;
    recent = [...recent.filter((at) => now - at < BURST_WINDOW_MS), now].slice(-BURST);
    if (recent.length === 1) log.error({ err }, 'worker error');
    if (recent.length < BURST || worker.isPaused()) return;
    recent = [];
    pausedAt = now;
    log.error({ err, pauseMs }, 'worker pauses after a burst of errors');
    void worker.pause(true).catch(() => undefined);
    setTimeout(() => worker.resume(), pauseMs).unref();
    pauseMs = Math.min(PAUSE_MS_MAX, 2 * pauseMs);
  });
}

export type Timer = {
  /** Aborts the current run; resolves when it has ended. */
  stop(): Promise<void>;
};

/**
 * Runs `turn` at once and then every `everyMs`, never concurrently. Logs a fault, only the first in
 * a row, and continues. Faults after `stop` are not logged, since resources can be closed by then.
 */
export function startTimer(
  what: string,
  everyMs: number,
  turn: (stop: AbortSignal) => Promise<unknown>,
  log: Logger,
): Timer {
  const stopping = new AbortController();
  let current: Promise<void> | undefined;
  let failing = false;
  const once = async () => {
    try {
      await turn(stopping.signal);
      failing = false;
    } catch (err) {
      if (!failing && !stopping.signal.aborted) log.error({ err }, `${what} failed`);
      failing = true;
    } finally {
      current = undefined;
    }
  };
  const tick = () => {
    current ??= once();
  };
  tick();
  const timer = setInterval(tick, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await current;
    },
  };
}
