/** Decides every change of a domain: an occurrence in, a `Change` out. */
import { drawOf, type Renewable, servedTimes } from '../certificates/plan.ts';
import { severities } from '../diagnosis/findings.ts';
import type { DomainChange } from './change.ts';
import {
  type CheckedDomain,
  type CheckResult,
  type CheckRules,
  decideCheck,
  whenNext,
} from './check.ts';
import type { DomainEvent } from './events.ts';
import { findingsChanged } from './events.ts';
import { type Rules, type Transition, transition } from './lifecycle.ts';

/** What a decision depends on. Null times: nothing is planned. */
export type DecidedDomain = CheckedDomain & {
  readonly nextCheckAt: Date | null;
  readonly recheckAt: Date | null;
};

/** What can happen to a domain, with the data that the decision needs. */
export type DomainOccurrence =
  | ({ readonly kind: 'checked' } & CheckResult & Pick<CheckRules, 'escalateAfterMs' | 'jitter'>)
  | {
      readonly kind: 'certificate_stored';
      readonly certificate: Renewable;
      readonly issuer: string;
    }
  | { readonly kind: 'verify_requested' }
  | ({ readonly kind: 'claimed_elsewhere' } & Claimed)
  | { readonly kind: 'removed' };

/** The DNS record that proves another project's ownership. */
type Claimed = Pick<Extract<DomainEvent, { type: 'domain.claimed_elsewhere' }>, 'proof' | 'found'>;

/**
 * Decides the effect of an occurrence; `refused` if it does not fit the state. Pure, total
 * (test/core/decide.test.ts).
 */
export function decide(
  domain: DecidedDomain,
  occurrence: DomainOccurrence,
  rules: Rules,
): DomainChange {
  switch (occurrence.kind) {
    case 'checked': {
      const { escalateAfterMs, jitter } = occurrence;
      return decideCheck(domain, occurrence, { ...rules, escalateAfterMs, jitter });
    }
    case 'certificate_stored':
      return stored(domain, occurrence, rules);
    case 'verify_requested':
      return verifyRequested(domain, rules);
    case 'claimed_elsewhere':
      return claimed(domain, occurrence, rules);
    case 'removed':
      return { ...ended(domain), kind: 'moved', closes: 'domain_removed', isRemoved: true };
  }
}

/** Starts the first window of a domain that is added (again); its first check is due at once. */
export function firstChange(now: Date): DomainChange {
  return {
    ...nothingBut({ kind: 'moved', to: { status: 'pending', pendingSince: now } }),
    attempts: 'reset',
    nextCheckAt: now,
  };
}

/**
 * `verified` → `live`; a domain that is already served gets the new certificate. Warnings stay;
 * blocking and unknown findings are cleared.
 */
function stored(
  domain: DecidedDomain,
  { certificate, issuer }: Extract<DomainOccurrence, { kind: 'certificate_stored' }>,
  rules: Rules,
): DomainChange {
  const step = transition(domain.state, { kind: 'certificate_stored' }, rules);
  if (step.kind === 'refused') return unchanged(domain);
  const { escalateAt, ...served } = servedTimes(certificate, rules.now);
  const renewed = { ...unchanged(domain), kind: step.kind, to: step.to, escalateAt, served };
  // Already served: the DNS decides its state and next check, not the certificate.
  if (step.kind === 'stayed') return { ...renewed, closes: 'certificate_issued' };
  const findings = domain.findings.filter(({ code }) => severities[code] === 'warns');
  const { expiresAt } = certificate;
  return {
    ...renewed,
    ...whenNext(step.to, { ...rules, jitter: drawOf(certificate.id) }, false),
    findings,
    events: [
      ...findingsChanged(domain.findings, findings),
      { type: 'domain.live', issuer, expiresAt },
    ],
    closes: 'certificate_issued',
  };
}

/**
 * Restarts the window of a domain that waits for its DNS; any other keeps its state and is checked
 * at once.
 */
function verifyRequested(domain: DecidedDomain, rules: Rules): DomainChange {
  const { now } = rules;
  const step = transition(domain.state, { kind: 'verify_requested' }, rules);
  if (step.kind === 'refused') return unchanged(domain);
  if (step.kind === 'stayed') return { ...unchanged(domain), kind: 'stayed', recheckAt: now };
  const events: readonly DomainEvent[] = [{ type: 'domain.reverify_requested' }];
  return step.to.status === 'pending'
    ? { ...restarted(domain, step, now), events }
    : { ...unchanged(domain), kind: 'moved', events, nextCheckAt: now };
}

/** Another project's proof takes the name. The domain becomes pending with a new window. */
function claimed(domain: DecidedDomain, { proof, found }: Claimed, rules: Rules): DomainChange {
  const step = transition(domain.state, { kind: 'claimed_elsewhere' }, rules);
  if (step.kind !== 'moved') return unchanged(domain);
  return {
    ...restarted(domain, step, rules.now),
    events: [{ type: 'domain.claimed_elsewhere', proof, found }],
    closes: 'claimed_elsewhere',
  };
}

type Moved = Extract<Transition, { kind: 'moved' }>;

/** Starts a new epoch that is due at once and clears everything planned before. */
function restarted(domain: DecidedDomain, { to }: Moved, now: Date): DomainChange {
  return { ...ended(domain), kind: 'moved', to, attempts: 'reset', nextCheckAt: now };
}

/** Clears everything planned and fences off earlier jobs. */
function ended({ state, findings }: DecidedDomain): DomainChange {
  return { ...nothingBut({ kind: 'moved', to: state }), findings, epoch: 'next' };
}

/** No changes; refused unless the caller overrides `kind`. */
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
