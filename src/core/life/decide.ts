/** The one place that decides about a domain: what happens to it goes in, what becomes another comes out. */
import { drawOf, type Renewable, servedTimes } from '../certificates/plan.ts';
import { severities } from '../diagnosis/findings.ts';
import type { Change } from './change.ts';
import { type CheckedDomain, type CheckResult, decideCheck, whenNext } from './check.ts';
import type { DomainEvent } from './events.ts';
import { findingsChanged } from './events.ts';
import { type Rules, type Transition, transition } from './lifecycle.ts';

/** What a decision needs to know of the domain it is about. Null times: nothing is planned. */
export type DecidedDomain = CheckedDomain & {
  readonly nextCheckAt: Date | null;
  readonly recheckAt: Date | null;
};

/** What can happen to a domain, with everything that the decision about it rests on. */
export type DomainOccurrence =
  | ({
      readonly kind: 'checked';
      readonly escalateAfterMs: number;
      /** 0 to 1; see ladder.ts. */
      readonly jitter: number;
    } & CheckResult)
  | {
      readonly kind: 'certificate_stored';
      readonly certificate: Renewable;
      readonly issuer: string;
    }
  | { readonly kind: 'verify_requested' }
  | ({ readonly kind: 'claimed_elsewhere' } & Claimed)
  | { readonly kind: 'removed' };

/** How the DNS has proven that the name is another project's. */
type Claimed = Pick<Extract<DomainEvent, { type: 'domain.claimed_elsewhere' }>, 'proof' | 'found'>;

/** Decides what an occurrence does to a domain; `refused` where it does not fit. Pure, total (test/core/decide.test.ts). */
export function decide(domain: DecidedDomain, occurrence: DomainOccurrence, rules: Rules): Change {
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
      return { ...ended(domain), arrival: null, closes: 'domain_removed', isRemoved: true };
  }
}

/** A domain that is added, or added again: the first window begins, and its first check is due at once. */
export function firstChange(now: Date): Change {
  return {
    ...nothingBut({ kind: 'moved', to: { status: 'pending', pendingSince: now }, arrival: null }),
    attempts: 'reset',
    nextCheckAt: now,
  };
}

/**
 * `verified` → `live`; a domain that is served already has the certificate from now on. What warns still does; what
 * blocked, or could not be checked, is over.
 */
function stored(
  domain: DecidedDomain,
  { certificate, issuer }: Extract<DomainOccurrence, { kind: 'certificate_stored' }>,
  rules: Rules,
): Change {
  const step = transition(domain.state, { kind: 'certificate_stored' }, rules);
  if (step.kind === 'refused') return unchanged(domain);
  const { escalateAt, ...served } = servedTimes(certificate, rules.now);
  const renewed = { ...unchanged(domain), kind: step.kind, to: step.to, escalateAt, served };
  // It was served before: the DNS decides over its state and its next check, not the certificate.
  if (step.kind === 'stayed') return { ...renewed, closes: 'certificate_issued' };
  const findings = domain.findings.filter(({ code }) => severities[code] === 'warns');
  const { expiresAt } = certificate;
  return {
    ...renewed,
    ...whenNext(step.to, { ...rules, jitter: drawOf(certificate.id) }, 'ordinary'),
    findings,
    events: [
      ...findingsChanged(domain.findings, findings),
      { type: 'domain.live', issuer, expiresAt },
    ],
    closes: 'certificate_issued',
  };
}

/** A new window for one that waits for its DNS; any other one keeps its state and is checked at once. */
function verifyRequested(domain: DecidedDomain, rules: Rules): Change {
  const { now } = rules;
  const step = transition(domain.state, { kind: 'verify_requested' }, rules);
  if (step.kind === 'refused') return unchanged(domain);
  if (step.kind === 'stayed') return { ...unchanged(domain), kind: 'stayed', recheckAt: now };
  const events: readonly DomainEvent[] = [{ type: 'domain.reverify_requested' }];
  return step.to.status === 'pending'
    ? { ...restarted(domain, step, now), events }
    : { ...unchanged(domain), kind: 'moved', events, nextCheckAt: now };
}

/** Another project's proof ends its hold on the name; it waits for its own again, in a new window: addresses prove nothing. */
function claimed(domain: DecidedDomain, { proof, found }: Claimed, rules: Rules): Change {
  const step = transition(domain.state, { kind: 'claimed_elsewhere' }, rules);
  if (step.kind !== 'moved') return unchanged(domain);
  return {
    ...restarted(domain, step, rules.now),
    arrival: 'held_before',
    events: [{ type: 'domain.claimed_elsewhere', proof, found }],
    closes: 'claimed_elsewhere',
  };
}

type Moved = Extract<Transition, { kind: 'moved' }>;

/** The next epoch, due at once, with nothing of the one before planned any more. */
function restarted(domain: DecidedDomain, { to }: Moved, now: Date): Change {
  return { ...ended(domain), kind: 'moved', to, attempts: 'reset', nextCheckAt: now };
}

/** Nothing is planned any more, and jobs of before are fenced off. */
function ended({ state, findings, arrival }: DecidedDomain): Change {
  return { ...nothingBut({ kind: 'moved', to: state, arrival }), findings, epoch: 'next' };
}

/** Everything as it was; refused, unless the caller says otherwise. */
function unchanged(domain: DecidedDomain): Change {
  const { state, findings, arrival, nextCheckAt, recheckAt, escalateAt } = domain;
  const times = { nextCheckAt, recheckAt, escalateAt };
  return { ...nothingBut({ kind: 'refused', to: state, arrival }), findings, ...times };
}

function nothingBut(change: Pick<Change, 'kind' | 'to' | 'arrival'>): Change {
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
