/**
 * Stops a process with a wrong clock from working. Windows, certificates and locks end by the clock
 * of the process that checks them, so a fast clock would end them early and plan wrong times. Other
 * processes take over its work.
 */
import type { Logger } from 'pino';

export type ClockGuardDeps = {
  /** The clock's difference from the database's in ms; missing if there is no other clock. */
  readonly clockSkewMs?: () => Promise<number>;
  readonly log: Logger;
};

/** The part of a BullMQ Worker (with `autorun: false`) that the clock guard uses. */
export type Halting = Pick<Pausable, 'isPaused' | 'pause' | 'resume'> & {
  run(): Promise<void>;
  emit(event: 'error', fault: Error): unknown;
};

export type ClockGuard = {
  /** Whether the clock was correct at the last comparison; waits for the first one. */
  isRight(): Promise<boolean>;
  /** Ends the comparisons; `isRight` no longer waits for the first one. */
  stop(): Promise<void>;
};

/**
 * Half of a job's lock time (src/queue/backend.ts): with less skew, no process takes a job that
 * another is working on.
 */
const SKEW_MS_MAX = 5_000;
const COMPARE_EVERY_MS = 5_000;

/**
 * Runs the workers while the clocks differ by at most five seconds; compares at once, then every
 * five seconds. If the database does not answer, nothing changes.
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
    if (isRight !== wasRight) report(skewMs);
    if (isRight) goOn(wasRight);
    else if (haveBegun) await halt(workers);
    compared();
  }

  function report(skewMs: number | null): void {
    if (isRight) log.warn({ skewMs }, 'clock is right again; taking jobs');
    else log.error({ skewMs }, 'clock is off by more than 5 s; taking no jobs');
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

/** Every time, because the spin guard (below) may have resumed them. */
async function halt(workers: readonly Halting[]): Promise<void> {
  await Promise.all(workers.map((each) => (each.isPaused() ? undefined : each.pause(true))));
}

/** The part of a BullMQ Worker that the spin guard uses. */
export type Pausable = {
  on(event: 'error', listener: (fault: Error) => void): unknown;
  isPaused(): boolean;
  pause(doNotWaitActive: boolean): Promise<void>;
  resume(): void;
};

/**
 * This many errors within BURST_WINDOW_MS pause a worker. The pause doubles up to PAUSE_MS_MAX and
 * resets after CALM_MS without errors.
 */
const BURST = 10;
const BURST_WINDOW_MS = 1_000;
const CALM_MS = 60_000;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 10_000;
/**
 * A process that is behind gets one such error per job, without a code (bullmq 6.7,
 * lock-manager.js): another worker may run the job again. A pause would put it further behind.
 */
const lostLock = /^could not renew lock for job /;

/**
 * Logs a worker's errors, only the first of a burst, and pauses it for half a second or more during
 * bursts. Without a listener, BullMQ's errors would end the process.
 */
export function keepFromSpinning(worker: Pausable, log: Logger): void {
  let recent: number[] = [];
  let pauseMs = PAUSE_MS_MIN;
  let pausedAt = 0;
  let lostLockAt = Number.NEGATIVE_INFINITY;

  worker.on('error', (err) => {
    const now = Date.now();
    if (lostLock.test(err.message)) {
      if (now - lostLockAt > CALM_MS)
        log.warn({ err }, 'worker is behind and lost the lock of a job');
      lostLockAt = now;
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
  /** Starts no further run and aborts the current one; resolves when it has ended. */
  stop(): Promise<void>;
};

/**
 * Runs `turn` at once and then every `everyMs`, never concurrently: a longer run delays the next.
 * Logs a fault, only the first in a row, and continues. `stop` is aborted when the timer stops;
 * later faults are not logged, since resources may be closed by then.
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
