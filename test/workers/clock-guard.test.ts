import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { clockSkewMs } from '../../src/db/engine/client.ts';
import { type Halting, startClockGuard } from '../../workers/running/clock-guard.ts';

const log = pino({ level: 'silent' });

function aWorker() {
  let [runs, isPaused] = [false, false];
  const worker: Halting = {
    async run() {
      runs = true;
    },
    isPaused: () => isPaused,
    async pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
    },
    emit: () => true,
  };
  return { worker, takesJobs: () => runs && !isPaused };
}

describe('a worker process with a wrong clock', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('takes no job at first, and starts when the clock is right', async () => {
    let skewMs = 600_000;
    const { worker, takesJobs } = aWorker();
    const guard = startClockGuard(async () => skewMs, [worker], log);
    expect(await guard.isRight()).toBe(false);
    expect(takesJobs()).toBe(false);
    skewMs = 20;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(takesJobs()).toBe(true);
    expect(await guard.isRight()).toBe(true);
    await guard.stop();
  });

  it('stops taking jobs when the clock jumps in either direction', async () => {
    let skewMs = 0;
    const { worker, takesJobs } = aWorker();
    const guard = startClockGuard(async () => skewMs, [worker], log);
    await guard.isRight();
    expect(takesJobs()).toBe(true);
    for (const wrong of [-86_400_000, 5_001]) {
      skewMs = wrong;
      await vi.advanceTimersByTimeAsync(5_000);
      expect(takesJobs()).toBe(false);
      worker.resume(); // as the guard against spinning does
      await vi.advanceTimersByTimeAsync(5_000);
      expect(takesJobs()).toBe(false);
      skewMs = -4_999;
      await vi.advanceTimersByTimeAsync(5_000);
      expect(takesJobs()).toBe(true);
    }
    await guard.stop();
  });

  it('continues without a response from the database or without another clock', async () => {
    const away = async () => Promise.reject(new Error('away'));
    for (const skewMs of [away, async () => 0]) {
      const { worker, takesJobs } = aWorker();
      const guard = startClockGuard(skewMs, [worker], log);
      expect(await guard.isRight()).toBe(true);
      expect(takesJobs()).toBe(true);
      await guard.stop();
    }
  });
});

describe('the clock skew', () => {
  /** The query is sent at 1,000 and answered at 1,200. */
  const skewOf = (theirs: number) => {
    const ours = [1_000, 1_200];
    const query = async () => ({ rows: [{ ms: theirs }] });
    return clockSkewMs({ query } as never, () => ours.shift() ?? Number.NaN);
  };

  it('excludes what the query time explains', async () => {
    expect(await skewOf(1_100)).toBe(0);
    expect(await skewOf(400)).toBe(600);
    expect(await skewOf(2_200)).toBe(-1_000);
  });
});
