/** The part of `decide` for a check. */

import type { ServedTimes } from '../certificates/renewal.ts';
import { type Finding, type FindingCode, isOurTrouble, severityOf } from '../diagnosis/findings.ts';
import type { DomainRecord } from '../records.ts';
import { scaledMs } from '../time.ts';
import { type DomainEvent, type EscalationEnd, eventOfCheck, findingsChanged } from './events.ts';
import { type Eagerness, nextWaitMs, recheckAt, recheckWaits, windowEnd } from './ladder.ts';
import {
  type CheckTimes,
  type DomainState,
  isServed,
  type Transition,
  transition,
  type Verdict,
} from './lifecycle.ts';

export type CheckedDomain = {
  readonly state: DomainState;
  /** Of the previous check. */
  readonly findings: readonly Finding[];
} & Pick<DomainRecord, 'certificateEndsAt' | 'escalateAt' | 'watchedUntil'>;

export type CheckRules = CheckTimes & {
  readonly now: Date;
  readonly escalateAfterMs: number;
  /** 0 to 1; see ladder.ts. */
  readonly jitter: number;
};

/** An expired certificate is a second transition after the check, with its own event. Pure. */
export function decideCheck(
  domain: CheckedDomain,
  result: CheckResult,
  rules: CheckRules,
): DomainChange {
  const diagnosed = asDiagnosed(domain, result);
  const { findings } = diagnosed;
  const certificateEndsAt = domain.certificateEndsAt ?? rules.now;
  const steps = stepsOf(domain, diagnosed, rules);
  const to = steps.at(-1)?.to ?? domain.state;
  const stepEvents = steps.flatMap((step) =>
    step.kind === 'moved'
      ? [eventOfCheck({ ...step, type: step.event, findings, certificateEndsAt })]
      : [],
  );
  const hasMoved = stepEvents.length > 0;
  const next =
    to.status === 'verified' && !hasMoved
      ? { nextCheckAt: recheckAt(to, rules), recheckAt: null }
      : whenNext(to, rules, eagernessOf(domain, findings, rules));
  return {
    kind: hasMoved ? 'moved' : 'stayed',
    to,
    // Returning to pending fences off earlier jobs.
    epoch: hasMoved && to.status === 'pending' ? 'next' : 'same',
    attempts: 'counted',
    findings,
    events: [...findingsChanged(domain.findings, findings), ...stepEvents],
    nextCheckAt: soonIfOurs(next.nextCheckAt, findings, rules),
    recheckAt: soonIfOurs(
      notPastTheEnd(next.recheckAt, to, domain.certificateEndsAt),
      findings,
      rules,
    ),
    escalateAt: escalateAt(to, domain, rules),
    served: null,
    // An escalation stays open when the domain returns to pending: its certificate is still
    // missing.
    closes: hasMoved && to.status === 'failed' ? 'domain_failed' : null,
    isRemoved: false,
  };
}

function escalateAt(
  to: DomainState,
  domain: CheckedDomain,
  { escalateAfterMs }: CheckRules,
): Date | null {
  if (to.status === 'verified') return new Date(to.verifiedAt.getTime() + escalateAfterMs);
  return isServed(to) ? domain.escalateAt : null;
}

type Step = Exclude<Transition, { kind: 'refused' }> & {
  readonly because: 'check' | 'certificate';
};

function stepsOf(domain: CheckedDomain, result: Diagnosed, rules: CheckRules): readonly Step[] {
  const { state, certificateEndsAt } = domain;
  const { now, windowMs, timeScale } = rules;
  const verdict = verdictFor(state, result);
  const moved = transition(state, { kind: 'checked', verdict, windowMs, timeScale }, now);
  const steps: Step[] = moved.kind === 'refused' ? [] : [{ ...moved, because: 'check' }];
  if (certificateEndsAt === null || certificateEndsAt > now) return steps;
  const ended = transition(steps[0]?.to ?? state, { kind: 'certificate_ended' }, now);
  return ended.kind === 'refused' ? steps : [...steps, { ...ended, because: 'certificate' }];
}

function eagernessOf(
  { watchedUntil }: CheckedDomain,
  findings: readonly Finding[],
  { now }: CheckRules,
): Eagerness {
  if (watchedUntil !== null && watchedUntil > now) return 'watched';
  return findings.some(({ code }) => code === 'name_servers_disagree') && 'on_its_way';
}

/** Expiry of the certificate is a transition, so a served domain is checked no later than that. */
function notPastTheEnd(
  recheckAt: Date | null,
  state: DomainState,
  endsAt: Date | null,
): Date | null {
  return isServed(state) && recheckAt !== null && endsAt !== null && endsAt < recheckAt
    ? endsAt
    : recheckAt;
}

function soonIfOurs(
  at: Date | null,
  findings: readonly Finding[],
  { now, timeScale }: CheckRules,
): Date | null {
  const soon = new Date(now.getTime() + scaledMs(recheckWaits.oursMs, timeScale));
  return at !== null && at > soon && findings.some(isOurTrouble) ? soon : at;
}

/** `findings`: the headline first. */
type Diagnosed = { readonly verdict: Verdict; readonly findings: readonly Finding[] };

/** `unchanged`: the earlier observation holds, so findings and state stay. */
export type CheckResult = { readonly verdict: 'unchanged' } | Diagnosed;

/** For the state, `unchanged` and `unknown` are equal: neither changes it. */
function asDiagnosed({ findings }: CheckedDomain, result: CheckResult): Diagnosed {
  return result.verdict === 'unchanged' ? { verdict: 'unknown', findings } : result;
}

/** These block a domain but keep its state: the record itself still exists. */
const toleratedFindings: { readonly [S in DomainState['status']]: readonly FindingCode[] } = {
  pending: [],
  verified: ['name_servers_disagree', 'dnssec_bogus'],
  live: ['name_servers_disagree', 'dnssec_bogus', 'caa_blocks'],
  drifted: ['name_servers_disagree', 'dnssec_bogus', 'caa_blocks'],
  failed: [],
};

/** These block only the next certificate of a served domain; its record is correct. */
function isOnlyForNextCertificate(finding: Finding): boolean {
  // Visitors still reach us through the proxy.
  if (finding.code === 'proxied') return finding.passage === 'firewall';
  return finding.code === 'caa_blocks' || finding.code === 'caa_unknown';
}

/** A proxy can fail because Signpost has no certificate yet. Then the domain keeps its status. */
function isTolerated({ status }: DomainState, finding: Finding): boolean {
  if (finding.code === 'proxied') return finding.passage === 'no_certificate';
  return toleratedFindings[status].includes(finding.code);
}

/** Tolerated findings keep the domain waiting, but never move it back. */
function verdictFor(state: DomainState, { verdict, findings }: Diagnosed): Verdict {
  const blocking = findings.filter((finding) => severityOf(finding) === 'blocks');
  if (blocking.length === 0) return verdict;
  const isConclusive = !findings.some(({ code }) => code === 'dns_unknown');
  const pointsHere = blocking.every(isOnlyForNextCertificate);
  if (isServed(state) && isConclusive && pointsHere) return 'right';
  const spared = blocking.every((finding) => isTolerated(state, finding));
  return verdict === 'wrong' && spared ? 'unknown' : verdict;
}

type Timing = Pick<CheckRules, 'now' | 'windowMs' | 'timeScale' | 'jitter'>;
type WhenNext = Pick<DomainChange, 'nextCheckAt' | 'recheckAt'>;

/** By its own job (`nextCheckAt`; `verified`: at once) or by a sweep (`recheckAt`). */
export function whenNext(state: DomainState, rules: Timing, eager: Eagerness): WhenNext {
  switch (state.status) {
    case 'pending': {
      const { pendingSince } = state;
      const next = rules.now.getTime() + nextWaitMs({ ...rules, pendingSince, eager });
      // Never past the end of the window, so that it ends on time.
      const end = windowEnd(pendingSince, rules.windowMs).getTime();
      return { nextCheckAt: new Date(Math.min(next, end)), recheckAt: null };
    }
    case 'verified':
      return { nextCheckAt: rules.now, recheckAt: null };
    case 'live':
    case 'drifted':
    case 'failed':
      return { nextCheckAt: null, recheckAt: recheckAt(state, rules) };
  }
}

/** What an occurrence changes, written in one transaction; a `refused` change writes nothing. */
export type DomainChange = {
  /** `stayed`: same status, though times can differ. */
  readonly kind: 'moved' | 'stayed' | 'refused';
  readonly to: DomainState;
  /** `next` fences off the jobs of the current epoch. */
  readonly epoch: 'same' | 'next';
  /** `reset`: zero, for a new window. */
  readonly attempts: 'counted' | 'same' | 'reset';
  /** The headline first. */
  readonly findings: readonly Finding[];
  readonly events: readonly DomainEvent[];
  readonly nextCheckAt: Date | null;
  /** When a sweep, not its own job, checks it next. */
  readonly recheckAt: Date | null;
  /** When an operator is notified unless a certificate is issued. */
  readonly escalateAt: Date | null;
  /** Null: the served certificate is unchanged. */
  readonly served: ServedTimes | null;
  /** Why its open escalation ends. */
  readonly closes: EscalationEnd | null;
  readonly isRemoved: boolean;
};
