/** How many of a key go on at once, and in which order. */
import { describe, expect, it } from 'vitest';
import { createInTurn } from '../../src/net/at-once.ts';

/** Something that ends when it is told to. */
function opened() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: () => resolve() };
}

describe('what goes on at once', () => {
  it('lets so many of a key go on, and the others in their order', async () => {
    const inTurn = createInTurn(2);
    const doors = [opened(), opened(), opened(), opened()];
    const begun: number[] = [];
    const all = doors.map(({ promise }, nth) =>
      inTurn('a', async () => {
        begun.push(nth);
        await promise;
        return nth;
      }),
    );
    await Promise.resolve();
    expect(begun).toEqual([0, 1]);
    doors[1]?.resolve();
    await all[1];
    await Promise.resolve();
    expect(begun).toEqual([0, 1, 2]);
    for (const { resolve } of doors) resolve();
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3]);
  });

  it('has no key wait for another', async () => {
    const inTurn = createInTurn(1);
    const door = opened();
    const first = inTurn('a', () => door.promise);
    expect(await inTurn('b', async () => 'b')).toBe('b');
    door.resolve();
    await first;
  });

  it('goes on after a fault, which its own caller gets', async () => {
    const inTurn = createInTurn(1);
    const broken = inTurn('a', () => Promise.reject(new Error('broken')));
    const next = inTurn('a', async () => 'next');
    await expect(broken).rejects.toThrow('broken');
    expect(await next).toBe('next');
  });
});
