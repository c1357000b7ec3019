/**
 * Why a verified domain has no certificate after 30 minutes, or a served one no next certificate in time: the causes, and
 * which of them is the likeliest.
 * escalation-words.ts says each of them to operator and customer alike; docs/lifecycle.md lists the same ones.
 */

import { type Finding, severities } from '../diagnosis/findings.ts';
import type { AuthorityLimit } from './budget.ts';
import { mayOrderAt, nextAttemptAt, type Refusal } from './plan.ts';

/** Why a domain has no certificate, as it is stored and as the API spells it. */
export type EscalationCause =
  | 'dns_changed'
  | 'caa_blocks'
  | 'dns_unsettled'
  | 'dns_unknown'
  | 'caa_unknown'
  | 'authority_rate_limited'
  | 'challenge_unreachable'
  | 'authority_refused'
  | 'certificate_not_shown'
  | 'authority_unreachable'
  | 'platform_fault';

/**
 * What came of asking one address of the name for a challenge. `reachable`: our edge answered. `no_route`: this machine
 * has no way there (no IPv6, say), and `reserved`: nobody on the internet has; neither says anything about the edge.
 */
export type Probe = {
  readonly address: string;
  /** The challenge that was asked for; missing: http-01. */
  readonly method?: 'tls-alpn-01';
} & (
  | { readonly outcome: 'reachable' | 'refused' | 'timeout' | 'no_route' | 'reserved' }
  /** Somebody else answered, or the edge does not hold the name. `status`: HTTP's; null in a handshake. */
  | { readonly outcome: 'other_answer'; readonly status: number | null }
);

/** The next thing that the order's own job does. */
export type NextAttempt = {
  /** A new order is placed, or the open one is taken up again. */
  readonly order: 'new' | 'open';
  /** RFC 3339. */
  readonly at: string;
  /** RFC 3339: when another new order follows, should that one be refused. Null for an open order. */
  readonly thenAt: string | null;
};

/** What the cause was decided from. Plain JSON: it is stored with the escalation, and its words are made from it. */
export type EscalationEvidence = {
  readonly findings: readonly Finding[];
  /** Why the authority refused the newest order since verification; `retryAfter` in RFC 3339. */
  readonly problem: {
    readonly type: string;
    readonly detail: string;
    readonly retryAfter?: string;
  } | null;
  /** Orders refused since verification. */
  readonly refusals: number;
  /** The authority's published limit that keeps a new order back, whose it is, and until when (RFC 3339). */
  readonly budget: {
    readonly limit: AuthorityLimit;
    /** A host name or a registrable domain; empty for our account. */
    readonly subject: string;
    readonly until: string;
  } | null;
  /** The challenge, asked for at each address of the name; empty where that was not tried. */
  readonly probes: readonly Probe[];
  /** When (RFC 3339) the authority could not be asked, or had not finished, and how that showed. */
  readonly setback: {
    readonly at: string;
    readonly detail: string;
    /** An edge of another make obtains the certificate, and this is what it showed. */
    readonly isExternal?: true;
  } | null;
  /** The order's job met faults again and again, and was set aside: why, and until when (RFC 3339). */
  readonly quarantine: { readonly reason: string; readonly until: string } | null;
  /** Another cause that the last check found: it becomes the cause where the next check finds it, too. */
  readonly candidate: EscalationCause | null;
  /** Null: not decided yet. */
  readonly nextAttempt: NextAttempt | null;
  /** The domain is served, and what did not come is its renewal: when (RFC 3339) its certificate ends. */
  readonly servedUntil: string | null;
};

type Facts = Pick<EscalationEvidence, 'findings' | 'problem' | 'budget' | 'probes' | 'setback'>;

/** What blocks although the record may be right: each is a cause of its own. */
const otherwiseBlocking: ReadonlySet<string> = new Set([
  'caa_blocks',
  'caa_unknown',
  'name_servers_disagree',
  'dnssec_bogus',
]);

/** Problems of RFC 8555, 6.7 that say that the challenge was not seen at the name. */
const aboutTheChallenge: ReadonlySet<string> = new Set([
  'connection',
  'unauthorized',
  'incorrect_response',
  'tls',
  'dns',
]);

/** The first that holds is the cause: what would keep every order back comes before what an order met. */
const ranking: readonly (readonly [EscalationCause, (facts: Facts) => boolean])[] = [
  ['dns_changed', ({ findings }) => findings.some(takesBack)],
  ['caa_blocks', has('caa_blocks')],
  ['dns_unsettled', has('name_servers_disagree', 'dnssec_bogus')],
  ['dns_unknown', has('dns_unknown')],
  ['caa_unknown', has('caa_unknown')],
  [
    'authority_rate_limited',
    ({ problem, budget }) => problem?.type === 'rate_limited' || isSpent(budget),
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

/** Returns the likeliest cause; `platform_fault` where nothing outside explains it. Pure. */
export function likeliestCause(facts: Facts): EscalationCause {
  return ranking.find(([, holds]) => holds(facts))?.[0] ?? 'platform_fault';
}

/** They take a verified domain back to pending: there is no second check of what was verified. */
const countsAtOnce: ReadonlySet<EscalationCause> = new Set(['dns_changed', 'caa_blocks']);

/**
 * Whether an open escalation keeps its cause although this check found another one: two checks in a row have to agree on it,
 * so that what comes and goes does not close and open escalations in turns. A check of a domain that is served moves it
 * nowhere, so there every cause waits for its second check.
 */
export function keepsCause(
  open: { readonly cause: EscalationCause; readonly evidence: EscalationEvidence },
  found: EscalationCause,
  isServed: boolean,
): boolean {
  const agreed = open.evidence.candidate === found || (!isServed && countsAtOnce.has(found));
  return open.cause !== found && !agreed;
}

/** Whether a limit is the cause. That too many authorizations failed is none: why they did is. */
export function isSpent(
  budget: EscalationEvidence['budget'],
): budget is NonNullable<EscalationEvidence['budget']> {
  return budget !== null && budget.limit !== 'failed_authorizations';
}

/** Whether an address conclusively has no edge of ours to answer for the name. */
export function isUnreached({ outcome }: Probe): boolean {
  return outcome === 'refused' || outcome === 'timeout' || outcome === 'other_answer';
}

/** Whether a finding means that the record itself is no longer right. */
export function takesBack({ code }: Finding): boolean {
  return severities[code] === 'blocks' && !otherwiseBlocking.has(code);
}

function has(...codes: readonly Finding['code'][]) {
  return ({ findings }: Facts) => findings.some(({ code }) => codes.includes(code));
}

/** Longer than an open order waits by itself (takeUpAgainAt in plan.ts): then the authority has asked us to. */
const ASKED_TO_WAIT_MS = 5 * 60_000;

/** What the next work on a domain's order depends on. */
type Plan = {
  readonly hasOrder: boolean;
  readonly nextCheckAt: Date | null;
  readonly refusals: number;
  readonly recentRefusals: readonly Refusal[];
  /** A limit of the authority allows no new order before then. */
  readonly budgetUntil: Date | null;
  /** The job was set aside until then; null: it was not. */
  readonly setAsideUntil: Date | null;
};

/** Whether the order's job may be made due now: not where its authority has postponed an open order. */
export function mayWake(
  { hasOrder, nextCheckAt }: Pick<Plan, 'hasOrder' | 'nextCheckAt'>,
  now: Date,
): boolean {
  // A new order keeps to the budget by itself.
  return (
    !hasOrder || nextCheckAt === null || nextCheckAt.getTime() <= now.getTime() + ASKED_TO_WAIT_MS
  );
}

/** Returns when the order's job works next. `woken`: it was made due now, whatever was planned. */
export function nextAttempt(plan: Plan, woken: boolean, now: Date): NextAttempt {
  const { hasOrder, nextCheckAt, refusals, recentRefusals, budgetUntil, setAsideUntil } = plan;
  const planned = woken ? now : later(later(now, nextCheckAt ?? now), setAsideUntil ?? now);
  if (hasOrder) return { order: 'open', at: planned.toISOString(), thenAt: null };
  const at = later(later(planned, mayOrderAt(recentRefusals)), budgetUntil ?? planned);
  const thenAt = nextAttemptAt(refusals + 1, at, null).toISOString();
  return { order: 'new', at: at.toISOString(), thenAt };
}

/** Whether probes that failed in an open escalation are put right: none fails now, and one at least answers. */
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
