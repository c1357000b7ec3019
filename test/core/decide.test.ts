/** Every occurrence in every state, for src/core/life/decide.ts. */

import { describe, expect, it, test } from 'vitest';
import { drawOf, servedTimes } from '../../src/core/certificates/renewal.ts';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import type { DomainChange } from '../../src/core/life/check.ts';
import {
  type DecidedDomain,
  type DomainOccurrence,
  decide,
  firstChange,
} from '../../src/core/life/decide.ts';
import { recheckAt } from '../../src/core/life/ladder.ts';
import type { DomainState, DomainStatus } from '../../src/core/life/lifecycle.ts';
import { DAY, HOUR } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

const rules = { windowMs: 2 * DAY, timeScale: 1, escalateAfterMs: HOUR, jitter: 0.5 };
const before = later(noon, -HOUR);

const states: { readonly [S in DomainStatus]: DomainState } = {
  pending: { status: 'pending', pendingSince: before },
  verified: { status: 'verified', verifiedAt: before },
  live: { status: 'live', missedAt: null },
  drifted: { status: 'drifted', driftedAt: before },
  failed: { status: 'failed', failedAt: before },
};

const missing: Finding = {
  code: 'record_missing',
  hostname: 'docs.shop.test',
  target: 'x.edge.test',
  seen: 'nxdomain',
};

/** A domain with every time set, so that a kept one shows. */
const times = {
  nextCheckAt: later(noon, 1_000),
  recheckAt: later(noon, 2_000),
  escalateAt: later(noon, 3_000),
};
const domainIn = (status: DomainStatus): DecidedDomain => ({
  state: states[status],
  findings: [missing],
  certificateEndsAt: null,
  watchedUntil: null,
  ...times,
});

const certificate = {
  id: '01234567-89ab-4cde-8f01-23456789abcd',
  issuedAt: noon,
  expiresAt: later(noon, 90 * DAY),
  window: null,
};
const occurrences = {
  right: { kind: 'checked', verdict: 'right', findings: [], ...rules },
  wrong: { kind: 'checked', verdict: 'wrong', findings: [missing], ...rules },
  unknown: { kind: 'checked', verdict: 'unknown', findings: [], ...rules },
  certificate_stored: { kind: 'certificate_stored', certificate, issuer: 'Pebble', timeScale: 1 },
  verify_requested: { kind: 'verify_requested' },
  claimed_elsewhere: { kind: 'claimed_elsewhere', proof: 'cname', found: 'y.edge.test' },
  removed: { kind: 'removed' },
} as const satisfies Readonly<Record<string, DomainOccurrence>>;
type Occurrence = keyof typeof occurrences;

/** Kind, state, epoch, attempts, its events, and why its escalation ends. */
type Row = readonly [
  kind: DomainChange['kind'],
  to: DomainStatus,
  epoch: DomainChange['epoch'],
  attempts: DomainChange['attempts'],
  events?: string,
  closes?: string,
];
const again = 'domain.reverify_requested';
const taken = 'domain.claimed_elsewhere';
const removed = (to: DomainStatus): Row => ['moved', to, 'next', 'same', '', 'domain_removed'];
const refused = (to: DomainStatus): Row => ['refused', to, 'same', 'same'];
const checked = (to: DomainStatus): Row => ['stayed', to, 'same', 'counted'];

const table: { readonly [S in DomainStatus]: { readonly [O in Occurrence]: Row } } = {
  pending: {
    right: ['moved', 'verified', 'same', 'counted', 'domain.verified'],
    wrong: checked('pending'),
    unknown: checked('pending'),
    certificate_stored: refused('pending'),
    verify_requested: ['moved', 'pending', 'next', 'reset', again],
    claimed_elsewhere: refused('pending'),
    removed: removed('pending'),
  },
  verified: {
    right: checked('verified'),
    wrong: ['moved', 'pending', 'next', 'counted', 'domain.unverified'],
    unknown: checked('verified'),
    certificate_stored: ['moved', 'live', 'same', 'same', 'domain.live', 'certificate_issued'],
    verify_requested: ['moved', 'verified', 'same', 'same', again],
    claimed_elsewhere: ['moved', 'pending', 'next', 'reset', taken, 'claimed_elsewhere'],
    removed: removed('verified'),
  },
  live: {
    right: checked('live'),
    wrong: checked('live'), // a first miss; drift takes two
    unknown: checked('live'),
    certificate_stored: ['stayed', 'live', 'same', 'same', '', 'certificate_issued'],
    verify_requested: ['stayed', 'live', 'same', 'same'],
    claimed_elsewhere: ['moved', 'pending', 'next', 'reset', taken, 'claimed_elsewhere'],
    removed: removed('live'),
  },
  drifted: {
    right: ['moved', 'live', 'same', 'counted', 'domain.recovered'],
    wrong: checked('drifted'),
    unknown: checked('drifted'),
    certificate_stored: ['stayed', 'drifted', 'same', 'same', '', 'certificate_issued'],
    verify_requested: ['stayed', 'drifted', 'same', 'same'],
    claimed_elsewhere: ['moved', 'pending', 'next', 'reset', taken, 'claimed_elsewhere'],
    removed: removed('drifted'),
  },
  failed: {
    right: ['moved', 'verified', 'same', 'counted', 'domain.verified'],
    wrong: checked('failed'),
    unknown: checked('failed'),
    certificate_stored: refused('failed'),
    verify_requested: ['moved', 'pending', 'next', 'reset', again],
    claimed_elsewhere: refused('failed'),
    removed: removed('failed'),
  },
};

const rows = Object.entries(table).flatMap(([status, row]) =>
  Object.entries(row).map(
    ([occurrence, expected]) =>
      [status as DomainStatus, occurrence as Occurrence, expected] as const,
  ),
);

test.each(rows)('%s × %s', (status, occurrence, expected) => {
  const [kind, to, epoch, attempts, events = '', closes = null] = expected;
  const change = decide(domainIn(status), occurrences[occurrence], noon);
  expect({ kind: change.kind, epoch: change.epoch, attempts: change.attempts }).toEqual({
    kind,
    epoch,
    attempts,
  });
  expect(change.to.status).toBe(to);
  const own = change.events.filter(({ type }) => type !== 'domain.findings_changed');
  expect(own.map(({ type }) => type).join()).toBe(events);
  expect(change.closes).toBe(closes);
  expect(change.isRemoved).toBe(occurrence === 'removed');
  if (kind === 'refused') expect(change).toMatchObject({ ...times, to: states[status] });
});

const timesOf = ({ nextCheckAt, recheckAt: recheck, escalateAt }: DomainChange) => ({
  nextCheckAt,
  recheckAt: recheck,
  escalateAt,
});
const none = { nextCheckAt: null, recheckAt: null, escalateAt: null };

describe('the planned times', () => {
  it.each(['pending', 'failed'] as const)(
    'are the next check at once when a %s domain is verified again',
    (status) => {
      const change = decide(domainIn(status), occurrences.verify_requested, noon);
      expect(change.to).toEqual({ status: 'pending', pendingSince: noon });
      expect(timesOf(change)).toEqual({ ...none, nextCheckAt: noon });
      expect(change.findings).toEqual([missing]);
    },
  );

  it('stay when a verified domain is verified again, but its order resumes at once', () => {
    const change = decide(domainIn('verified'), occurrences.verify_requested, noon);
    expect(change.to).toEqual(states.verified);
    expect(timesOf(change)).toEqual({ ...times, nextCheckAt: noon });
  });

  it.each(['live', 'drifted'] as const)(
    'put a %s domain that is verified again into the next batch',
    (status) => {
      const change = decide(domainIn(status), occurrences.verify_requested, noon);
      expect(timesOf(change)).toEqual({ ...times, recheckAt: noon });
    },
  );

  it.each(['verified', 'live', 'drifted'] as const)(
    'are only the next check when a %s domain loses its name',
    (status) => {
      const change = decide(domainIn(status), occurrences.claimed_elsewhere, noon);
      expect(change.to).toEqual({ status: 'pending', pendingSince: noon });
      expect(timesOf(change)).toEqual({ ...none, nextCheckAt: noon });
      expect(change.events).toEqual([{ type: taken, proof: 'cname', found: 'y.edge.test' }]);
    },
  );

  it('are cleared when a domain is removed', () => {
    for (const status of Object.keys(states)) {
      const change = decide(domainIn(status as DomainStatus), occurrences.removed, noon);
      expect(timesOf(change)).toEqual(none);
      expect(change.to).toEqual(states[status as DomainStatus]);
    }
  });

  it('are the next check at once when a domain is added', () => {
    const change = firstChange(noon);
    expect(change.to).toEqual({ status: 'pending', pendingSince: noon });
    expect(timesOf(change)).toEqual({ ...none, nextCheckAt: noon });
    expect(change).toMatchObject({ attempts: 'reset', events: [], findings: [] });
  });
});

describe('a certificate', () => {
  const { escalateAt, ...served } = servedTimes(certificate, noon);

  it('makes a domain live and clears its blocking findings', () => {
    const domain = { ...domainIn('verified'), findings: [missing] };
    const change = decide(domain, occurrences.certificate_stored, noon);
    expect(change.served).toEqual(served);
    const live = { status: 'live', missedAt: null } as const;
    expect(timesOf(change)).toEqual({
      nextCheckAt: null,
      recheckAt: recheckAt(live, { now: noon, timeScale: 1, jitter: drawOf(certificate.id) }),
      escalateAt,
    });
    expect(change.findings).toEqual([]);
    expect(change.events.at(-1)).toEqual({
      type: 'domain.live',
      issuer: 'Pebble',
      expiresAt: certificate.expiresAt,
    });
  });

  it.each(['live', 'drifted'] as const)('only renews that of a %s domain', (status) => {
    const change = decide(domainIn(status), occurrences.certificate_stored, noon);
    expect(change.served).toEqual(served);
    expect(timesOf(change)).toEqual({ ...times, escalateAt });
    expect(change).toMatchObject({ to: states[status], findings: [missing], events: [] });
  });
});

test('equal arguments give equal decisions', () => {
  for (const [status, occurrence] of rows) {
    const once = decide(domainIn(status), occurrences[occurrence], noon);
    expect(decide(domainIn(status), occurrences[occurrence], noon)).toEqual(once);
  }
});
