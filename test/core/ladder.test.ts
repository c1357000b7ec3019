import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Eagerness,
  type LadderInput,
  nextWaitMs,
  recheckAt,
  VERIFY_WINDOW_MS,
  windowEnd,
} from '../../src/core/life/ladder.ts';
import { HOUR, MINUTE, SECOND } from '../../src/core/time.ts';

const since = new Date('2026-03-01T12:00:00Z');

function waitAt(ageMs: number, rest: Partial<LadderInput> = {}): number {
  const now = new Date(since.getTime() + ageMs);
  return nextWaitMs({
    pendingSince: since,
    now,
    timeScale: 1,
    eager: false,
    jitter: 0.5,
    ...rest,
  });
}

describe('the wait before the next check', () => {
  it.each([
    ['at once', 0, 15 * SECOND],
    ['after a minute', MINUTE, 15 * SECOND],
    ['after five minutes', 5 * MINUTE, 15 * SECOND],
    ['after ten minutes', 10 * MINUTE, 30 * SECOND],
    ['after half an hour', 30 * MINUTE, 90 * SECOND],
    ['after an hour', HOUR, 3 * MINUTE],
    ['after 100 minutes', 100 * MINUTE, 5 * MINUTE],
    ['after a day', 24 * HOUR, 5 * MINUTE],
    ['at the end of the window', 48 * HOUR, 5 * MINUTE],
    ['after the clock was set back', -HOUR, 15 * SECOND],
  ])('%s', (_, age, wait) => {
    expect(waitAt(age)).toBe(wait);
  });

  it('is five seconds while a client watches, at any age', () => {
    for (const age of [0, HOUR, 47 * HOUR])
      expect(waitAt(age, { eager: 'watched' })).toBe(5 * SECOND);
  });

  it.each([
    ['at once', 0, 5 * SECOND],
    ['after eight minutes', 8 * MINUTE, 5 * SECOND],
    ['after an hour', HOUR, 36 * SECOND],
    ['after five hours', 5 * HOUR, 3 * MINUTE],
    ['after a day, as without', 24 * HOUR, 5 * MINUTE],
    ['after the clock was set back', -HOUR, 5 * SECOND],
  ])('when some servers have the record: %s', (_, age, wait) => {
    expect(waitAt(age, { eager: 'on_its_way' })).toBe(wait);
    expect(waitAt(age)).toBeGreaterThanOrEqual(wait);
  });

  it.each([
    [0, 13_500],
    [0.25, 14_250],
    [0.5, 15_000],
    [1, 16_500],
  ])('has a jitter of a tenth: a draw of %d makes 15 s %d ms', (jitter, wait) => {
    expect(waitAt(0, { jitter })).toBe(wait);
  });
});

describe('the checks in a whole window', () => {
  const totals = [
    [MINUTE, 5],
    [5 * MINUTE, 21],
    [HOUR, 71],
    [100 * MINUTE, 82],
    [24 * HOUR, 350],
    [48 * HOUR, 638],
  ] as const;

  it.each(totals)('up to %d ms of age are %d in total', (age, total) => {
    let checks = 0;
    for (let at = 0; at <= age; at += waitAt(at)) checks += 1;
    expect(checks).toBe(total);
  });

  it('end with the window', () => {
    expect(windowEnd(since, VERIFY_WINDOW_MS)).toEqual(new Date('2026-03-03T12:00:00Z'));
  });
});

describe('a test lab', () => {
  it.each([
    ['100', 100, 100 * MINUTE, 3_000],
    ['100, at the start', 100, 0, 250],
    ['1,000', 1_000, HOUR, 300],
  ])('divides every wait by a TIME_SCALE of %s', (_, timeScale, age, wait) => {
    expect(waitAt(age, { timeScale })).toBe(wait);
  });
});

/** The wait of a settled domain that has been in its state for `ageMs`. */
type Settled = Parameters<typeof recheckAt>[0];
const settledFor = {
  live: () => ({ status: 'live', missedAt: null }),
  missed: (missedAt) => ({ status: 'live', missedAt }),
  drifted: (driftedAt) => ({ status: 'drifted', driftedAt }),
  failed: (failedAt) => ({ status: 'failed', failedAt }),
} as const satisfies Record<string, (since: Date) => Settled>;

function nextCheckAfter(
  state: keyof typeof settledFor,
  ageMs: number,
  { timeScale = 1, jitter = 0.5 } = {},
): number | null {
  const now = new Date(since.getTime() + ageMs);
  const next = recheckAt(settledFor[state](since), { now, timeScale, jitter });
  return next === null ? null : next.getTime() - now.getTime();
}

describe('the next check of a settled domain', () => {
  const DAY = 24 * HOUR;
  const table: readonly (readonly [keyof typeof settledFor, number, number | null])[] = [
    ['live', 0, 50 * MINUTE],
    ['live', 300 * DAY, 50 * MINUTE],
    ['missed', 0, 10 * MINUTE],
    ['missed', 4 * MINUTE, 6 * MINUTE],
    // The second check failed: it is repeated soon, but not in a busy loop.
    ['missed', 10 * MINUTE, MINUTE],
    ['missed', DAY, MINUTE],
    ['drifted', 0, MINUTE],
    ['drifted', 20 * MINUTE, MINUTE],
    ['drifted', HOUR, 3 * MINUTE],
    ['drifted', 5 * HOUR, 15 * MINUTE],
    ['drifted', 80 * DAY, 15 * MINUTE],
    ['failed', 0, DAY],
    ['failed', 29 * DAY, DAY],
    ['failed', 29 * DAY + 1, null],
    ['failed', 40 * DAY, null],
  ];
  it.each(table)('when %s for %d ms comes in %s ms', (state, age, wait) => {
    expect(nextCheckAfter(state, age)).toBe(wait);
  });

  it('when live comes within the hour for any draw', () => {
    expect([0, 1].map((jitter) => nextCheckAfter('live', 0, { jitter }))).toEqual([
      45 * MINUTE,
      55 * MINUTE,
    ]);
  });

  it('is scaled by TIME_SCALE', () => {
    const timeScale = 100;
    const waits = (['live', 'missed', 'drifted', 'failed'] as const).map((state) =>
      nextCheckAfter(state, 0, { timeScale }),
    );
    expect(waits).toEqual([30 * SECOND, 6 * SECOND, 600, 864 * SECOND]);
    expect(nextCheckAfter('drifted', 3 * MINUTE, { timeScale })).toBe(9 * SECOND);
  });

  it('is never immediate, so that a batch ends', () => {
    const states = Object.keys(settledFor) as (keyof typeof settledFor)[]; // keys of a constant
    const input = fc.record({
      state: fc.constantFrom(...states),
      age: fc.integer({ min: 0, max: 100 * DAY }),
      timeScale: fc.integer({ min: 1, max: 100_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(input, ({ state, age, ...rest }) => {
        const wait = nextCheckAfter(state, age, rest);
        if (wait !== null) expect(wait).toBeGreaterThan(0);
      }),
    );
  });
});

it('comes after at least 250 ms and at most 5.5 minutes, in whole milliseconds', () => {
  const input = fc.record({
    age: fc.integer({ min: -HOUR, max: 100 * 24 * HOUR }),
    windowMs: fc.integer({ min: 1, max: 100 * 24 * HOUR }),
    eager: fc.constantFrom<Eagerness>(false, 'watched', 'on_its_way'),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(input, ({ age, ...rest }) => {
      const wait = waitAt(age, rest);
      expect(wait).toBe(Math.round(wait));
      expect(wait).toBeGreaterThanOrEqual(250);
      expect(wait).toBeLessThanOrEqual(5.5 * MINUTE);
    }),
  );
});
