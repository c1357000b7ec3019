import { describe, expect, it } from 'vitest';
import {
  type CheckDepth,
  checkDepthOf,
  type EarlierCheck,
} from '../../src/core/diagnosis/check-depth.ts';
import type { DomainState } from '../../src/core/life/lifecycle.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const noon = Date.parse('2026-01-01T12:00:00Z');

type Times = {
  readonly checkedAt: number;
  readonly now: number;
  readonly watchedUntil?: number;
  /** When the check was planned; missing: now. */
  readonly plannedAt?: number;
};

/** Of a domain that is pending since noon; all times in milliseconds since then. */
function pending(
  { checkedAt, now, watchedUntil, plannedAt = now }: Times,
  more: Partial<EarlierCheck> = {},
) {
  const domain: EarlierCheck = {
    state: { status: 'pending', pendingSince: new Date(noon) },
    attempts: 3,
    findings: [{ code: 'record_missing' }],
    observation: { at: new Date(noon + checkedAt).toISOString() },
    watchedUntil: watchedUntil === undefined ? null : new Date(noon + watchedUntil),
    nextCheckAt: new Date(noon + plannedAt),
    isCovered: false,
    ...more,
  };
  return checkDepthOf(domain, new Date(noon + now), 48 * HOUR);
}

describe('how closely a pending domain is checked', () => {
  it.each<[string, Times, CheckDepth]>([
    ['a moment after a full check', { checkedAt: 0, now: 15_000 }, 'light'],
    ['below 15 minutes after it', { checkedAt: 0, now: 15 * MINUTE - 1 }, 'light'],
    ['15 minutes after it', { checkedAt: 0, now: 15 * MINUTE }, 'full'],
    ['again 15 minutes later', { checkedAt: 15 * MINUTE, now: 30 * MINUTE }, 'full'],
    ['after twice the age', { checkedAt: HOUR, now: 2 * HOUR - 1 }, 'light'],
    ['at twice the age', { checkedAt: HOUR, now: 2 * HOUR }, 'full'],
    ['late in the window', { checkedAt: 24 * HOUR, now: 47 * HOUR }, 'light'],
    ['at its end', { checkedAt: 32 * HOUR, now: 48 * HOUR }, 'full'],
    [
      'while somebody watches',
      { checkedAt: HOUR, now: HOUR + 1, watchedUntil: 2 * HOUR },
      'compare',
    ],
    [
      'while somebody watches, 15 minutes after a full check',
      { checkedAt: HOUR, now: HOUR + 15 * MINUTE, watchedUntil: 2 * HOUR },
      'full',
    ],
    [
      'when they have gone',
      { checkedAt: HOUR, now: HOUR + 15 * MINUTE, watchedUntil: HOUR + 15 * MINUTE },
      'light',
    ],
    ['a little before its time', { checkedAt: 0, now: 13_000, plannedAt: 15_000 }, 'light'],
    ['brought forward', { checkedAt: 0, now: 60_000, plannedAt: 120_000 }, 'compare'],
    [
      'brought forward, 15 minutes after a full check',
      { checkedAt: HOUR, now: HOUR + 15 * MINUTE, plannedAt: 2 * HOUR },
      'full',
    ],
    ['when the clock was set back', { checkedAt: HOUR, now: HOUR - 1 }, 'full'],
  ])('%s', (_, times, depth) => {
    expect(pending(times)).toBe(depth);
  });

  it.each(['name_servers_disagree', 'caa_blocks', 'caa_unknown'] as const)(
    'as closely as if somebody watched, where a glance would not see the end of %s',
    (code) => {
      const findings = [{ code: 'conflicting_a' }, { code }] as const;
      expect(pending({ checkedAt: HOUR, now: HOUR + 1 }, { findings })).toBe('compare');
      expect(pending({ checkedAt: HOUR, now: HOUR + 15 * MINUTE }, { findings })).toBe('full');
    },
  );

  it.each<[string, Times, CheckDepth]>([
    ['in its turn, a moment after a full check', { checkedAt: 0, now: 15_000 }, 'full'],
    ['in its turn, late', { checkedAt: 40 * HOUR, now: 42 * HOUR }, 'full'],
    ['brought forward', { checkedAt: HOUR, now: HOUR + MINUTE, plannedAt: 2 * HOUR }, 'compare'],
    ['with its page open', { checkedAt: 0, now: 5_000, watchedUntil: MINUTE }, 'compare'],
  ])('beside the watch, %s', (_, times, depth) => {
    expect(pending(times, { isCovered: true })).toBe(depth);
  });

  it('is in full after verify, and where no check or none with a time is known', () => {
    const times = { checkedAt: 0, now: 1_000 };
    expect(pending(times, { attempts: 0 })).toBe('full');
    expect(pending(times, { observation: null })).toBe('full');
    expect(pending(times, { observation: { at: '' } })).toBe('full');
  });
});

describe('how closely a settled domain is checked', () => {
  const states: readonly DomainState[] = [
    { status: 'live', missedAt: null },
    { status: 'drifted', driftedAt: new Date(noon) },
    { status: 'failed', failedAt: new Date(noon) },
  ];
  it.each(states.map((state) => [state.status, state] as const))('%s', (_, state) => {
    expect(pending({ checkedAt: HOUR, now: HOUR + 1 }, { state, attempts: 0 })).toBe('compare');
    expect(pending({ checkedAt: HOUR, now: HOUR + 15 * MINUTE }, { state })).toBe('full');
  });
});
