/**
 * Escalates a served domain whose certificate has a fifth of its lifetime left and is not renewed.
 * The escalation is updated until the next certificate is stored. The old one stays served, and the
 * domain keeps its state.
 * Woken by: the renew-certificate job, after the renewals, so that fresh renewals are not
 * escalated.
 * Reads: the domains that are due, the orders, the DNS, the name's addresses.
 * Writes: the escalation, the time of its next check, and an immediate renewal if something
 * changed.
 * May run twice: taken domains are leased, at most one escalation is open, and saves succeed for
 * one certificate only.
 */

import { mayWake, type NextAttempt, nextAttempt } from '../src/core/certificates/escalation.ts';
import { escalateRenewalAt } from '../src/core/certificates/plan.ts';
import type { Diagnosis } from '../src/core/diagnosis/diagnosis.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { Quarantined } from '../src/db/domains/quarantine.ts';
import type { DueDomains } from '../src/db/domains/sweeps.ts';
import type { NewEscalation, OpenResult, ServedDomain } from '../src/db/issuance/escalations.ts';
import type { IssueWork } from '../src/db/issuance/issue-work.ts';
import type { EscalateCertificateDeps } from './escalate-certificate.ts';
import { type ChoiceDeps, chooseFor, type OrderWork } from './orders/choose-authority.ts';
import {
  evidenceOf,
  inJson,
  isWorthATry,
  settledCause,
  toNewEscalation,
} from './orders/escalation-evidence.ts';
import { done, type JobResult } from './running/job.ts';
import { leaseNow, sweep, type UsualLease } from './running/sweep.ts';

type Shared = Pick<
  EscalateCertificateDeps,
  'loadWork' | 'loadOpen' | 'observe' | 'diagnose' | 'probe' | 'logEscalation' | keyof ChoiceDeps
>;

export type EscalateRenewalDeps = Shared & {
  /** Live and drifted domains whose escalation is due. */
  readonly due: DueDomains;
  /** `wakes` makes the renewal due at once. */
  openEscalation(
    domain: ServedDomain,
    escalation: NewEscalation,
    times: { at: Date; againAt: Date; wakes: boolean },
  ): Promise<OpenResult>;
  postponeEscalation(domain: ServedDomain, at: Date): Promise<void>;
  /** Null if the renewal sweep does not skip the domain. */
  findQuarantine(domainId: string): Promise<Quarantined | null>;
  /** Other domains continue. */
  onFault(fault: unknown, domainId: string): void;
  readonly atOnce: number;
};

const BATCH = 20;
/** Checks and probes take seconds. After a crash, taken domains are due again. */
const LEASE: UsualLease = { usualMs: 5 * 60_000, leastMs: 30_000 };

/** Checks of unresponsive name servers take seconds each, and the renewals follow. */
const TURN_MS = 2 * 60_000;

/** For about two minutes; the rest stays due. Rejects if the database or the queue is down. */
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
  // If the name points elsewhere, its addresses are not ours to probe.
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
  const escalation = toNewEscalation(cause, { ...known, nextAttempt: next });

  const againAt = new Date(now.getTime() + escalateAfterMs);
  const result = await deps.openEscalation(domain, escalation, { at: now, againAt, wakes });
  if (result === 'opened') deps.logEscalation(domain, escalation);
}

/** Another run can have renewed it. Null if not served: recheck-live handles expiry. */
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

export type EscalationAtEndDeps = Pick<
  EscalateRenewalDeps,
  'loadWork' | 'loadOpen' | 'logEscalation' | keyof ChoiceDeps
>;

/**
 * Saved with the expiry of a live domain's certificate: the open escalation, or a new one if no
 * worker ran for the last fifth of the lifetime. Undefined if the domain was removed. Only writes
 * to the log.
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
  // The domain becomes verified, so its order resumes at once unless the CA sent Retry-After.
  const nextCheckAt = work.setback?.retryAfter ?? now;
  const plan = { ...planOf(deps, { ...work, forbidden: [] }, null), nextCheckAt, refusals: 0 };
  const escalation = toNewEscalation(cause, {
    ...evidence,
    nextAttempt: nextAttempt(plan, false, now),
  });
  if (open?.cause !== cause) deps.logEscalation(domain, escalation);
  return escalation;
}
