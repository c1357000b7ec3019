/** What comes of a check: the next state, its events, and when to check again. */
import { type Finding, type FindingCode, severities } from '../diagnosis/findings.ts';
import { type AddressesSeen, type Arrival, arrivalAfter } from '../names/claim.ts';
import type { Change } from './change.ts';
import { eventOfCheck, findingsChanged } from './events.ts';
import { nextWaitMs, type Pacing, recheckAt, windowEnd } from './ladder.ts';
import { type DomainState, type Transition, transition, type Verdict } from './lifecycle.ts';

/** What a check needs to know of the domain it is about. */
export type CheckedDomain = {
  readonly state: DomainState;
  /** Of the check before. */
  readonly findings: readonly Finding[];
  /** How our addresses came to its name; null: no check has said so yet. */
  readonly arrival: Arrival | null;
  /** Of the newest certificate; null where there is none. */
  readonly certificateEndsAt: Date | null;
  /** When an operator is notified unless a certificate comes; null: not planned. */
  readonly escalateAt: Date | null;
  /** Somebody has the domain's page open until then, about. */
  readonly watchedUntil: Date | null;
};

/** The time of the check, and what its decision depends on beside the domain. */
export type CheckRules = {
  readonly now: Date;
  /** How long a pending domain has (VERIFY_WINDOW). */
  readonly windowMs: number;
  /** How long after its verification an operator is notified (ESCALATE_AFTER). */
  readonly escalateAfterMs: number;
  /** 0 to 1; see ladder.ts. */
  readonly jitter: number;
};

/** Decides what one check does, and an expired certificate after it, with an event for each move. Pure. */
export function decideCheck(domain: CheckedDomain, result: CheckResult, rules: CheckRules): Change {
  const { findings } = result;
  const certificateEndsAt = domain.certificateEndsAt ?? rules.now;
  const steps = stepsOf(domain, result, rules);
  const to = steps.at(-1)?.to ?? domain.state;
  const stepEvents = steps.flatMap((step) =>
    step.kind === 'moved'
      ? [eventOfCheck({ ...step, type: step.event, findings, certificateEndsAt })]
      : [],
  );
  const next = whenNext(to, rules, pacingOf(domain, result, rules));
  const hasMoved = stepEvents.length > 0;
  return {
    kind: hasMoved ? 'moved' : 'stayed',
    to,
    // Jobs of before are fenced off where the domain goes back to pending.
    epoch: hasMoved && to.status === 'pending' ? 'next' : 'same',
    attempts: 'counted',
    findings,
    arrival: arrivalOf(domain, result, steps),
    events: [...findingsChanged(domain.findings, findings), ...stepEvents],
    ...next,
    recheckAt: notPastTheEnd(next.recheckAt, to, domain.certificateEndsAt),
    escalateAt: escalateAt(to, domain, rules),
    served: null,
    // An escalation outlives the way back to pending: it is about the certificate that has not come.
    closes: hasMoved && to.status === 'failed' ? 'domain_failed' : null,
    isRemoved: false,
  };
}

/** Whose certificate has expired while its name led elsewhere has let it go: the zone may have another owner since. */
function arrivalOf(
  { arrival }: CheckedDomain,
  { addresses = 'unknown' }: CheckResult,
  steps: readonly Step[],
): Arrival | null {
  const hasLapsed = steps.some(
    ({ because, to }) => because === 'certificate' && to.status === 'failed',
  );
  return hasLapsed ? 'lapsed' : arrivalAfter(arrival, addresses);
}

/** A domain that is served keeps the time that its certificate has set. */
function escalateAt(
  to: DomainState,
  domain: CheckedDomain,
  { escalateAfterMs }: CheckRules,
): Date | null {
  if (to.status === 'verified') return new Date(to.verifiedAt.getTime() + escalateAfterMs);
  return isServed(to) ? domain.escalateAt : null;
}

function isServed({ status }: DomainState): boolean {
  return status === 'live' || status === 'drifted';
}

type Step = Exclude<Transition, { kind: 'refused' }> & {
  readonly because: 'check' | 'certificate';
};

/** What the check moves, and then what the clock does: the certificate may have expired meanwhile. */
function stepsOf(domain: CheckedDomain, result: CheckResult, rules: CheckRules): readonly Step[] {
  const { state, certificateEndsAt } = domain;
  const moved = transition(state, { kind: 'checked', verdict: verdictFor(state, result) }, rules);
  const steps: Step[] = moved.kind === 'refused' ? [] : [{ ...moved, because: 'check' }];
  if (certificateEndsAt === null || certificateEndsAt > rules.now) return steps;
  const ended = transition(steps[0]?.to ?? state, { kind: 'certificate_ended' }, rules);
  return ended.kind === 'refused' ? steps : [...steps, { ...ended, because: 'certificate' }];
}

/** Somebody who has the page open comes first. */
function pacingOf(
  { watchedUntil }: CheckedDomain,
  { findings, isCovered = false }: CheckResult,
  { now }: CheckRules,
): Pacing {
  if (watchedUntil !== null && watchedUntil > now) return 'page_open';
  if (findings.some(({ code }) => code === 'name_servers_disagree')) return 'on_its_way';
  return isCovered ? 'beside_watch' : 'ordinary';
}

/** The expiry of its certificate moves a domain that is served with it, so it is checked no later than that. */
function notPastTheEnd(
  recheckAt: Date | null,
  state: DomainState,
  endsAt: Date | null,
): Date | null {
  return isServed(state) && recheckAt !== null && endsAt !== null && endsAt < recheckAt
    ? endsAt
    : recheckAt;
}

/**
 * What one check found: what the DNS means for the domain, and the findings with the headline first. `addresses`: whether
 * ours are at the name; missing: unknown. `isCovered`: the watch sees whatever could make it right (src/core/watch/coverage.ts).
 */
export type CheckResult = {
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  readonly addresses?: AddressesSeen;
  readonly isCovered?: boolean;
};

/**
 * What keeps a domain from going on is not always what takes back how far it has come: while a provider's servers follow
 * each other, or a resolver finds fault with a signature, the record is there all the same.
 */
const toleratedFindings: { readonly [S in DomainState['status']]: readonly FindingCode[] } = {
  pending: [],
  verified: ['name_servers_disagree', 'dnssec_bogus'],
  live: ['name_servers_disagree', 'dnssec_bogus', 'caa_blocks'],
  drifted: ['name_servers_disagree', 'dnssec_bogus', 'caa_blocks'],
  failed: [],
};

/** These keep back the next certificate of a served domain, and nothing else: its record is right. */
const onlyForNextCertificate: readonly FindingCode[] = ['caa_blocks', 'caa_unknown'];

/** The verdict as this state takes it: what it tolerates takes nothing back, though it may keep the domain waiting. */
function verdictFor(state: DomainState, { verdict, findings }: CheckResult): Verdict {
  const blocking = findings.filter(({ code }) => severities[code] === 'blocks');
  if (blocking.length === 0) return verdict;
  const isConclusive = !findings.some(({ code }) => code === 'dns_unknown');
  const pointsHere = blocking.every(({ code }) => onlyForNextCertificate.includes(code));
  if (isServed(state) && isConclusive && pointsHere) return 'right';
  const spared = blocking.every(({ code }) => toleratedFindings[state.status].includes(code));
  return verdict === 'wrong' && spared ? 'unknown' : verdict;
}

type Timing = Pick<CheckRules, 'now' | 'windowMs' | 'jitter'>;
type WhenNext = Pick<Change, 'nextCheckAt' | 'recheckAt'>;

/** When a domain in this state is next worked on: by its own job, `verified` at once, or by a batch. Both null: never. */
export function whenNext(state: DomainState, rules: Timing, pacing: Pacing): WhenNext {
  switch (state.status) {
    case 'pending': {
      const { pendingSince } = state;
      const next = rules.now.getTime() + nextWaitMs({ ...rules, pendingSince, pacing });
      // Never past the end of the window, so that the window ends when it was said to.
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
