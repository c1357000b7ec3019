import { describe, expect, it } from 'vitest';
import { gather } from '../../src/db/engine/statements.ts';
import { isLostRace } from '../../src/db/engine/unavailable.ts';

describe('batched calls', () => {
  it('combine concurrent calls into one', async () => {
    const batches: number[][] = [];
    const double = gather(
      async (items: readonly number[]) => {
        batches.push([...items]);
        return items.map((item) => item * 2);
      },
      { itemsMax: 10, concurrency: 1 },
    );
    expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6]);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  it('have a size limit and return each caller its result', async () => {
    const sizes: number[] = [];
    const same = gather(
      async (items: readonly number[]) => {
        sizes.push(items.length);
        return items;
      },
      { itemsMax: 7, concurrency: 2 },
    );
    const items = Array.from({ length: 100 }, (_, index) => index);
    expect(await Promise.all(items.map(same))).toEqual(items);
    expect(Math.max(...sizes)).toBe(7);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100);
  });

  it('are retried once after a deadlock before they fail', async () => {
    const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' });
    let [losses, runs] = [1, 0];
    const same = gather(
      async (items: readonly number[]) => {
        runs += 1;
        if (losses > 0) {
          losses -= 1;
          throw deadlock;
        }
        return items;
      },
      { itemsMax: 10, concurrency: 1, isWorthRetry: isLostRace },
    );
    expect(await Promise.all([same(1), same(2)])).toEqual([1, 2]);
    expect(runs).toBe(2);
    losses = 2;
    await expect(same(3)).rejects.toBe(deadlock);
    expect(runs).toBe(4);
  });

  it('fail together and do not affect the next batch', async () => {
    let fails = true;
    const same = gather(
      async (items: readonly number[]) => {
        if (fails) throw new Error('away');
        return items;
      },
      { itemsMax: 10, concurrency: 1 },
    );
    await expect(Promise.all([same(1), same(2)])).rejects.toThrow('away');
    fails = false;
    expect(await same(3)).toBe(3);
  });
});
