/**
 * Keeps a process whose clock is wrong from working. Windows, certificates and locks end by the clock of the process
 * that checks them: one that is ahead would end them early, and what it plans would be far off for all others. Those do
 * its work meanwhile.
 */
import type { Logger } from 'pino';

/** What clocks are compared with. */
export type ClockGuardDeps = {
  /** By how many ms the clock differs from the database's; missing where nobody else has a clock. */
  readonly clockSkewMs?: () => Promise<number>;
  readonly log: Logger;
};

/** What the clock guard needs of a BullMQ Worker that does not run by itself (`autorun: false`). */
export type Halting = Pick<Pausable, 'isPaused' | 'pause' | 'resume'> & {
  run(): Promise<void>;
  emit(event: 'error', fault: Error): unknown;
};

/** Watches the clock of this process. */
export type ClockGuard = {
  /** Whether the clock was right when it was last compared; waits for the first comparison. */
  isRight(): Promise<boolean>;
  /** Ends the comparisons; `isRight` no longer waits for the first one. */
  stop(): Promise<void>;
};

/**
 * Half of the time that a job is locked for (src/queue/backend.ts): clocks that differ by no more take no job from a
 * process that works on it.
 */
export const SKEW_MS_MAX = 5_000;
const COMPARE_EVERY_MS = 5_000;

/**
 * Has the workers run while the clocks differ by five seconds at most; compares at once and then every five seconds. A
 * database that does not answer says nothing of the clock, and changes nothing.
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

/** Each time, because the guard against spinning (below) may have let them go on. */
async function halt(workers: readonly Halting[]): Promise<void> {
  await Promise.all(workers.map((each) => (each.isPaused() ? undefined : each.pause(true))));
}

/** What the guard against spinning needs of a BullMQ Worker. */
export type Pausable = {
  on(event: 'error', listener: (fault: Error) => void): unknown;
  isPaused(): boolean;
  pause(doNotWaitActive: boolean): Promise<void>;
  resume(): void;
};

/**
 * So many errors within BURST_WINDOW_MS pause a worker; the pause doubles up to PAUSE_MS_MAX, and begins small again
 * after CALM_MS without one.
 */
const BURST = 10;
const BURST_WINDOW_MS = 1_000;
const CALM_MS = 60_000;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 10_000;
/**
 * One error for each job of a process that is behind (bullmq 6.7, lock-manager.js), which gives it no name: another
 * worker may run the job again. A pause would put the process further behind.
 */
const lostLock = /^could not renew lock for job /;

/**
 * Logs a worker's errors, the first of a burst only, and pauses it for half a second or more where they come in bursts.
 * Without a listener BullMQ's errors would end the process.
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
        log.warn({ err }, 'worker is behind, and lost the lock of a job');
      lostLockAt = now;
      return;
    }
    if (now - pausedAt > CALM_MS) pauseMs = PAUSE_MS_MIN;
    recent = [...recent.filter((at) => now - at < BURST_WINDOW_MS), now].slice(-BURST);
    if (recent.length === 1) log.error({ err }, 'worker met an error');
    if (recent.length < BURST || worker.isPaused()) return;
    recent = [];
    pausedAt = now;
    log.error({ err, pauseMs }, 'worker pauses after a burst of errors');
    void worker.pause(true).catch(() => undefined);
    setTimeout(() => worker.resume(), pauseMs).unref();
    pauseMs = Math.min(PAUSE_MS_MAX, 2 * pauseMs);
  });
}

/** A timer that runs. */
export type Timer = {
  /** No run begins any more, and the one under way is asked to end; resolves when it has. */
  stop(): Promise<void>;
};

/**
 * Runs `turn` at once and then every `everyMs`, never twice at once: a turn that takes longer delays the next. A fault
 * is logged, the first of a row only, and the timer goes on. `stop` is aborted when the timer is stopped; a fault after
 * that is not logged, because what the process had open may be gone.
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
      if (!failing && !stopping.signal.aborted) log.error({ err }, `${what} met a fault`);
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
