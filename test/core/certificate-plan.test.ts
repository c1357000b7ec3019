/** Retries after refusals are in test/workers/issue-certificate.test.ts. */

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  drawOf,
  escalateRenewalAt,
  movedRenewalAt,
  plannedRenewalAt,
  renewAt,
  renewalCheckAt,
} from '../../src/core/certificates/renewal.ts';
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

describe('the renewal of a certificate', () => {
  it.each([
    ['90 days', 90, 60, 55.5],
    ['45 days', 45, 30, 27.75],
    ['10 days', 10, 20 / 3, 20 / 3 - 0.5],
    ['less than 10 days', 9.9, 4.95, 4.455],
    ['6 days', 6, 3, 2.7],
    ['an hour', 1 / 24, 1 / 48, 0.45 / 24],
  ])(
    'of %s is due with a third of its life left, below 10 days with half, or slightly earlier',
    (_, days, last, first) => {
      const life = { issuedAt: noon, expiresAt: later(noon, days * DAY) };
      const daysUntil = (jitter: number) =>
        (renewAt(life, jitter).getTime() - noon.getTime()) / DAY;
      expect(daysUntil(0)).toBeCloseTo(last, 6);
      expect(daysUntil(1)).toBeCloseTo(first, 6);
    },
  );

  it('is checked again in an hour when the DNS was wrong, scaled by TIME_SCALE', () => {
    expect(renewalCheckAt(noon, 1)).toEqual(later(noon, HOUR));
    expect(renewalCheckAt(noon, 100)).toEqual(later(noon, HOUR / 100));
  });
});

/** An ID that draws this number. */
const idOf = (draw: number) => {
  const bits = Math.floor(draw * 2 ** 48)
    .toString(16)
    .padStart(12, '0');
  return `${bits.slice(0, 8)}-${bits.slice(8)}-4000-8000-000000000000`;
};
type Days = number;
function aRenewable(lives: Days, window: readonly [Days, Days] | null, draw = 0.5) {
  const [start, end] = (window ?? [0, 0]).map((day) => later(noon, day * DAY));
  return {
    id: idOf(draw),
    issuedAt: noon,
    expiresAt: later(noon, lives * DAY),
    window: window && start && end ? { start, end } : null,
  };
}
const daysIn = (at: Date) => (Number(at) - Number(noon)) / DAY;

describe('a renewal with a window from its CA', () => {
  type Case = readonly [
    what: string,
    lives: Days,
    window: readonly [Days, Days] | null,
    draw: number,
    today: Days,
    due: Days,
  ];
  const cases: readonly Case[] = [
    ['is due at the start of it', 90, [58, 60], 0, 0, 58],
    ['is due in the middle of it', 90, [58, 60], 0.5, 0, 59],
    ['is due near the end of it', 90, [58, 60], 0.75, 0, 59.5],
    ['is due early when the CA wants it', 90, [10, 12], 0.5, 0, 11],
    ['is due at once when the window is past', 90, [1, 2], 0.5, 20, 20],
    ['is due at once when its time in the window is past', 90, [19, 21], 0.25, 20, 20],
    ['is due later than our own plan', 90, [62, 66], 0.5, 0, 64],
    ['is due with a quarter of its life left at the latest', 90, [80, 85], 0, 0, 67.5],
    ['is spread slightly earlier, like our own plan', 90, [80, 85], 0.5, 0, 65.25],
    ['has the same limit with 45 days', 45, [44, 46], 0, 0, 33.75],
    ['is due with half of its life left at the latest with 6 days', 6, [5, 5.5], 0, 0, 3],
    ['is due early when the CA wants it with 6 days', 6, [2, 2.5], 0, 0, 2],
    ['has the same limit when the window starts after expiry', 90, [900, 901], 0, 0, 67.5],
    ['is overdue after the limit, regardless of the window', 90, [80, 85], 0, 70, 67.5],
    ['uses our own plan with a life of minutes', 0.02, [0.019, 0.0195], 0, 0, 0.01],
    ['uses our own plan without a window', 90, null, 0, 0, 60],
    ['uses our own plan with its spread without a window', 90, null, 0.5, 0, 57.75],
  ];
  it.each(cases)('%s', (_what, lives, window, draw, today, due) => {
    const at = plannedRenewalAt(aRenewable(lives, window, draw), later(noon, today * DAY));
    expect(daysIn(at)).toBeCloseTo(due, 5);
  });

  it('is due before the escalation, regardless of the window', () => {
    for (const lives of [90, 45, 6, 1, 1 / 24, 1 / 300]) {
      const certificate = aRenewable(lives, [lives * 2, lives * 3], 0);
      const due = plannedRenewalAt(certificate, noon);
      expect(due <= escalateRenewalAt(certificate)).toBe(true);
      expect(due < certificate.expiresAt).toBe(true);
    }
  });

  it('has a stable time per certificate and spreads over the window', () => {
    const window = [30, 40] as const;
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let nth = 0; nth < 2_000; nth += 1) {
      const certificate = { ...aRenewable(90, window), id: randomUUID() };
      const [first, again] = [0, 29].map((day) =>
        daysIn(plannedRenewalAt(certificate, later(noon, day * DAY))),
      );
      expect(again).toBe(first);
      const tenth = Math.floor((first ?? 0) - 30);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    expect(tenths).toHaveLength(10);
    expect(Math.min(...tenths)).toBeGreaterThan(100);
    expect(Math.max(...tenths)).toBeLessThan(300);
  });

  it('draws from 0 to below 1', () => {
    expect(drawOf('00000000-0000-4000-8000-0000000000c1')).toBe(0);
    expect(drawOf('80000000-0000-4fff-bfff-ffffffffffff')).toBe(0.5);
    expect(drawOf('ffffffff-ffff-4fff-bfff-ffffffffffff')).toBeLessThan(1);
  });
});

describe('a window that moves', () => {
  const inWindow = ([start, end]: readonly [Days, Days]) => ({
    start: later(noon, start * DAY),
    end: later(noon, end * DAY),
  });
  type Case = readonly [
    what: string,
    before: readonly [Days, Days] | null,
    after: readonly [Days, Days],
    today: Days,
    renewedAt: Days | null,
  ];
  const cases: readonly Case[] = [
    ['into the past moves the renewal to now', [58, 60], [1, 2], 20, 20],
    ['earlier moves the renewal', [58, 60], [30, 32], 20, 31],
    ['later moves the renewal', [58, 60], [62, 64], 20, 63],
    ['past three quarters of the life moves it to that limit', [58, 60], [80, 84], 20, 65.25],
    ['replaces our own plan', null, [62, 64], 20, 63],
    ['into the past replaces our own plan', null, [1, 2], 20, 20],
    ['leaves a renewal alone that was due by the previous window', [1, 2], [3, 4], 20, null],
    ['later leaves an overdue renewal alone', [1, 2], [58, 60], 20, null],
    ['leaves a renewal alone that was due by our own plan', null, [62, 64], 61, null],
  ];
  it.each(cases)('%s', (_what, before, after, today, renewedAt) => {
    const certificate = aRenewable(90, before);
    const at = movedRenewalAt(certificate, inWindow(after), later(noon, today * DAY));
    expect(at && daysIn(at)).toEqual(renewedAt);
  });
});

describe('the escalation of an overdue renewal', () => {
  const table: readonly (readonly [string, lifeMs: number, leftMs: number])[] = [
    ['90 days', 90 * DAY, 18 * DAY],
    ['45 days', 45 * DAY, 9 * DAY],
    ['6 days', 6 * DAY, 1.2 * DAY],
    ['5 days with one day left', 5 * DAY, DAY],
    ['a day', DAY, 4.8 * HOUR],
    ['slightly more than an hour', HOUR + MINUTE, 12.2 * MINUTE],
    ['an hour, as soon as the renewal is due', HOUR, 30 * MINUTE],
    ['5 minutes, as soon as the renewal is due', 5 * MINUTE, 2.5 * MINUTE],
  ];
  it.each(table)('comes in time for a certificate valid for %s', (_, lifeMs, leftMs) => {
    const life = { issuedAt: noon, expiresAt: later(noon, lifeMs) };
    const at = escalateRenewalAt(life);
    expect(Number(life.expiresAt) - Number(at)).toBeCloseTo(leftMs, -1);
    expect(at < life.expiresAt).toBe(true);
    // The renewal was due before, even with its maximum spread.
    expect(at >= renewAt(life, 0)).toBe(true);
  });
});
