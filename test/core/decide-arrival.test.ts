/** What a domain's claim remembers of its addresses, whatever happens to it. */
import { describe, expect, it } from 'vitest';
import {
  type DecidedDomain,
  type DomainOccurrence,
  decide,
  firstChange,
} from '../../src/core/life/decide.ts';
import type { DomainState, DomainStatus } from '../../src/core/life/lifecycle.ts';
import type { Arrival } from '../../src/core/names/claim.ts';
import { later, noon } from '../support/builders.ts';

const HOUR = 3_600_000;
const rules = { now: noon, windowMs: 48 * HOUR };
const before = later(noon, -HOUR);
const states: { readonly [S in DomainStatus]: DomainState } = {
  pending: { status: 'pending', pendingSince: before },
  verified: { status: 'verified', verifiedAt: before },
  live: { status: 'live', missedAt: null },
  drifted: { status: 'drifted', driftedAt: before },
  failed: { status: 'failed', failedAt: before },
};
const domainIn = (status: DomainStatus): DecidedDomain => ({
  state: states[status],
  findings: [],
  arrival: 'awaited',
  certificateEndsAt: null,
  watchedUntil: null,
  nextCheckAt: noon,
  recheckAt: null,
  escalateAt: null,
});
const check = { kind: 'checked', escalateAfterMs: HOUR, jitter: 0.5 } as const;
const missing = {
  code: 'record_missing',
  hostname: 'shop.test',
  target: 'x.edge.test',
  seen: 'nxdomain',
} as const;
const occurrences = {
  right: { ...check, verdict: 'right', findings: [] },
  wrong: { ...check, verdict: 'wrong', findings: [missing] },
  unknown: { ...check, verdict: 'unknown', findings: [] },
  verify_requested: { kind: 'verify_requested' },
  claimed_elsewhere: { kind: 'claimed_elsewhere', proof: 'txt', found: '_signpost.shop.test' },
  removed: { kind: 'removed' },
} as const satisfies Readonly<Record<string, DomainOccurrence>>;

describe('how the addresses came to the name', () => {
  const arrivalAfter = (
    status: DomainStatus,
    occurrence: DomainOccurrence,
    before: Arrival | null,
  ) => decide({ ...domainIn(status), arrival: before }, occurrence, rules).arrival;
  const { right, wrong, unknown } = occurrences;

  it('is said by the first check that could tell, whatever it means for the domain', () => {
    expect(arrivalAfter('pending', { ...unknown, addresses: 'unknown' }, null)).toBeNull();
    expect(arrivalAfter('pending', { ...wrong, addresses: 'elsewhere' }, null)).toBe('awaited');
    expect(arrivalAfter('pending', { ...wrong, addresses: 'here' }, null)).toBe('already_here');
    expect(arrivalAfter('pending', { ...right, addresses: 'here' }, null)).toBe('already_here');
  });

  it('is said once in a claim', () => {
    expect(arrivalAfter('pending', { ...right, addresses: 'here' }, 'awaited')).toBe('awaited');
    expect(arrivalAfter('pending', { ...wrong, addresses: 'elsewhere' }, 'lapsed')).toBe('lapsed');
    expect(arrivalAfter('live', { ...wrong, addresses: 'elsewhere' }, 'already_here')).toBe(
      'already_here',
    );
  });

  it('is kept by verify, in every state', () => {
    for (const status of Object.keys(states) as DomainStatus[]) {
      expect(arrivalAfter(status, occurrences.verify_requested, 'already_here')).toBe(
        'already_here',
      );
    }
  });

  it('is worth nothing any more where the name was lost to another project', () => {
    expect(arrivalAfter('live', occurrences.claimed_elsewhere, 'awaited')).toBe('held_before');
    expect(arrivalAfter('pending', { ...wrong, addresses: 'held' }, 'awaited')).toBe('held_before');
  });

  it('is worth nothing any more where the certificate of a drifted name has expired', () => {
    const drifted = { ...domainIn('drifted'), certificateEndsAt: noon };
    expect(decide(drifted, wrong, rules)).toMatchObject({
      to: { status: 'failed' },
      arrival: 'lapsed',
    });
    const live = { ...domainIn('live'), certificateEndsAt: noon };
    expect(decide(live, right, rules)).toMatchObject({
      to: { status: 'verified' },
      arrival: 'awaited',
    });
  });

  it('goes with the claim', () => {
    expect(arrivalAfter('live', occurrences.removed, 'awaited')).toBeNull();
    expect(firstChange(noon).arrival).toBeNull();
  });
});
