/** Keeps a worker whose server fails from retrying without delay. */

import type { Logger } from 'pino';
import { MINUTE } from '../../src/core/time.ts';
import { createMinuteLog } from '../../src/ops/limited-log.ts';

/** The part of a BullMQ Worker that the spin guard uses. */
export type Pausable = {
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
