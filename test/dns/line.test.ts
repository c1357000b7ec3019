import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLine } from '../../src/dns/servers/line.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

it('a long queue keeps its order when callers give up or arrive late', async () => {
  const line = createLine();
  const turns: number[] = [];
  const gaveUp: number[] = [];
  function join(from: number, to: number) {
    for (let n = from; n < to; n++) {
      const deadline = n % 3 === 0 ? performance.now() + 10 : Number.POSITIVE_INFINITY;
      void line.join(deadline).then((turn) => (turn ? turns : gaveUp).push(n));
    }
  }
  join(0, 500);
  for (let i = 0; i < 300; i++) expect(line.next()).toBe(true);
  await vi.advanceTimersByTimeAsync(10);
  join(500, 600);
  while (!line.isEmpty()) expect(line.next()).toBe(true);
  await vi.advanceTimersByTimeAsync(0);
  const all = Array.from({ length: 600 }, (_, n) => n);
  const hasty = (n: number) => n % 3 === 0 && n >= 300 && n < 500;
  expect(turns).toEqual(all.filter((n) => !hasty(n)));
  expect(gaveUp).toEqual(all.filter(hasty));
  expect(line.next()).toBe(false);
});
