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
import { escalateRenewalAt } from '../src/core/certificates/renewal.ts';
import { isServed } from '../src/core/life/lifecycle.ts';
import { MINUTE } from '../src/core/time.ts';
import {
  loadOpenEscalation,
  openRenewalEscalation,
  postponeRenewalEscalation,
} from '../src/db/issuance/escalations.ts';
import type { IssueWork } from '../src/db/issuance/issue-work.ts';
import type { Service } from '../src/service/service.ts';
import { diagnoseDomain, observeDomain } from './checks/observe-domain.ts';
import {
  evidenceOf,
  inJson,
  isWorthATry,
  logEscalation,
  renewalPlanOf,
  settledCause,
  toNewEscalation,
} from './orders/escalation.ts';
import { done, type JobResult } from './running/job.ts';
import { sweepDue } from './running/sweep.ts';

const [batch, atOnce] = [20, 4];
/** Checks and probes take seconds. After a crash, taken domains are due again. */
const lease = { usualMs: 5 * MINUTE, leastMs: 30_000 };

/** Checks of unresponsive name servers take seconds each, and the renewals follow. */
const RUN_MS_MAX = 2 * MINUTE;

/** For about `RUN_MS_MAX`; the rest stays due. Rejects if the database or the queue is down. */
export async function escalateRenewals(service: Service, stop: AbortSignal): Promise<JobResult> {
  const work = (id: string) => escalate(service, id);
  const runEnds = AbortSignal.any([stop, AbortSignal.timeout(RUN_MS_MAX)]);
  await sweepDue(service, 'escalate-renewals', { work, batch, lease, atOnce }, runEnds);
  return done;
}

async function escalate(service: Service, id: string): Promise<void> {
  const work = await service.certificates.loadWork(id, service.now());
  const dueAt = work && plannedAt(work);
  if (!work || !dueAt) return;
  const { domain } = work;
  if (dueAt > service.now())
    return postponeRenewalEscalation(service.database.prisma, domain, dueAt);
  const observation = await observeDomain(service, domain);
  const diagnosis = await diagnoseDomain(service, domain, observation);
  // If the name points elsewhere, its addresses are not ours to probe.
  const probes =
    diagnosis.verdict === 'right' ? await service.handshakes.probe(domain.hostname) : [];
  const open = await loadOpenEscalation(service.database.prisma, domain.id);
  const quarantine = await service.quarantine.find('renew-certificate', domain.id, service.now());
  const now = service.now();
  const { escalateAfterMs } = service.config;

  const servedUntil = domain.certificateEndsAt?.toISOString() ?? null;
  const evidence = { ...evidenceOf(work, diagnosis, probes), servedUntil };
  const { cause, evidence: known } = settledCause(open, {
    ...evidence,
    quarantine: inJson(quarantine),
  });
  const plan = renewalPlanOf(service, { ...work, forbidden: diagnosis.forbidden }, quarantine);
  const isNew = isWorthATry(open, { cause, evidence }, { now, escalateAfterMs });
  const isRenewed = domain.state.status === 'live';
  const wakes = isRenewed && isNew && mayWake(plan, now);
  const next: NextAttempt | null = isRenewed ? nextAttempt(plan, wakes, now) : null;
  const escalation = toNewEscalation(cause, { ...known, nextAttempt: next });

  const againAt = new Date(now.getTime() + escalateAfterMs);
  const result = await openRenewalEscalation(service.database.prisma, domain, escalation, {
    at: now,
    againAt,
    wakes,
  });
  if (result === 'opened') logEscalation(service, domain, escalation);
}

/** Another run can have renewed it. Null if not served: recheck-live handles expiry. */
function plannedAt({ domain: { state }, usable }: IssueWork): Date | null {
  if (!isServed(state) || usable === null || !usable.issuedAt || !usable.expiresAt) return null;
  return escalateRenewalAt({ issuedAt: usable.issuedAt, expiresAt: usable.expiresAt });
}
