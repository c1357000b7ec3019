/** `npm run sim:ladder` prints these figures. */

import { describe, expect, it } from 'vitest';
import { arrivals, drawsFrom } from '../../bench/ladder/arrivals.ts';
import { type Ladder, ours, rivals } from '../../bench/ladder/ladders.ts';
import { compare, type Figures, simulate } from '../../bench/ladder/simulate.ts';
import { HOUR, MINUTE } from '../../src/core/time.ts';

const own = simulate(ours);

function rivalNamed(name: string): Ladder {
  const rival = rivals.find((each) => each.name === name);
  if (rival === undefined) throw new Error(`no rival ${name}`);
  return rival;
}

const figures: Figures = {
  meanMs: 60,
  medianMs: 20,
  p95Ms: 240,
  missed: 0,
  checks: 80,
  checksNever: 600,
  questions: 160,
  questionsNever: 1_000,
};

describe('The check ladder compared with those of competitors', () => {
  it.each(rivals.map((rival) => [rival.name, rival] as const))(
    'finds a repaired domain sooner than %s, unless that one always checks more often',
    (_, rival) => {
      expect(compare(own, simulate(rival))).not.toBe('not beaten');
    },
  );

  it('needs no more queries than any ladder that it does not beat, with one exception', () => {
    const unbeaten = rivals.filter(
      (rival) => compare(own, simulate(rival), 'questions') === 'not beaten',
    );
    expect(unbeaten.map(({ name }) => name)).toEqual(['stacker.news']);
  });

  it('beats nine of the twelve; the others check more often', () => {
    const verdicts = rivals.map((rival) => [rival.name, compare(own, simulate(rival))]);
    expect(verdicts.filter(([, verdict]) => verdict === 'beaten')).toHaveLength(9);
  });

  it('misses no customer who finishes within the 48 hours', () => {
    expect(own.missed).toBe(0);
  });
});

describe('The ladder simulation', () => {
  it('is reproducible and almost independent of the sampled domains', () => {
    expect(simulate(ours)).toEqual(own);
    const other = simulate(ours, 77);
    expect(Math.abs(other.meanMs / own.meanMs - 1)).toBeLessThan(0.03);
    expect(Math.abs(other.p95Ms / own.p95Ms - 1)).toBeLessThan(0.03);
  });

  /** Checks in 48 hours, calculated by hand from published documentation. */
  it.each([
    ['Cloudflare hostname', 44],
    ['Netlify', 24 * 6 + 24],
    ['Entri', 11],
    ['unkey', 24 * 60],
    ['stacker.news', 120 + 47 * 12],
    ['vutuv', 44],
    ['dub', 48],
    ['certmagic', 29],
    ['acme.sh', 120],
    ['fixed 1 min', 48 * 60],
    ['fixed 5 min', 48 * 12],
  ])('knows the ladder of %s: %d checks in 48 hours', (name, checks) => {
    expect(simulate(rivalNamed(name)).checksNever).toBe(checks);
  });

  it('counts a domain that a ladder gave up on as found at the end of the window', () => {
    const onceADay: Ladder = {
      name: 'one',
      untilMs: 1,
      startCounting: () => () => 1,
      next: () => 1,
    };
    const { missed, p95Ms, checks } = simulate(onceADay);
    expect({ missed, checks }).toEqual({ missed: 1, checks: 1 });
    expect(p95Ms).toBeGreaterThan(47 * HOUR);
  });

  it('has customers finish within minutes, hours and days: 60, 25 and 15 of 100', () => {
    const came = arrivals(1_000, drawsFrom(5));
    const within = (from: number, to: number) => came.filter((at) => at >= from && at < to).length;
    expect(within(MINUTE, 30 * MINUTE)).toBe(600);
    expect(within(30 * MINUTE, 6 * HOUR)).toBe(250);
    expect(within(6 * HOUR, 47.5 * HOUR)).toBe(150);
  });
});

describe('The verdict between ladders', () => {
  it.each([
    ['later in everything and cheaper', { meanMs: 61, p95Ms: 241, checks: 79 }, 'beaten'],
    ['earlier at p95 and as cheap', { meanMs: 61, p95Ms: 240 }, 'not beaten'],
    ['earlier in the mean and cheaper by one count', { meanMs: 59, checks: 81 }, 'not beaten'],
    ['dearer by both counts', { meanMs: 1, checks: 81, checksNever: 601 }, 'asks more'],
  ] as const)('is right for %s', (_, parts, verdict) => {
    expect(compare(figures, { ...figures, ...parts })).toBe(verdict);
  });

  it('can count queries instead of checks', () => {
    const rival = { ...figures, meanMs: 1, checks: 100, checksNever: 700, questions: 159 };
    expect(compare(figures, rival)).toBe('asks more');
    expect(compare(figures, rival, 'questions')).toBe('not beaten');
  });
});
