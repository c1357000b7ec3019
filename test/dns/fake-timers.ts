import { afterEach, beforeEach, expect, vi } from 'vitest';

/**
 * Fakes the timers of each test and expects that code of `src/dns` leaves none. Test files share a
 * process: timers that sockets of earlier files set during the test do not count.
 */
export function fakeTimersInEachTest(): void {
  const left = new Set<unknown>();

  beforeEach(() => {
    vi.useFakeTimers();
    left.clear();
    const { setTimeout: set, clearTimeout: clear } = globalThis;
    vi.stubGlobal('setTimeout', (act: (...args: unknown[]) => void, ms?: number, ...args: []) => {
      const timer = set(() => {
        left.delete(timer);
        act(...args);
      }, ms);
      if (new Error().stack?.includes('/src/dns/')) left.add(timer);
      return timer;
    });
    vi.stubGlobal('clearTimeout', (timer: NodeJS.Timeout | undefined) => {
      left.delete(timer);
      clear(timer);
    });
  });

  afterEach(async () => {
    // lru-cache reads the clock once per millisecond, by a timer.
    await vi.advanceTimersByTimeAsync(1);
    const count = left.size;
    vi.unstubAllGlobals();
    vi.useRealTimers();
    expect(count).toBe(0);
  });
}
