/** Decides every change of a domain: an occurrence in, a `DomainChange` out. */
import { drawOf, type Renewable, servedTimes } from '../certificates/renewal.ts';
import { severityOf } from '../diagnosis/findings.ts';
import {
  type CheckedDomain,
  type CheckResult,
  type CheckRules,
  type DomainChange,
  decideCheck,
} from './check.ts';
import type { DomainEvent } from './events.ts';
import { findingsChanged } from './events.ts';
import { recheckAt } from './ladder.ts';
import { type Transition, transition } from './lifecycle.ts';

export type DecidedDomain = CheckedDomain & {
  readonly nextCheckAt: Date | null;
  readonly recheckAt: Date | null;
};

export type DomainOccurrence =
  | ({ readonly kind: 'checked' } & CheckResult & Omit<CheckRules, 'now'>)
  | {
      readonly kind: 'certificate_stored';
      readonly certificate: Renewable;
      readonly issuer: string;
      readonly timeScale: number;
    }
  | { readonly kind: 'verify_requested' }
  | ({ readonly kind: 'claimed_elsewhere' } & Claimed)
  | { readonly kind: 'removed' };

type Claimed = Pick<Extract<DomainEvent, { type: 'domain.claimed_elsewhere' }>, 'proof' | 'found'>;

/** `refused` if the occurrence does not fit the state. Pure and total. */
export function decide(
  domain: DecidedDomain,
  occurrence: DomainOccurrence,
  now: Date,
): DomainChange {
  switch (occurrence.kind) {
    case 'checked':
      return decideCheck(domain, occurrence, { ...occurrence, now });
    case 'certificate_stored':
      return stored(domain, occurrence, now);
    case 'verify_requested':
      return verifyRequested(domain, now);
    case 'claimed_elsewhere':
      return claimed(domain, occurrence, now);
    case 'removed':
      return { ...ended(domain), kind: 'moved', closes: 'domain_removed', isRemoved: true };
  }
}

/** For a domain that is added (again); its first check is due at once. */
export function firstChange(now: Date): DomainChange {
  return {
    ...nothingBut({ kind: 'moved', to: { status: 'pending', pendingSince: now } }),
    attempts: 'reset',
    nextCheckAt: now,
  };
}

/** Warnings stay; blocking and unknown findings are cleared. */
function stored(
  domain: DecidedDomain,
  { certificate, issuer, timeScale }: Extract<DomainOccurrence, { kind: 'certificate_stored' }>,
  now: Date,
): DomainChange {
  const step = transition(domain.state, { kind: 'certificate_stored' }, now);
  if (step.kind === 'refused' || step.to.status === 'pending') return unchanged(domain);
  const { escalateAt, ...served } = servedTimes(certificate, now);
  const renewed = { ...unchanged(domain), kind: step.kind, to: step.to, escalateAt, served };
  // Already served: the DNS decides its state and next check, not the certificate.
  if (step.kind === 'stayed') return { ...renewed, closes: 'certificate_issued' };
  const findings = domain.findings.filter((finding) => severityOf(finding) === 'warns');
  const { expiresAt } = certificate;
  return {
    ...renewed,
    nextCheckAt: null,
    recheckAt: recheckAt(step.to, { now, timeScale, jitter: drawOf(certificate.id) }),
    findings,
    events: [
      ...findingsChanged(domain.findings, findings),
      { type: 'domain.live', issuer, expiresAt },
    ],
    closes: 'certificate_issued',
  };
}

/** Restarts the window of a domain that waits for its DNS; any other is checked at once. */
function verifyRequested(domain: DecidedDomain, now: Date): DomainChange {
  const step = transition(domain.state, { kind: 'verify_requested' }, now);
  if (step.kind === 'refused') return unchanged(domain);
  if (step.kind === 'stayed') return { ...unchanged(domain), kind: 'stayed', recheckAt: now };
  const events: readonly DomainEvent[] = [{ type: 'domain.reverify_requested' }];
  return step.to.status === 'pending'
    ? { ...restarted(domain, step, now), events }
    : { ...unchanged(domain), kind: 'moved', events, nextCheckAt: now };
}

/** The domain becomes pending with a new window. */
function claimed(domain: DecidedDomain, { proof, found }: Claimed, now: Date): DomainChange {
  const step = transition(domain.state, { kind: 'claimed_elsewhere' }, now);
  if (step.kind !== 'moved') return unchanged(domain);
  return {
    ...restarted(domain, step, now),
    events: [{ type: 'domain.claimed_elsewhere', proof, found }],
    closes: 'claimed_elsewhere',
  };
}

type Moved = Extract<Transition, { kind: 'moved' }>;

function restarted(domain: DecidedDomain, { to }: Moved, now: Date): DomainChange {
  return { ...ended(domain), kind: 'moved', to, attempts: 'reset', nextCheckAt: now };
}

/** Clears everything planned and fences off earlier jobs. */
function ended({ state, findings }: DecidedDomain): DomainChange {
  return { ...nothingBut({ kind: 'moved', to: state }), findings, epoch: 'next' };
}

/** Refused unless the caller overrides `kind`. */
function unchanged({
  state,
  findings,
  nextCheckAt,
  recheckAt,
  escalateAt,
}: DecidedDomain): DomainChange {
  const times = { nextCheckAt, recheckAt, escalateAt };
  return { ...nothingBut({ kind: 'refused', to: state }), findings, ...times };
}

function nothingBut(change: Pick<DomainChange, 'kind' | 'to'>): DomainChange {
  return {
    ...change,
    epoch: 'same',
    attempts: 'same',
    findings: [],
    events: [],
    nextCheckAt: null,
    recheckAt: null,
    escalateAt: null,
    served: null,
    closes: null,
    isRemoved: false,
  };
}
