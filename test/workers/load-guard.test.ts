import { describe, expect, it } from 'vitest';
import { createLoadGuard, type Load, nextLimit } from '../../workers/running/load-guard.ts';

describe('How many checks run at once', () => {
  const several = { accounts: 2, active: 0, loopDelayMs: 0, jobMs: 30 };
  const rows: readonly (readonly [string, Load, number])[] = [
    ['alone: all', { ...several, accounts: 1, limit: 8, loopDelayMs: 50 }, 500],
    ['no account lately: all', { ...several, accounts: 0, limit: 8 }, 500],
    ['several, idle: unchanged', { ...several, limit: 500 }, 500],
    ['several, all places taken: more', { ...several, limit: 20, active: 20 }, 25],
    ['several, a place free: unchanged', { ...several, limit: 20, active: 19 }, 20],
    ['several, never more than all', { ...several, limit: 450, active: 450 }, 500],
    ['several, a late loop: fewer', { ...several, limit: 12, active: 12, loopDelayMs: 1.1 }, 9],
    ['several, a crowd and a late loop: few', { ...several, limit: 500, loopDelayMs: 9 }, 12],
    ['several, always late: two still', { ...several, limit: 2, loopDelayMs: 900 }, 2],
    ['several, late, and slow: eight', { ...several, limit: 2, loopDelayMs: 900, jobMs: 1_001 }, 8],
  ];
  it.each(rows)('%s', (_what, load, limit) => {
    expect(nextLimit(load, 500)).toBe(limit);
  });
  it('is never more than the queue allows', () => {
    expect(nextLimit({ ...several, limit: 4, loopDelayMs: 900, jobMs: 2_000 }, 4)).toBe(4);
  });
});

it('The guard lowers the limit of a busy process with jobs of two accounts', async () => {
  const stop = new AbortController();
  const guard = createLoadGuard(500);
  const accountOf = guard.watch(async (projectId) => projectId.charAt(0));
  const worker = { concurrency: 500 };
  guard.adjust(worker, stop.signal);
  const busy = () => {
    const end = performance.now() + 30;
    while (performance.now() < end);
  };
  const work = setInterval(busy, 40);
  try {
    await guard.count(() => accountOf('a1'));
    await guard.count(() => accountOf('a2'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(worker.concurrency).toBe(500);
    await guard.count(() => accountOf('b1'));
    await expect.poll(() => worker.concurrency, { timeout: 10_000 }).toBeLessThan(50);
  } finally {
    clearInterval(work);
    stop.abort();
  }
  const last = worker.concurrency;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(worker.concurrency).toBe(last);
});
