/**
 * verified → live after a certificate is stored; back to pending if the DNS has changed.
 * Woken by: check-dns, its own schedule (orderWaitsMs), escalate-certificate, the
 * reconciler.
 * Reads: the domain, its open order, the DNS.
 * Writes: each step of the order before the next starts.
 * May run twice: an open order is continued, never duplicated; the certificate belongs to one
 * epoch.
 */

import type { OrderResult } from '../src/certificates/authorities/authority.ts';
import type { RecordServedCertificate } from '../src/certificates/served/served-certificate.ts';
import { plannedRenewalAt, renewalCheckAt } from '../src/core/certificates/plan.ts';
import type { DiagnosisForAny } from '../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../src/core/diagnosis/observation.ts';
import type { DomainJob } from '../src/core/operations/jobs.ts';
import type { Certificate } from '../src/core/records.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { CertificateStore } from '../src/db/issuance/certificates.ts';
import type { IssueWork, Setback } from '../src/db/issuance/issue-work.ts';
import { renewableOf } from '../src/db/issuance/renewals.ts';
import { type SaveCheckDeps, saveCheck } from './check-dns.ts';
import {
  afterRefusal,
  afterSetback,
  type OrderWork,
  type TakeUpDeps,
  takeUp,
} from './orders/choose-authority.ts';
import { done, type JobResult, retryNow } from './running/job.ts';

/** The order stays open. `detail`: one line, for a person. */
export type Unavailable = {
  readonly kind: 'unavailable';
  /** From Retry-After. */
  readonly retryAfter: Date | null;
  readonly detail: string;
  /** The CA did answer, but is slow or busy. */
  readonly answered?: true;
};

export type IssueCertificateDeps = SaveCheckDeps &
  TakeUpDeps & {
    observe(domain: LoadedDomain): Promise<Observation>;
    /** For every CA in use. `forbidden`: indexes of the CAs that CAA forbids. */
    diagnose(domain: LoadedDomain, observation: Observation): Promise<DiagnosisForAny>;
    readonly certificates: CertificateStore;
    /** Stores each step through the callbacks first. `predecessor`: the certificate to replace. */
    advance(
      order: Certificate,
      predecessor: Certificate | null,
    ): Promise<OrderResult | Unavailable>;
    /** With an external edge, `advance` does this. */
    readonly recordServedCertificate: RecordServedCertificate;
    forgetEscalation(domain: DomainJob): Promise<void>;
  };

export type ObtainDeps = TakeUpDeps &
  Pick<
    IssueCertificateDeps,
    'certificates' | 'advance' | 'recordServedCertificate' | 'forgetEscalation'
  >;

/** A certificate is reused while more than this share of its lifetime is left. */
const reusableShare = 1 / 3;

/** Does nothing for another epoch. If the DNS changed, the domain returns to pending. */
export async function issueCertificate(
  deps: IssueCertificateDeps,
  job: DomainJob,
): Promise<JobResult> {
  const work = await deps.certificates.loadWork(job.domainId, deps.now());
  if (work === undefined || work.domain.epoch !== job.epoch) return done;
  if (work.domain.state.status !== 'verified') return done;

  const checked = await preflight(deps, work.domain);
  if (checked.kind !== 'right') return checked;
  if (work.usable !== null && isReusable(work.usable, deps.now())) {
    await deps.certificates.reuse(work.domain, work.usable, deps.now());
    await deps.forgetEscalation(job);
    await deps.recordServedCertificate(work.domain);
    return done;
  }
  return obtain(deps, work, checked.forbidden);
}

/** Orders use up the CA's rate limit, so DNS and CAA are checked right before each. */
async function preflight(
  deps: IssueCertificateDeps,
  domain: LoadedDomain,
): Promise<JobResult | { readonly kind: 'right'; readonly forbidden: readonly number[] }> {
  const observation = await deps.observe(domain);
  const now = deps.now();
  const diagnosis = await deps.diagnose(domain, observation);
  if (diagnosis.verdict === 'right') return { kind: 'right', forbidden: diagnosis.forbidden };
  const observed = { kind: 'observed', observation } as const;
  const outcome = await saveCheck(deps, { domain, observed }, diagnosis);
  if (outcome === null) return retryNow(now);
  if (outcome.kind === 'moved') return done;
  const note = 'could not check whether the DNS is still correct';
  return { kind: 'again', at: outcome.nextCheckAt ?? now, note };
}

/**
 * Stores every result, with the time of the next attempt. `forbidden`: indexes of the CAs that CAA
 * forbids. Idempotent: an open order is never duplicated.
 */
export async function obtain(
  deps: ObtainDeps,
  loaded: IssueWork,
  forbidden: readonly number[],
): Promise<JobResult> {
  const work = { ...loaded, forbidden };
  const order = await takeUp(deps, work);
  // The domain was removed or verified again since it was loaded.
  if (order === null) return done;
  if ('until' in order) {
    return postponed(deps, work.domain, order.until, order.note);
  }
  const result = await deps.advance(order, work.usable);
  return conclude(deps, work, order, asNewCertificate(deps, work, order, result));
}

async function conclude(
  deps: ObtainDeps,
  work: OrderWork,
  order: Certificate,
  result: OrderResult | Unavailable,
): Promise<JobResult> {
  const now = deps.now();
  const { domain } = work;
  switch (result.kind) {
    case 'issued': {
      const { chain, issuer, notBefore: issuedAt, notAfter: expiresAt } = result;
      const certificate = { chain, issuer, issuedAt, expiresAt };
      // Another run shares the order; this domain can use what it stored.
      if (!(await deps.certificates.store(domain, order.id, certificate, now)))
        return retryNow(now);
      const job = { domainId: domain.id, epoch: domain.epoch };
      if (domain.state.status === 'verified') await deps.forgetEscalation(job);
      await deps.recordServedCertificate(domain);
      return done;
    }
    case 'refused': {
      const { type, detail, retryAfter } = result.problem;
      const at = afterRefusal(deps, work, order, { type, at: now, retryAfter });
      const asked = retryAfter === null ? {} : { retryAfter: retryAfter.toISOString() };
      const refusal = { problem: { type, detail, ...asked }, nextAttemptAt: at };
      const { isPlanned } = await deps.certificates.refuse(domain, order.id, refusal, now);
      return isPlanned ? { kind: 'again', at, note: `refused: ${type}` } : retryNow(now);
    }
    case 'unavailable': {
      const setback = setbackOf(work, order, result, now);
      await deps.certificates.setBack(order.id, setback);
      const at = afterSetback(deps, work, order, setback);
      return postponed(deps, domain, at, `not issued yet: ${result.detail}`);
    }
  }
}

/** A slow CA does not extend an earlier outage. */
function setbackOf(work: OrderWork, order: Certificate, result: Unavailable, at: Date): Setback {
  const { detail, retryAfter } = result;
  const answered = result.answered === true;
  const before = order.id === work.order?.id ? work.setback : null;
  const since = before?.answered === answered ? before.since : at;
  return { at, since, answered, detail, retryAfter };
}

/** An external edge renews on its own schedule: the old certificate is not a result. */
function asNewCertificate(
  { now, rules }: ObtainDeps,
  { domain, usable }: IssueWork,
  order: Certificate,
  result: OrderResult | Unavailable,
): OrderResult | Unavailable {
  const isRenewal = order.sealedKey === null && domain.state.status !== 'verified';
  if (!isRenewal || result.kind !== 'issued' || !usable?.expiresAt) return result;
  if (result.notAfter > usable.expiresAt) return result;
  const at = now();
  const detail = `the certificate that expires at ${result.notAfter.toISOString()} is still served`;
  const retryAfter = renewalCheckAt(at, rules(at).timeScale);
  return { kind: 'unavailable', detail, retryAfter, answered: true };
}

/** Runs again at once if `verify` was requested in the meantime. */
async function postponed(
  { certificates, now }: ObtainDeps,
  domain: LoadedDomain,
  at: Date,
  note: string,
): Promise<JobResult> {
  const isPlanned = await certificates.postpone(domain, at);
  return isPlanned ? { kind: 'again', at, note } : retryNow(now());
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
