/**
 * verified → live once a certificate is stored; back to pending where the DNS has changed meanwhile.
 * Woken by: check-dns, its own plan (0, 1, 11, 100 min, daily), escalate-certificate, the reconciler.
 * Reads: the domain, its open order, the DNS. Writes: each step of the order before the next is taken.
 * May run twice: an open order is continued, never doubled; the certificate holds for one epoch.
 */

import type { OrderResult } from '../src/certificates/authority.ts';
import { mayOrderAt, nextAttemptAt, takeUpAgainAt } from '../src/core/certificate-plan.ts';
import { judgeCheck } from '../src/core/check.ts';
import type { CertificateStore, IssueWork } from '../src/db/certificates.ts';
import type { LoadedDomain } from '../src/db/domain-row.ts';
import type { Certificate } from '../src/db/generated/client.ts';
import type { DomainJob } from '../src/queue/names.ts';
import type { CheckDnsDeps } from './check-dns.ts';
import { afresh, done, type JobResult } from './job.ts';

/** The authority could not be asked or has not finished: the order stays open. */
export type Unavailable = { readonly kind: 'unavailable'; readonly retryAfter: Date | null };

export type IssueCertificateDeps = Omit<CheckDnsDeps, 'load'> & {
  readonly certificates: CertificateStore;
  /** A new P-256 key, sealed for the certificate it belongs to. */
  newKey(): Promise<{ id: string; sealedKey: Uint8Array }>;
  /** Takes the order as far as it goes; stores each step through the callbacks first. */
  advance(certificate: Certificate): Promise<OrderResult | Unavailable>;
  /** Drops the escalation's job, which nobody needs any more. */
  forgetEscalation(domain: DomainJob): Promise<void>;
};

/** A certificate from before is good enough while this much of its life is left. */
const reusableShare = 1 / 3;

/** Obtains the certificate of a verified domain. */
export async function issueCertificate(
  deps: IssueCertificateDeps,
  job: DomainJob,
): Promise<JobResult> {
  const work = await deps.certificates.loadWork(job.domainId, deps.now());
  if (work === undefined || work.domain.epoch !== job.epoch) return done;
  if (work.domain.state.status !== 'verified') return done;

  const obstacle = await preflight(deps, work.domain);
  if (obstacle !== null) return obstacle;
  if (work.usable !== null && lifeLeft(work.usable, deps.now()) > reusableShare) {
    await deps.certificates.reuse(work.domain, deps.now());
    await deps.forgetEscalation(job);
    return done;
  }
  const notBefore = mayOrderAt(work.recentRefusals);
  if (work.order === null && notBefore > deps.now()) {
    return postponed(deps, work.domain, notBefore, 'the authority allows no order yet');
  }
  const order = work.order ?? (await deps.certificates.openOrder(work.domain, await deps.newKey()));
  // Null: removed or verified anew since it was loaded.
  return order === null ? done : conclude(deps, work, order, await deps.advance(order));
}

/** Orders cost the authority's budget: the DNS must be right, and CAA must allow, right before each. */
async function preflight(
  deps: IssueCertificateDeps,
  domain: LoadedDomain,
): Promise<JobResult | null> {
  const observation = await deps.observe(domain);
  const now = deps.now();
  const diagnosis = await deps.diagnose(domain, observation);
  if (diagnosis.verdict === 'right') return null;
  const judged = judgeCheck(domain, diagnosis, deps.rules(now));
  const at = nextAttemptAt(1, now, null);
  // Could not tell: it stays verified, shows what is unknown, and looks again in a minute.
  const outcome = judged.kind === 'stayed' ? { ...judged, nextCheckAt: at } : judged;
  const result = await deps.save({ domain, observation, outcome, at: now });
  if (result.kind !== 'saved') return afresh(now);
  if (outcome.kind === 'stayed') {
    return { kind: 'again', at, note: 'could not tell whether the DNS is still right' };
  }
  await deps.enqueueFollowUps({ id: domain.id, epoch: result.epoch }, outcome);
  return done;
}

async function conclude(
  deps: IssueCertificateDeps,
  { domain, refusals }: IssueWork,
  order: Certificate,
  result: OrderResult | Unavailable,
): Promise<JobResult> {
  const now = deps.now();
  switch (result.kind) {
    case 'issued': {
      const { chain, issuer, notBefore: issuedAt, notAfter: expiresAt } = result;
      await deps.certificates.store(domain, order.id, { chain, issuer, issuedAt, expiresAt }, now);
      await deps.forgetEscalation({ domainId: domain.id, epoch: domain.epoch });
      return done;
    }
    case 'refused': {
      const { type, detail, retryAfter } = result.problem;
      const at = nextAttemptAt(refusals + 1, now, retryAfter);
      const asked = retryAfter === null ? {} : { retryAfter: retryAfter.toISOString() };
      const refusal = { problem: { type, detail, ...asked }, nextAttemptAt: at };
      await deps.certificates.refuse(domain, order.id, refusal, now);
      return { kind: 'again', at, note: `refused: ${type}` };
    }
    case 'unavailable': {
      const since = domain.state.status === 'verified' ? domain.state.verifiedAt : now;
      const at = takeUpAgainAt(since, now, result.retryAfter);
      return postponed(deps, domain, at, 'the authority does not answer, or has not finished');
    }
  }
}

async function postponed(
  deps: IssueCertificateDeps,
  domain: LoadedDomain,
  at: Date,
  note: string,
): Promise<JobResult> {
  await deps.certificates.postpone(domain, at);
  return { kind: 'again', at, note };
}

function lifeLeft({ issuedAt, expiresAt }: Certificate, now: Date): number {
  if (issuedAt === null || expiresAt === null) return 0;
  const life = expiresAt.getTime() - issuedAt.getTime();
  return (expiresAt.getTime() - now.getTime()) / life;
}
