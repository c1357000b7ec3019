/**
 * Keeps a worker from spinning while its queue is away. BullMQ 6 fetches again at once after most errors
 * (measured: 880 to 158,000 tries a second; docs/decisions/0005), so a burst of errors pauses the worker,
 * longer each time, until a minute has passed without one. What BullMQ says of single jobs is no sign of it.
 */
import type { Logger } from 'pino';

/** What the guard needs of a BullMQ Worker. */
export type Pausable = {
  on(event: 'error', listener: (fault: Error) => void): unknown;
  isPaused(): boolean;
  pause(doNotWaitActive: boolean): Promise<void>;
  resume(): void;
};

const BURST = 10;
const BURST_WINDOW_MS = 1_000;
const CALM_MS = 60_000;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 10_000;
/**
 * One error for each job of a process that is behind (bullmq 6.7, lock-manager.js), which gives it no name: somebody else may
 * run the job again. A pause would put the process further behind.
 */
const lostLock = /^could not renew lock for job /;

/** Listens to a worker's errors; without a listener BullMQ's would end the process. */
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
