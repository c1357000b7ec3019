/** Why a domain has no certificate, or an expiring one. Causes: docs/understand/certificates.md. */

import { type Finding, severityOf } from '../diagnosis/findings.ts';
import { MINUTE } from '../time.ts';
import type { AuthorityLimit } from './budget.ts';
import { mayOrderAt, nextAttemptAt, type OrderRefusal } from './order-waits.ts';

export type EscalationCause =
  | 'dns_changed'
  | 'caa_blocks'
  | 'dns_unsettled'
  | 'dns_unknown'
  | 'caa_unknown'
  | 'authority_rate_limited'
  | 'secondary_validation'
  | 'challenge_unreachable'
  | 'authority_refused'
  | 'certificate_not_shown'
  | 'authority_unreachable'
  | 'platform_fault';

/** `no_route` (for example, no IPv6) and `reserved` say nothing about the edge. */
export type Probe = {
  readonly address: string;
  /** Missing: http-01. */
  readonly method?: 'tls-alpn-01';
} & (
  | { readonly outcome: 'reachable' | 'refused' | 'timeout' | 'no_route' | 'reserved' }
  /** Another server answered, or the edge does not have the name. `status`: null in a handshake. */
  | { readonly outcome: 'other_answer'; readonly status: number | null }
);

export type NextAttempt = {
  readonly order: 'new' | 'open';
  /** RFC 3339. */
  readonly at: string;
  /** RFC 3339: the next new order if this one is refused. Null for an open order. */
  readonly thenAt: string | null;
};

/** Plain JSON, stored with the escalation. Times are in RFC 3339. */
export type EscalationEvidence = {
  readonly findings: readonly Finding[];
  /** Why the CA refused the newest order since verification. */
  readonly problem: {
    readonly type: string;
    readonly detail: string;
    readonly retryAfter?: string;
  } | null;
  /** Since verification. */
  readonly refusals: number;
  /** The CA's rate limit that delays a new order. */
  readonly budget: {
    readonly limit: AuthorityLimit;
    /** As in `BudgetWait`. */
    readonly subject: string;
    readonly until: string;
  } | null;
  /** Empty if none ran. */
  readonly probes: readonly Probe[];
  /** The last time that the CA was unreachable or had not finished. */
  readonly setback: {
    readonly at: string;
    readonly detail: string;
    /** An external edge obtains the certificate; `detail` is what it served. */
    readonly isExternal?: true;
  } | null;
  readonly quarantine: { readonly reason: string; readonly until: string } | null;
  /** A different cause found by the last check; the next check must confirm it. */
  readonly candidate: EscalationCause | null;
  readonly nextAttempt: NextAttempt | null;
  /** For a served domain whose renewal is late. */
  readonly servedUntil: string | null;
};

type Facts = Pick<EscalationEvidence, 'findings' | 'problem' | 'budget' | 'probes' | 'setback'>;

/** Blocking findings other than a wrong record; each has its own cause. */
const otherwiseBlocking: ReadonlySet<string> = new Set([
  'caa_blocks',
  'caa_unknown',
  'name_servers_disagree',
  'dnssec_bogus',
  'proxied',
]);

/** Problem types (RFC 8555, 6.7): the CA did not see the challenge at the name. */
const aboutTheChallenge: ReadonlySet<string> = new Set([
  'connection',
  'unauthorized',
  'incorrect_response',
  'tls',
  'dns',
]);

/** What blocks every order comes before what one order met. */
const ranking: readonly (readonly [EscalationCause, (facts: Facts) => boolean])[] = [
  ['dns_changed', ({ findings }) => findings.some(takesBack)],
  ['challenge_unreachable', ({ findings }) => findings.some(isProxiedAway)],
  ['caa_blocks', has('caa_blocks')],
  ['dns_unsettled', has('name_servers_disagree', 'dnssec_bogus')],
  ['dns_unknown', has('dns_unknown')],
  ['caa_unknown', has('caa_unknown')],
  [
    'authority_rate_limited',
    ({ problem, budget }) => problem?.type === 'rate_limited' || isRateLimitCause(budget),
  ],
  [
    'secondary_validation',
    ({ problem, probes }) => problem?.type === 'secondary_validation' && !probes.some(isUnreached),
  ],
  [
    'challenge_unreachable',
    ({ problem, probes }) =>
      (problem !== null && aboutTheChallenge.has(problem.type)) || probes.some(isUnreached),
  ],
  ['authority_refused', ({ problem }) => problem !== null],
  ['certificate_not_shown', ({ setback }) => setback?.isExternal === true],
  ['authority_unreachable', ({ setback }) => setback !== null],
];

/** `platform_fault` if no external cause applies. Pure. */
export function likeliestCause(facts: Facts): EscalationCause {
  return ranking.find(([, holds]) => holds(facts))?.[0] ?? 'platform_fault';
}

/** These return a verified domain to pending, so no second check follows. */
const countsAtOnce: ReadonlySet<EscalationCause> = new Set(['dns_changed', 'caa_blocks']);

/** Two checks in a row must agree, so that intermittent causes don't close and open escalations. */
export function keepsCause(
  open: { readonly cause: EscalationCause; readonly evidence: EscalationEvidence },
  found: EscalationCause,
  isServed: boolean,
): boolean {
  const agreed = open.evidence.candidate === found || (!isServed && countsAtOnce.has(found));
  return open.cause !== found && !agreed;
}

/** For failed authorizations, the cause is why they failed. */
export function isRateLimitCause(
  budget: EscalationEvidence['budget'],
): budget is NonNullable<EscalationEvidence['budget']> {
  return budget !== null && budget.limit !== 'failed_authorizations';
}

export function isUnreached({ outcome }: Probe): boolean {
  return outcome === 'refused' || outcome === 'timeout' || outcome === 'other_answer';
}

export function takesBack(finding: Finding): boolean {
  return severityOf(finding) === 'blocks' && !otherwiseBlocking.has(finding.code);
}

/** The customer's proxy does not pass challenges on, or it is unknown whether it does. */
export function isProxiedAway(finding: Finding): boolean {
  return finding.code === 'proxied' && finding.passage !== 'passes';
}

function has(...codes: readonly Finding['code'][]) {
  return ({ findings }: Facts) => findings.some(({ code }) => codes.includes(code));
}

/** Longer than an open order normally waits (takeUpAgainAt), so the CA sent a Retry-After. */
const ASKED_TO_WAIT_MS = 5 * MINUTE;

type AttemptPlan = {
  readonly hasOrder: boolean;
  readonly nextCheckAt: Date | null;
  readonly refusals: number;
  readonly recentRefusals: readonly OrderRefusal[];
  readonly budgetUntil: Date | null;
  readonly quarantinedUntil: Date | null;
};

/** Not if the CA postponed an open order. */
export function mayWake(
  { hasOrder, nextCheckAt }: Pick<AttemptPlan, 'hasOrder' | 'nextCheckAt'>,
  now: Date,
): boolean {
  // A new order checks the budget itself.
  return (
    !hasOrder || nextCheckAt === null || nextCheckAt.getTime() <= now.getTime() + ASKED_TO_WAIT_MS
  );
}

/** `woken`: the job was made due now, ahead of its plan. */
export function nextAttempt(plan: AttemptPlan, woken: boolean, now: Date): NextAttempt {
  const { hasOrder, nextCheckAt, refusals, recentRefusals, budgetUntil, quarantinedUntil } = plan;
  const planned = woken ? now : later(later(now, nextCheckAt ?? now), quarantinedUntil ?? now);
  if (hasOrder) return { order: 'open', at: planned.toISOString(), thenAt: null };
  const at = later(later(planned, mayOrderAt(recentRefusals)), budgetUntil ?? planned);
  const thenAt = nextAttemptAt(refusals + 1, at, null).toISOString();
  return { order: 'new', at: at.toISOString(), thenAt };
}

/** No probe fails now, and at least one answers. */
export function isRepaired(
  before: Pick<EscalationEvidence, 'probes'>,
  after: Pick<EscalationEvidence, 'probes'>,
): boolean {
  const answers = after.probes.some(({ outcome }) => outcome === 'reachable');
  return before.probes.some(isUnreached) && answers && !after.probes.some(isUnreached);
}

function later(one: Date, other: Date): Date {
  return one > other ? one : other;
}
