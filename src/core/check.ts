/** One look at a domain, judged: where it stands afterwards, what there is to tell, and when to look again. */
import { type Finding, type FindingCode, severities } from './diagnosis/findings.ts';
import { type FindingsChanged, findingsChanged } from './findings-changed.ts';
import { nextWaitMs, windowEnd } from './ladder.ts';
import { type DomainState, type TransitionEvent, transition, type Verdict } from './lifecycle.ts';

/** What a look needs to know of the domain it is about. */
export type CheckedDomain = { readonly state: DomainState; readonly findings: readonly Finding[] };

export type CheckRules = {
  readonly now: Date;
  readonly windowMs: number;
  readonly escalateAfterMs: number;
  /** 0 to 1; see ladder.ts. */
  readonly jitter: number;
  /** Somebody is looking. A server that already has the record is seen here, by its finding. */
  readonly eager: boolean;
};

export type CheckOutcome = {
  readonly kind: 'moved' | 'stayed';
  readonly to: DomainState;
  readonly findings: readonly Finding[];
  readonly events: readonly CheckEvent[];
  /** Null: nothing waits any more. */
  readonly nextCheckAt: Date | null;
  readonly escalateAt: Date | null;
};

export type CheckEvent = { readonly type: TransitionEvent } | FindingsChanged;

/** Judges one look at a domain. Pure: the same arguments give the same outcome. */
export function judgeCheck(domain: CheckedDomain, look: Judged, rules: CheckRules): CheckOutcome {
  const verdict = verdictFor(domain.state, look);
  const step = transition(domain.state, { kind: 'checked', verdict }, rules);
  const to = step.kind === 'refused' ? domain.state : step.to;
  const eager = rules.eager || look.findings.some(({ code }) => code === 'name_servers_disagree');
  const told: readonly CheckEvent[] = step.kind === 'moved' ? [{ type: step.event }] : [];
  return {
    kind: step.kind === 'moved' ? 'moved' : 'stayed',
    to,
    findings: look.findings,
    events: [...findingsChanged(domain.findings, look.findings), ...told],
    nextCheckAt: nextCheckAt(to, { ...rules, eager }),
    escalateAt:
      to.status === 'verified' ? new Date(to.verifiedAt.getTime() + rules.escalateAfterMs) : null,
  };
}

type Judged = { readonly verdict: Verdict; readonly findings: readonly Finding[] };

/**
 * What keeps a domain from going on is not always what takes back how far it has come: while a provider's servers follow
 * each other, or a resolver finds fault with a signature, the record is there all the same. And a CAA set keeps a live
 * domain's next certificate back, not its visitors.
 */
const sparing: { readonly [S in DomainState['status']]: readonly FindingCode[] } = {
  pending: [],
  verified: ['name_servers_disagree', 'dnssec_bogus'],
  live: ['name_servers_disagree', 'dnssec_bogus', 'caa_blocks'],
  drifted: ['name_servers_disagree', 'dnssec_bogus', 'caa_blocks'],
  failed: [],
};

function verdictFor({ status }: DomainState, { verdict, findings }: Judged): Verdict {
  const blocking = findings.filter(({ code }) => severities[code] === 'blocks');
  const spared = blocking.every(({ code }) => sparing[status].includes(code));
  return verdict === 'wrong' && blocking.length > 0 && spared ? 'unknown' : verdict;
}

/** When a domain in this state is next worked on; `verified` at once, for its certificate. */
export function nextCheckAt(
  state: DomainState,
  rules: Omit<CheckRules, 'escalateAfterMs'>,
): Date | null {
  switch (state.status) {
    case 'pending': {
      const { pendingSince } = state;
      const next = rules.now.getTime() + nextWaitMs({ pendingSince, ...rules });
      // Never past the end of the window, so that the window ends when it was said to.
      return new Date(Math.min(next, windowEnd(pendingSince, rules.windowMs).getTime()));
    }
    case 'verified':
      return rules.now;
    case 'live':
    case 'drifted':
    case 'failed':
      return null;
  }
}
