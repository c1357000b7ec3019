import { describe, expect, it } from 'vitest';
import { createTokenBuckets } from '../../src/net/token-buckets.ts';

const rate = { perSecond: 10, burst: 3 };

/** The result of a call at each of these times, in milliseconds. */
function results(call: 'take' | 'reserve', times: readonly number[], keys = ['one']): number[] {
  let now = 0;
  const buckets = createTokenBuckets(rate, () => now);
  return times.map((at, nth) => {
    now = at;
    return buckets[call](keys[nth % keys.length] ?? '');
  });
}

describe('a bucket of three tokens that gets one per 100 ms', () => {
  it.each([
    ['gives a burst of three', [0, 0, 0, 0, 0], [0, 0, 0, 100, 100]],
    ['refuses nobody who keeps to the interval', [0, 100, 200, 300, 400], [0, 0, 0, 0, 0]],
    [
      'is full again after a pause, and not fuller',
      [0, 0, 0, 9e3, 9e3, 9e3, 9e3],
      [0, 0, 0, 0, 0, 0, 100],
    ],
    ['says how long the next token takes', [0, 0, 0, 50, 99, 100], [0, 0, 0, 50, 1, 0]],
  ])('%s', (_title, times, expected) => {
    expect(results('take', times)).toEqual(expected);
  });

  it.each([
    ['admits a burst of three, then one per interval', [0, 0, 0, 0, 0], [0, 0, 0, 100, 200]],
    ['delays no caller that keeps to the interval', [0, 100, 200, 300], [0, 0, 0, 0]],
    ['queues behind waiting callers', [0, 0, 0, 0, 50], [0, 0, 0, 100, 150]],
  ])('reserves: %s', (_title, times, expected) => {
    expect(results('reserve', times)).toEqual(expected);
  });

  it('is one of many: each key has its own', () => {
    expect(results('take', [0, 0, 0, 0, 0, 0, 0], ['one', 'other'])).toEqual([
      0, 0, 0, 0, 0, 0, 100,
    ]);
  });

  it('gives its full burst at any rate', () => {
    for (const perSecond of [3, 7, 15, 200, 333]) {
      const buckets = createTokenBuckets({ perSecond, burst: 50 }, () => 123_456.789);
      const waits = Array.from({ length: 51 }, () => buckets.take(''));
      expect(waits.filter((wait) => wait > 0)).toHaveLength(1);
    }
  });
});
