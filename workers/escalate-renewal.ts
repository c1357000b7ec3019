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

import { escalateRenewalAt } from '../src/core/certificates/renewal.ts';
import { isServed } from '../src/core/life/lifecycle.ts';
import { MINUTE } from '../src/core/time.ts';
import { postponeRenewalEscalation } from '../src/db/issuance/escalations.ts';
import type { IssueWork } from '../src/db/issuance/issue-work.ts';
import type { Service } from '../src/service/service.ts';
import { evidenceOf, examineDomain, keepEscalation, renewalPlanOf } from './orders/escalation.ts';
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
  const { diagnosis, probes, open } = await examineDomain(service, domain);
  const now = service.now();
  const quarantine = await service.quarantine.find('renew-certificate', domain.id, now);
  const servedUntil = domain.certificateEndsAt?.toISOString() ?? null;
  const evidence = { ...evidenceOf(work, diagnosis, probes), servedUntil };
  const isRenewed = domain.state.status === 'live';
  const { forbidden } = diagnosis;
  const plan = isRenewed ? renewalPlanOf(service, { ...work, forbidden }, quarantine) : null;
  await keepEscalation(service, { domain, open, evidence, quarantine, plan }, now);
}

/** Another run can have renewed it. Null if not served: recheck-live handles expiry. */
function plannedAt({ domain: { state }, usable }: IssueWork): Date | null {
  if (!isServed(state) || usable === null || !usable.issuedAt || !usable.expiresAt) return null;
  return escalateRenewalAt({ issuedAt: usable.issuedAt, expiresAt: usable.expiresAt });
}
