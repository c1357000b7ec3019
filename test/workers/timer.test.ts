import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startTimer } from '../../workers/running/clock-guard.ts';

const log = pino({ level: 'silent' });

describe('a periodic task of a worker process', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('runs at once, and then at every interval', async () => {
    const turn = vi.fn(async () => undefined);
    const timer = startTimer('a test', 100, turn, log);
    expect(turn).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(99);
    expect(turn).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(turn).toHaveBeenCalledTimes(2);
    await timer.stop();
  });

  it('never overlaps, and continues after an error', async () => {
    const ends: (() => void)[] = [];
    const timer = startTimer(
      'a test',
      100,
      () => new Promise((_, fail) => ends.push(() => fail(new Error('away')))),
      log,
    );
    await vi.advanceTimersByTimeAsync(350);
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await vi.advanceTimersByTimeAsync(100);
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await timer.stop();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ends).toHaveLength(2);
  });

  it('has stopped when the active run has ended', async () => {
    let end = () => {};
    const timer = startTimer(
      'a test',
      100,
      () =>
        new Promise<void>((done) => {
          end = done;
        }),
      log,
    );
    await vi.advanceTimersByTimeAsync(100);
    let stopped = false;
    const stopping = timer.stop().then(() => {
      stopped = true;
    });
    await vi.advanceTimersByTimeAsync(500);
    expect(stopped).toBe(false);
    end();
    await stopping;
  });

  it('aborts the active run when it is stopped, without logging its error', async () => {
    const lines: string[] = [];
    const kept = pino({}, { write: (line: string) => void lines.push(line) });
    const untilStopped = (stop: AbortSignal) =>
      new Promise((_, fail) => {
        stop.addEventListener('abort', () => fail(new Error('the pool has ended')));
      });
    await startTimer('a test', 100, untilStopped, kept).stop();
    expect(lines).toEqual([]);
  });
});
