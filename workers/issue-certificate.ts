/**
 * verified → live after a certificate is stored; back to pending if the DNS has changed.
 * Woken by: check-dns, its own schedule (orderWaitsMs), escalate-certificate, the
 * reconciler.
 * Reads: the domain, its open order, the DNS.
 * Writes: each step of the order before the next starts.
 * May run twice: an open order is continued, never duplicated; the certificate belongs to one
 * epoch.
 */

import { plannedRenewalAt } from '../src/core/certificates/renewal.ts';
import type { DomainJob } from '../src/core/operations/jobs.ts';
import type { Certificate } from '../src/core/records.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import { renewableOf } from '../src/db/issuance/renewals.ts';
import type { Service } from '../src/service/service.ts';
import { diagnoseDomain, observeDomain } from './checks/observe-domain.ts';
import { saveCheck } from './checks/save-check.ts';
import { obtain } from './orders/obtain.ts';
import { done, type JobResult, retryNow } from './running/job.ts';

/** A certificate is reused while more than this share of its lifetime is left. */
const reusableShare = 1 / 3;

/** Does nothing for another epoch. If the DNS changed, the domain returns to pending. */
export async function issueCertificate(service: Service, job: DomainJob): Promise<JobResult> {
  const work = await service.certificates.loadWork(job.domainId, service.now());
  if (work === undefined || work.domain.epoch !== job.epoch) return done;
  if (work.domain.state.status !== 'verified') return done;

  const checked = await preflight(service, work.domain);
  if (checked.kind !== 'right') return checked;
  if (work.usable !== null && isReusable(work.usable, service.now())) {
    await service.certificates.reuse(work.domain, work.usable, service.now());
    await service.queues.remove('escalate-certificate', job);
    await service.handshakes.recordServed(work.domain, { isNew: true });
    return done;
  }
  return obtain(service, work, checked.forbidden);
}

/** Orders use up the CA's rate limit, so DNS and CAA are checked right before each. */
async function preflight(
  service: Service,
  domain: LoadedDomain,
): Promise<JobResult | { readonly kind: 'right'; readonly forbidden: readonly number[] }> {
  const observation = await observeDomain(service, domain);
  const now = service.now();
  const diagnosis = await diagnoseDomain(service, domain, observation);
  if (diagnosis.verdict === 'right') return { kind: 'right', forbidden: diagnosis.forbidden };
  const observed = { kind: 'observed', observation } as const;
  const change = await saveCheck(service, { domain, observed }, diagnosis);
  if (change === null) return retryNow(now);
  if (change.kind === 'moved') return done;
  const note = 'could not check whether the DNS is still correct';
  return { kind: 'again', at: change.nextCheckAt ?? now, note };
}

/** An external edge must serve it again first, and the CA can be about to revoke it. */
function isReusable(usable: Certificate, now: Date): boolean {
  const certificate = usable.sealedKey && renewableOf(usable);
  if (certificate === null) return false;
  const { issuedAt, expiresAt, window } = certificate;
  if (window !== null && plannedRenewalAt(certificate, now) <= now) return false;
  const lifetime = expiresAt.getTime() - issuedAt.getTime();
  return (expiresAt.getTime() - now.getTime()) / lifetime > reusableShare;
}
