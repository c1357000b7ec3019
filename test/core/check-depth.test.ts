import { describe, expect, it } from 'vitest';
import {
  type CheckDepth,
  checkDepthOf,
  type EarlierCheck,
} from '../../src/core/diagnosis/check-depth.ts';
import type { DomainState } from '../../src/core/life/lifecycle.ts';
import { HOUR, MINUTE } from '../../src/core/time.ts';

const noon = Date.parse('2026-01-01T12:00:00Z');

type Times = { readonly checkedAt: number; readonly now: number; readonly watchedUntil?: number };

/** Of a domain pending since noon; all times in milliseconds since then. */
function pending({ checkedAt, now, watchedUntil }: Times, more: Partial<EarlierCheck> = {}) {
  const domain: EarlierCheck = {
    state: { status: 'pending', pendingSince: new Date(noon) },
    attempts: 3,
    findings: [{ code: 'record_missing' }],
    observation: { at: new Date(noon + checkedAt).toISOString() },
    watchedUntil: watchedUntil === undefined ? null : new Date(noon + watchedUntil),
    ...more,
  };
  return checkDepthOf(domain, new Date(noon + now), 48 * HOUR);
}

describe('the check depth of a pending domain', () => {
  it.each<[string, Times, CheckDepth]>([
    ['a moment after a full check', { checkedAt: 0, now: 15_000 }, 'light'],
    ['less than 15 minutes after it', { checkedAt: 0, now: 15 * MINUTE - 1 }, 'light'],
    ['15 minutes after it', { checkedAt: 0, now: 15 * MINUTE }, 'full'],
    ['15 minutes later again', { checkedAt: 15 * MINUTE, now: 30 * MINUTE }, 'full'],
    ['after twice the age', { checkedAt: HOUR, now: 2 * HOUR - 1 }, 'light'],
    ['at twice its age', { checkedAt: HOUR, now: 2 * HOUR }, 'full'],
    ['late in the window', { checkedAt: 24 * HOUR, now: 47 * HOUR }, 'light'],
    ['at the end of the window', { checkedAt: 32 * HOUR, now: 48 * HOUR }, 'full'],
    [
      'while a client watches',
      { checkedAt: HOUR, now: HOUR + 1, watchedUntil: 2 * HOUR },
      'compare',
    ],
    [
      'while a client watches, 15 minutes after a full check',
      { checkedAt: HOUR, now: HOUR + 15 * MINUTE, watchedUntil: 2 * HOUR },
      'full',
    ],
    [
      'after the client has left',
      { checkedAt: HOUR, now: HOUR + 15 * MINUTE, watchedUntil: HOUR + 15 * MINUTE },
      'light',
    ],
    ['after the clock was set back', { checkedAt: HOUR, now: HOUR - 1 }, 'full'],
  ])('%s', (_, times, depth) => {
    expect(pending(times)).toBe(depth);
  });

  it.each(['name_servers_disagree', 'caa_blocks', 'caa_unknown'] as const)(
    'is as if watched when a light check would not detect the end of %s',
    (code) => {
      const findings = [{ code: 'conflicting_a' }, { code }] as const;
      expect(pending({ checkedAt: HOUR, now: HOUR + 1 }, { findings })).toBe('compare');
      expect(pending({ checkedAt: HOUR, now: HOUR + 15 * MINUTE }, { findings })).toBe('full');
    },
  );

  it('is full after verify, and without a known time of the last check', () => {
    const times = { checkedAt: 0, now: 1_000 };
    expect(pending(times, { attempts: 0 })).toBe('full');
    expect(pending(times, { observation: null })).toBe('full');
    expect(pending(times, { observation: { at: '' } })).toBe('full');
  });
});

describe('the check depth of a settled domain', () => {
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
