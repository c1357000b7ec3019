import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aName, drawn, simulate } from './simulated.ts';

const [SECOND, MINUTE] = [1_000, 60_000];
const HERE = '192.0.2.1';
const [BEFORE, AFTER] = ['198.51.100.1', '198.51.100.2'];

describe('a name that shows what its check saw', () => {
  it.each([
    ['pending', 0, 15 * SECOND],
    ['pending', -MINUTE * 40, MINUTE],
    ['drifted', 0, MINUTE],
    ['live', 0, 5 * MINUTE],
  ] as const)('%s since %d ms is asked for every %d ms', async (status, since, every) => {
    const { watch, asked, differences, pass } = simulate(() => BEFORE);
    watch.put(aName('one', BEFORE, [HERE], { status, since }));
    await pass(5 * every);
    expect(asked.length).toBeGreaterThanOrEqual(4);
    expect(asked.length).toBeLessThanOrEqual(6);
    expect(differences).toEqual([]);
  });

  it('is asked for less often when it is no longer young', async () => {
    const { watch, asked, pass } = simulate(() => BEFORE);
    watch.put(aName('one', BEFORE, [HERE], { since: 0 }));
    await pass(30 * MINUTE);
    const young = asked.length;
    await pass(30 * MINUTE);
    expect(young).toBeGreaterThanOrEqual(113);
    expect(asked.length - young).toBeLessThanOrEqual(32);
  });

  it('is asked for at each of its servers in turn', async () => {
    const { watch, asked, pass } = simulate(() => BEFORE);
    watch.put(aName('one', BEFORE, ['192.0.2.1', '192.0.2.2', '192.0.2.3']));
    await pass(9 * MINUTE);
    const turns = asked.slice(0, 6).map(({ address }) => address);
    expect(turns.slice(0, 3)).toEqual(turns.slice(3));
    expect(new Set(turns).size).toBe(3);
  });

  it('is asked for no more once it is removed', async () => {
    const { watch, asked, pass } = simulate(() => BEFORE);
    watch.put(aName('one', BEFORE, [HERE]));
    watch.put(aName('two', BEFORE, [HERE]));
    watch.remove('one');
    watch.put({ ...aName('two', BEFORE, [HERE]), servers: [] });
    watch.remove('never there');
    await pass(3 * MINUTE);
    expect([asked, watch.size()]).toEqual([[], 0]);
  });
});

describe('a name that shows something else', () => {
  it('is reported, with what it is', async () => {
    const { watch, differences, pass } = simulate(() => AFTER);
    watch.put(aName('one', BEFORE, [HERE], { epoch: 7 }));
    await pass(64 * SECOND);
    expect(differences).toEqual([
      expect.objectContaining({
        id: 'one',
        epoch: 7,
        hostname: 'one.example.com',
        status: 'pending',
      }),
    ]);
  });

  it('is reported again while no check sees it, less and less often', async () => {
    const { watch, differences, pass } = simulate(() => AFTER);
    watch.put(aName('one', BEFORE, [HERE]));
    await pass(2 * 60 * MINUTE);
    const gaps = differences.slice(1).map(({ at }, i) => at - (differences[i]?.at ?? 0));
    // 5 in a row, then after 2, 4, 8, 16 and 32 minutes.
    expect(differences.length).toBeGreaterThanOrEqual(9);
    expect(differences.length).toBeLessThanOrEqual(11);
    expect(gaps.slice(4).every((gap, i) => gap >= 2 * MINUTE * 2 ** i)).toBe(true);
  });

  it('is not reported any more when a check has seen it', async () => {
    const { watch, differences, pass } = simulate(() => AFTER);
    watch.put(aName('one', BEFORE, [HERE]));
    await pass(64 * SECOND);
    watch.put(aName('one', AFTER, [HERE]));
    await pass(10 * MINUTE);
    expect(differences.length).toBe(1);
  });

  it('is not compared with an answer to a question of before the check', async () => {
    const { watch, differences, asked, pass, now } = simulate(
      (_, __, at) => (at < MINUTE ? BEFORE : AFTER),
      {
        rttMs: 2 * SECOND,
      },
    );
    watch.put(aName('one', BEFORE, [HERE]));
    while (asked.length === 0) await pass(20);
    expect(now()).toBeLessThan(MINUTE);
    watch.put(aName('one', AFTER, [HERE]));
    await pass(MINUTE);
    expect(differences).toEqual([]);
  });
});

describe('servers that do not answer', () => {
  it('have the name asked for at the next one, and are left alone for a while', async () => {
    const { watch, asked, differences, pass } = simulate((address) =>
      address === HERE ? null : BEFORE,
    );
    for (let i = 0; i < 20; i++) watch.put(aName(`n${i}`, BEFORE, [HERE, '192.0.2.2']));
    await pass(10 * MINUTE);
    const silent = asked.filter(({ address }) => address === HERE);
    expect(silent.length).toBeLessThan(40);
    expect(asked.length - silent.length).toBeGreaterThanOrEqual(20 * 9);
    expect(differences).toEqual([]);
  });

  it.each([
    ['silence', null],
    ['a failure', 'servfail'],
  ] as const)('with %s say nothing of the name', async (_, says) => {
    const { watch, differences, pass } = simulate(() => says);
    watch.put(aName('one', BEFORE, [HERE]));
    await pass(30 * MINUTE);
    expect(differences).toEqual([]);
  });

  it('are not blamed while our own network is away', async () => {
    const { watch, asked, pass } = simulate(() => null, { isBlocked: () => true });
    watch.put(aName('one', BEFORE, [HERE]));
    await pass(10 * MINUTE);
    expect(asked.length).toBeGreaterThanOrEqual(9 * 3);
  });
});

describe('manners', () => {
  it('has two questions at an address at once', async () => {
    const { watch, asked, mostAtOnce, pass } = simulate(() => BEFORE, { rttMs: 200 });
    for (let i = 0; i < 300; i++) watch.put(aName(`n${i}`, BEFORE, [HERE]));
    await pass(2 * MINUTE);
    expect(mostAtOnce()).toBe(2);
    expect(asked.length).toBeGreaterThan(300);
  });

  it('goes on in line when those before have gone', async () => {
    const { watch, asked, pass } = simulate(() => BEFORE, { rttMs: 2_000 });
    for (let i = 0; i < 40; i++) watch.put(aName(`n${i}`, BEFORE, [HERE], { since: 0 }));
    await pass(10 * SECOND);
    for (let i = 0; i < 39; i++) watch.remove(`n${i}`);
    await pass(MINUTE);
    expect(asked.filter(({ name }) => name === 'n39.example.com').length).toBeGreaterThanOrEqual(3);
  });

  it('asks an operator no more often than agreed, whatever it holds', async () => {
    const { watch, asked, pass } = simulate(() => BEFORE, {
      rates: { operator: 10, address: 1_000 },
    });
    for (let i = 0; i < 6_000; i++)
      watch.put(aName(`n${i}`, BEFORE, [`192.0.2.${i % 50}`, `192.0.3.${i % 50}`]));
    await pass(30 * MINUTE);
    for (let minute = 0; minute < 30; minute++) {
      const inIt = asked.filter(({ at }) => Math.floor(at / MINUTE) === minute).length;
      // The burst of a second beside the 60 of the minute.
      expect(inIt).toBeLessThanOrEqual(620);
      if (minute > 0) expect(inIt).toBeGreaterThanOrEqual(300);
    }
    expect(watch.crowded()).toEqual([
      { operator: 'provider.example', names: 6_000, stretch: expect.closeTo(10, 1) },
    ]);
  });

  it('asks for young names first', async () => {
    const { watch, asked, pass } = simulate(() => BEFORE, {
      rates: { operator: 10, address: 1_000 },
    });
    for (let i = 0; i < 3_000; i++) watch.put(aName(`old${i}`, BEFORE, [`192.0.2.${i % 50}`]));
    for (let i = 0; i < 60; i++)
      watch.put(aName(`young${i}`, BEFORE, [`192.0.2.${i % 50}`], { since: 0 }));
    await pass(10 * MINUTE);
    const young = asked.filter(({ name }) => name.startsWith('young'));
    expect(young.length).toBeGreaterThanOrEqual(60 * 36);
  });
});

describe('whatever happens', () => {
  const address = fc.integer({ min: 1, max: 4 }).map((n) => `192.0.2.${n}`);
  const names = fc.array(fc.uniqueArray(address, { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 8,
  });

  it('a change is reported in time, and nothing else ever', async () => {
    await fc.assert(
      fc.asyncProperty(
        names,
        fc.integer({ min: 0, max: 10 * 60 }),
        fc.integer({ min: 0, max: 40 }),
        fc.integer(),
        async (zones, changeSeconds, lossPercent, seed) => {
          const chance = drawn(seed);
          const changeAt = changeSeconds * SECOND;
          const says = (_: string, name: string, at: number) => {
            if (chance() * 100 < lossPercent) return null;
            return name.startsWith('n0.') && at >= changeAt ? AFTER : BEFORE;
          };
          const { watch, differences, pass } = simulate(says, { random: drawn(seed + 1) });
          for (const [i, addresses] of zones.entries()) {
            watch.put(aName(`n${i}`, BEFORE, addresses));
          }
          await pass(changeAt);
          expect(differences).toEqual([]);
          // A minute where nothing is lost; else until the pauses of silent servers, five minutes at most, are over.
          await pass(lossPercent === 0 ? 64 * SECOND : 30 * MINUTE);
          expect(new Set(differences.map(({ id }) => id))).toEqual(new Set(['n0']));
        },
      ),
      { numRuns: 60 },
    );
  });
});
