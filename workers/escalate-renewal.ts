/**
 * A served domain whose certificate has a fifth of its life left and is not renewed: one escalation for an operator,
 * brought up to date until the next certificate is stored. The old one is served meanwhile, and the domain stays what it
 * is.
 * Woken by: the renewals' own job, after them, so that what has just been renewed is none. Reads: what is due, the
 * orders, the DNS, the name's addresses. Writes: the escalation, the time of its next check, and where something changed
 * a renewal that is due at once.
 * May run twice: what is taken is leased, one escalation is open at most, and all of it holds for one certificate.
 */

import { mayWake, type NextAttempt, nextAttempt } from '../src/core/certificates/escalation.ts';
import { escalateRenewalAt } from '../src/core/certificates/plan.ts';
import type { Diagnosis } from '../src/core/diagnosis/diagnosis.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { Quarantined } from '../src/db/domains/quarantine.ts';
import type { DueDomains } from '../src/db/domains/sweeps.ts';
import type { NewEscalation, OpenResult, Served } from '../src/db/issuance/escalations.ts';
import type { IssueWork } from '../src/db/issuance/issue-work.ts';
import type { EscalateCertificateDeps } from './escalate-certificate.ts';
import { type ChoiceDeps, chooseFor, type OrderWork } from './orders/choose-authority.ts';
import {
  evidenceOf,
  inJson,
  inWords,
  isWorthATry,
  settledCause,
} from './orders/escalation-evidence.ts';
import { done, type JobResult } from './running/job.ts';
import { leaseNow, sweep, type UsualLease } from './running/sweep.ts';

type Shared = Pick<
  EscalateCertificateDeps,
  'loadWork' | 'loadOpen' | 'observe' | 'diagnose' | 'probe' | 'logEscalation' | keyof ChoiceDeps
>;

/** What these escalations need of the process that they run in. */
export type EscalateRenewalDeps = Shared & {
  /** Live and drifted domains whose escalation is due to be opened or checked. */
  readonly due: DueDomains;
  /** As for a first certificate; `wakes` makes the renewal due at once. */
  openEscalation(
    domain: Served,
    escalation: NewEscalation,
    times: { at: Date; againAt: Date; wakes: boolean },
  ): Promise<OpenResult>;
  /** Stores when the escalation of a domain that needs none yet is due. */
  postponeEscalation(domain: Served, at: Date): Promise<void>;
  /** Why and until when the sweep of renewals leaves the domain alone; null where it does not. */
  findQuarantine(domainId: string): Promise<Quarantined | null>;
  /** Called with a fault at one domain, which stops no other. */
  onFault(fault: unknown, domainId: string): void;
  /** How many domains are checked at a time. */
  readonly atOnce: number;
};

const BATCH = 20;
/** A check and a probe of each address take seconds; what a dead worker took is due again after this. */
const LEASE: UsualLease = { usualMs: 5 * 60_000, leastMs: 30_000 };

/**
 * A check of a name whose servers are silent takes seconds, and there may be no end of them: after this the renewals have
 * their turn again. Our choice.
 */
const TURN_MS = 2 * 60_000;

/**
 * Opens the escalation of every served domain that is due for one, or brings it up to date, for about two minutes; what
 * is left stays due. Rejects where the database or the queue is away.
 */
export async function escalateRenewals(
  deps: EscalateRenewalDeps,
  stop: AbortSignal,
): Promise<JobResult> {
  const { due, atOnce, onFault } = deps;
  const lease = () => leaseNow(deps, LEASE);
  const work = (id: string) => escalate(deps, id);
  const turnEnds = AbortSignal.any([stop, AbortSignal.timeout(TURN_MS)]);
  await sweep({ due, lease, work, onFault, batch: BATCH, atOnce }, turnEnds);
  return done;
}

async function escalate(deps: EscalateRenewalDeps, id: string): Promise<void> {
  const work = await deps.loadWork(id, deps.now());
  const dueAt = work && plannedAt(work);
  if (!work || !dueAt) return;
  const { domain } = work;
  if (dueAt > deps.now()) return deps.postponeEscalation(domain, dueAt);
  const observation = await deps.observe(domain);
  const diagnosis = await deps.diagnose(domain, observation);
  // Of a name that points elsewhere, the addresses are somebody else's.
  const probes = diagnosis.verdict === 'right' ? await deps.probe(domain.hostname) : [];
  const open = await deps.loadOpen(domain.id);
  const quarantine = await deps.findQuarantine(domain.id);
  const now = deps.now();
  const { escalateAfterMs } = deps.rules(now);

  const servedUntil = domain.certificateEndsAt?.toISOString() ?? null;
  const evidence = { ...evidenceOf(work, diagnosis, probes), servedUntil };
  const { cause, evidence: known } = settledCause(open, {
    ...evidence,
    quarantine: inJson(quarantine),
  });
  const plan = planOf(deps, { ...work, forbidden: diagnosis.forbidden }, quarantine);
  const isNew = isWorthATry(open, { cause, evidence }, { now, escalateAfterMs });
  const isRenewed = domain.state.status === 'live';
  const wakes = isRenewed && isNew && mayWake(plan, now);
  const next: NextAttempt | null = isRenewed ? nextAttempt(plan, wakes, now) : null;
  const escalation = inWords(cause, { ...known, nextAttempt: next });

  const againAt = new Date(now.getTime() + escalateAfterMs);
  const result = await deps.openEscalation(domain, escalation, { at: now, againAt, wakes });
  if (result === 'opened') deps.logEscalation(domain, escalation);
}

/**
 * When the escalation is due: another run may have renewed the certificate while this one's lease was over. Null where
 * the domain is not served; an expired certificate is for recheck-live.
 */
function plannedAt({ domain: { state }, usable }: IssueWork): Date | null {
  const served = state.status === 'live' || state.status === 'drifted';
  if (!served || usable === null || !usable.issuedAt || !usable.expiresAt) return null;
  return escalateRenewalAt({ issuedAt: usable.issuedAt, expiresAt: usable.expiresAt });
}

function planOf(deps: ChoiceDeps, work: OrderWork, quarantine: Quarantined | null) {
  const setAsideUntil = quarantine?.until ?? null;
  return {
    ...chooseFor(deps, work),
    hasOrder: work.order !== null,
    nextCheckAt: work.renewAt,
    setAsideUntil,
  };
}

/** What `escalationAtEnd` reads and logs with. */
export type EscalationAtEndDeps = Pick<
  EscalateRenewalDeps,
  'loadWork' | 'loadOpen' | 'logEscalation' | keyof ChoiceDeps
>;

/**
 * Returns the escalation of a live domain whose certificate has expired, to be saved with that event: the open one,
 * which can no longer say that anything is served, or, where no worker ran for the last fifth of a life, a new one.
 * Undefined where the domain was removed meanwhile. Writes nothing but the log.
 */
export async function escalationAtEnd(
  deps: EscalationAtEndDeps,
  domain: LoadedDomain,
  diagnosis: Pick<Diagnosis, 'findings'>,
): Promise<NewEscalation | undefined> {
  const now = deps.now();
  const work = await deps.loadWork(domain.id, now);
  if (work === undefined) return undefined;
  const open = await deps.loadOpen(domain.id);
  const { cause, evidence } = settledCause(open, evidenceOf(work, diagnosis, []));
  // It is verified from now on: its order is taken up at once, where the authority allows it.
  const nextCheckAt = work.setback?.retryAfter ?? now;
  const plan = { ...planOf(deps, { ...work, forbidden: [] }, null), nextCheckAt, refusals: 0 };
  const escalation = inWords(cause, { ...evidence, nextAttempt: nextAttempt(plan, false, now) });
  if (open?.cause !== cause) deps.logEscalation(domain, escalation);
  return escalation;
}
