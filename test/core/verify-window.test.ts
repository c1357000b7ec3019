/** With a window of 24 hours instead of 48, only the time of failure changes. */

import { describe, expect, it } from 'vitest';
import { checkDepthOf } from '../../src/core/diagnosis/check-depth.ts';
import { whenNext } from '../../src/core/life/check.ts';
import {
  type DomainState,
  type Occurrence,
  transition,
  type Verdict,
} from '../../src/core/life/lifecycle.ts';
import { HOUR, MINUTE } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

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
const checked = (verdict: Verdict, hours: number) =>
  ({ kind: 'checked', verdict, windowMs: hours * HOUR, timeScale: 1 }) as const;
const occurrencesIn = (hours: number): readonly Occurrence[] => [
  checked('right', hours),
  checked('wrong', hours),
  checked('unknown', hours),
  { kind: 'verify_requested' },
  { kind: 'certificate_stored' },
  { kind: 'certificate_ended' },
  { kind: 'claimed_elsewhere' },
];
const ages = [0, MINUTE, 9 * MINUTE, 10 * MINUTE, HOUR, 23 * HOUR];

describe.each(states)('with a window of 24 hours, a domain in state $status', (state) => {
  it.each(ages)('continues as with 48 hours after %d ms', (age) => {
    const now = later(noon, age);
    const [short, long] = [24, 48].map((hours) =>
      occurrencesIn(hours).map((occurrence) => transition(state, occurrence, now)),
    );
    expect(short).toEqual(long);
    for (const eager of [false, 'watched', 'on_its_way'] as const) {
      const [soon, late] = [24, 48].map((hours) => whenNext(state, rulesAt(now, hours), eager));
      expect(soon).toEqual(late);
    }
  });
});

it('fails a pending domain after 24 hours, with a full check', () => {
  const state: DomainState = { status: 'pending', pendingSince: noon };
  const wrong = checked('wrong', 24);
  const end = later(noon, 24 * HOUR);
  expect(transition(state, wrong, later(end, -1)).kind).toBe('stayed');
  expect(transition(state, wrong, end)).toMatchObject({ event: 'domain.failed' });
  expect(whenNext(state, rulesAt(later(end, -MINUTE), 24), false).nextCheckAt).toEqual(end);
  const observation = { at: later(end, -MINUTE).toISOString() };
  const domain = { state, attempts: 9, observation, findings: [], watchedUntil: null };
  expect(checkDepthOf(domain, end, 24 * HOUR)).toBe('full');
});
