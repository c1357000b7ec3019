import { describe, expect, it } from 'vitest';
import { createSingleFlight } from '../../src/net/load-once.ts';

describe('concurrent calls with one key', () => {
  it('share one run, and the next call starts another', async () => {
    const share = createSingleFlight<number>();
    let runs = 0;
    const run = async () => {
      runs += 1;
      await new Promise(setImmediate);
      return runs;
    };
    expect(await Promise.all([share('a', run), share('a', run), share('b', run)])).toEqual([
      2, 2, 2,
    ]);
    expect(await share('a', run)).toBe(3);
  });

  it('share its error, which is not kept', async () => {
    const share = createSingleFlight<string>();
    const fails = () => Promise.reject(new Error('away'));
    const both = await Promise.allSettled([share('a', fails), share('a', fails)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await share('a', async () => 'back')).toBe('back');
  });
});
