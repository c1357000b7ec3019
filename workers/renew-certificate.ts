/**
 * Renews the certificate of a live domain: when its CA suggests, otherwise with a third of its
 * lifetime left.
 * Woken by: a job that repeats every few seconds.
 * Reads: the domains that are due, the open order, the DNS.
 * Writes: each step of the order, the new certificate, the time of the next renewal. The old
 * certificate is served until then.
 * May run twice: taken domains are leased, an open order is continued, and a finished renewal is no
 * longer due.
 */

import { plannedRenewalAt, renewalCheckAt } from '../src/core/certificates/renewal.ts';
import { MINUTE } from '../src/core/time.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { IssueWork } from '../src/db/issuance/issue-work.ts';
import { renewableOf } from '../src/db/issuance/renewals.ts';
import type { Service } from '../src/service/service.ts';
import { diagnoseDomain, observeDomain } from './checks/observe-domain.ts';
import { saveCheck } from './checks/save-check.ts';
import { escalationAtEnd } from './orders/escalation.ts';
import { obtain } from './orders/obtain.ts';
import { done, type JobResult } from './running/job.ts';
import { sweepDue } from './running/sweep.ts';

/** An order takes seconds, or minutes at a busy CA. A crashed worker delays these. */
const batch = 20;
/** Longer than an order is polled. After a crash, taken domains are due again. */
const lease = { usualMs: 10 * MINUTE, leastMs: MINUTE };
/**
 * Orders mostly wait for the CA. Five per second are needed if a revocation must be handled within a
 * day; this allows ten.
 */
const atOnce = { postgres_redis: 50, postgres: 50, embedded: 10 } as const;
/** During an outage of a CA, the escalations follow after this time. */
const RUN_MS_MAX = 5 * MINUTE;

/** `again` at once if time ran out. Rejects if the database or the queue is down. */
export async function renewCertificate(
  service: Service,
  stop: AbortSignal,
  runMsMax = RUN_MS_MAX,
): Promise<JobResult> {
  const work = (id: string) => renew(service, id);
  const plan = { work, batch, lease, atOnce: atOnce[service.config.storage.kind] };
  const timeout = AbortSignal.timeout(runMsMax);
  await sweepDue(service, 'renew-certificate', plan, AbortSignal.any([stop, timeout]));
  return timeout.aborted ? { kind: 'again', at: service.now(), note: 'more may be due' } : done;
}

async function renew(service: Service, id: string): Promise<void> {
  const work = await service.certificates.loadWork(id, service.now());
  if (work === undefined || work.domain.state.status !== 'live') return;
  const { domain } = work;
  const dueAt = plannedAt(service, work);
  if (dueAt !== null) return void (await service.certificates.postpone(domain, dueAt));
  const forbidden = await checkFirst(service, domain);
  if (forbidden !== null) await obtain(service, work, forbidden);
}

/** Another run can have renewed it, or the CA moved the window. Null: due, or its order is open. */
function plannedAt({ now }: Service, { order, usable }: IssueWork): Date | null {
  const certificate = order === null ? usable && renewableOf(usable) : null;
  const at = certificate && plannedRenewalAt(certificate, now());
  return at && at > now() ? at : null;
}

/**
 * Wrong DNS is saved like any check of a live domain, so the customer sees what blocks the renewal.
 * Null: no order. Otherwise the indexes of the CAs that CAA forbids.
 */
async function checkFirst(
  service: Service,
  domain: LoadedDomain,
): Promise<readonly number[] | null> {
  const observation = await observeDomain(service, domain);
  const diagnosis = await diagnoseDomain(service, domain, observation);
  if (diagnosis.verdict === 'right') return diagnosis.forbidden;
  const atEnd = () => escalationAtEnd(service, domain, diagnosis);
  const observed = { kind: 'observed', observation } as const;
  await saveCheck(service, { domain, observed, escalationAtEnd: atEnd }, diagnosis);
  const now = service.now();
  await service.certificates.postpone(domain, renewalCheckAt(now, service.config.timeScale));
  return null;
}
