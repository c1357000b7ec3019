import { expect, it, vi } from 'vitest';
import { defaultLimits, isSpent, startBudget } from '../../src/dns/wire/budget.ts';
import { createShared, type Loaded } from '../../src/dns/wire/shared.ts';
import { fakeTimersInEachTest } from './fake-timers.ts';

fakeTimersInEachTest();

const budgetOf = (ms: number) => startBudget({ ...defaultLimits, ms });
const found = <V>(value: V): Loaded<V> => ({ value, ttlMs: 60_000, failed: false });

it("a caller that shares another's lookup waits only within its own budget", async () => {
  const shared = createShared<string>({ max: 10 });
  let end = (_: Loaded<string>) => {};
  const slow = shared.get(
    'a.test',
    budgetOf(7_000),
    () =>
      new Promise<Loaded<string>>((resolve) => {
        end = resolve;
      }),
  );
  const budget = budgetOf(200);
  const ended: string[] = [];
  const hasty = shared.get('a.test', budget, async () => {
    expect(isSpent(budget)).toBe(true);
    return { value: 'no time', ttlMs: 60_000, failed: true };
  });
  void hasty.then((value) => ended.push(value));
  await vi.advanceTimersByTimeAsync(199);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(ended).toEqual(['no time']);
  expect(shared.peek('a.test')).toBeUndefined();
  end(found('slow'));
  expect(await slow).toBe('slow');
  expect(shared.peek('a.test')).toBe('slow');
});

it("a caller that shares another's lookup gets its value and leaves no timer", async () => {
  const shared = createShared<string>({ max: 10 });
  const never = () => Promise.reject(new Error('second lookup'));
  const values = [
    shared.get('a.test', budgetOf(7_000), async () => found('once')),
    shared.get('a.test', budgetOf(200), never),
    shared.get('a.test', budgetOf(Number.POSITIVE_INFINITY), never),
  ];
  expect(await Promise.all(values)).toEqual(['once', 'once', 'once']);
});

it('the cache evicts some of ten thousand values of maximum size', () => {
  const shared = createShared<string>({ max: 10_000 });
  const keys = Array.from({ length: 10_000 }, (_, i) => `${i}.test`);
  for (const key of keys) shared.put(key, found('x'.repeat(4_096)));
  const kept = keys.filter((key) => shared.peek(key) !== undefined);
  expect(kept.length).toBeGreaterThan(1_000);
  expect(kept.length).toBeLessThan(1_500);
  expect(kept.at(-1)).toBe('9999.test');
});
