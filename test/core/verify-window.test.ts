/** A window of 24 hours instead of 48: pending domains fail sooner, and nothing else differs. */
import { describe, expect, it } from 'vitest';
import { checkDepthOf } from '../../src/core/diagnosis/check-depth.ts';
import { whenNext } from '../../src/core/life/check.ts';
import { type DomainState, type Occurrence, transition } from '../../src/core/life/lifecycle.ts';
import { later, noon } from '../support/builders.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const rulesAt = (now: Date, hours: number) => {
  return { now, windowMs: hours * HOUR, timeScale: 1, jitter: 0.5 };
};
const states: readonly DomainState[] = [
  { status: 'pending', pendingSince: noon },
  { status: 'verified', verifiedAt: noon },
  { status: 'live', missedAt: null },
  { status: 'live', missedAt: noon },
  { status: 'drifted', driftedAt: noon },
  { status: 'failed', failedAt: noon },
];
const occurrences: readonly Occurrence[] = [
  { kind: 'checked', verdict: 'right' },
  { kind: 'checked', verdict: 'wrong' },
  { kind: 'checked', verdict: 'unknown' },
  { kind: 'verify_requested' },
  { kind: 'certificate_stored' },
  { kind: 'certificate_ended' },
  { kind: 'claimed_elsewhere' },
];
const ages = [0, MINUTE, 9 * MINUTE, 10 * MINUTE, HOUR, 23 * HOUR];

describe.each(states)('with a window of 24 hours, a domain in state $status', (state) => {
  it.each(ages)('goes on as with 48 hours after %d ms', (age) => {
    const now = later(noon, age);
    for (const occurrence of occurrences) {
      const [short, long] = [24, 48].map((hours) =>
        transition(state, occurrence, rulesAt(now, hours)),
      );
      expect(short).toEqual(long);
    }
    for (const eager of [false, 'watched', 'on_its_way'] as const) {
      const [short, long] = [24, 48].map((hours) => whenNext(state, rulesAt(now, hours), eager));
      expect(short).toEqual(long);
    }
  });
});

it('fails a pending domain after 24 hours, with a full check', () => {
  const state: DomainState = { status: 'pending', pendingSince: noon };
  const wrong = { kind: 'checked', verdict: 'wrong' } as const;
  const end = later(noon, 24 * HOUR);
  expect(transition(state, wrong, rulesAt(later(end, -1), 24)).kind).toBe('stayed');
  expect(transition(state, wrong, rulesAt(end, 24))).toMatchObject({ event: 'domain.failed' });
  expect(whenNext(state, rulesAt(later(end, -MINUTE), 24), false).nextCheckAt).toEqual(end);
  const observation = { at: later(end, -MINUTE).toISOString() };
  const domain = { state, attempts: 9, observation, findings: [], watchedUntil: null };
  expect(checkDepthOf(domain, end, 24 * HOUR)).toBe('full');
});
