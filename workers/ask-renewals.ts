/**
 * Asks CAs when they want their certificates renewed (ACME Renewal Information, RFC 9773). The
 * window can move, even into the past if the CA is about to revoke many certificates.
 * renew-certificate.ts renews.
 * Woken by: the renew-certificate job, after the renewals.
 * Reads: the domains that are due, their certificates.
 * Writes: the window, the new renewal time, and when to ask again.
 * May run twice: taken domains are leased, and an answer belongs to one certificate.
 */
import type { RenewalInformation, Silence } from '../src/certificates/authorities/authority.ts';
import {
  askSilentAgainAt,
  askWithoutOpinionAgainAt,
  drawOf,
  movedRenewalAt,
  type Renewable,
} from '../src/core/certificates/plan.ts';
import type { CheckRules } from '../src/core/life/check.ts';
import type { Certificate } from '../src/core/records.ts';
import type { DueDomains } from '../src/db/domains/sweeps.ts';
import type { CertificateStore } from '../src/db/issuance/certificates.ts';
import {
  type KnownRenewal,
  knownRenewal,
  type RenewalPlan,
  type RenewalStore,
  renewableOf,
} from '../src/db/issuance/renewals.ts';
import { done, type JobResult } from './running/job.ts';
import { leaseNow, sweep, type UsualLease } from './running/sweep.ts';

export type AskRenewalsDeps = {
  /** Live domains whose renewal information is due. */
  readonly due: DueDomains;
  readonly loadWork: CertificateStore['loadWork'];
  readonly plan: RenewalStore['plan'];
  /** Null if the CA gives no window or cannot be queried. */
  ask(certificate: Certificate): Promise<RenewalInformation | Silence | null>;
  rules(now: Date): CheckRules;
  now(): Date;
  /** Other domains continue. */
  onFault(fault: unknown, domainId: string): void;
  readonly atOnce: number;
};

const BATCH = 50;
/** A request takes up to 10 s. After a crash, taken domains are due again. */
const LEASE: UsualLease = { usualMs: 5 * 60_000, leastMs: 30_000 };
/** Limits the run, because the next renewals wait for it. */
const TURN_MS = 60_000;

/**
 * For about a minute; the rest stays due. A CA that fails to answer is skipped for the rest of the
 * run. Rejects if the database or the queue is down.
 */
export async function askRenewals(deps: AskRenewalsDeps, stop: AbortSignal): Promise<JobResult> {
  const { due, atOnce, onFault } = deps;
  /** CAs to skip, since each request would take its whole timeout. */
  const away = new Set<Certificate['authority']>();
  const lease = () => leaseNow(deps, LEASE);
  const work = (id: string) => askAbout(deps, away, id);
  const turnEnds = AbortSignal.any([stop, AbortSignal.timeout(TURN_MS)]);
  await sweep({ due, lease, work, onFault, batch: BATCH, atOnce }, turnEnds);
  return done;
}

async function askAbout(
  deps: AskRenewalsDeps,
  away: Set<Certificate['authority']>,
  id: string,
): Promise<void> {
  const work = await deps.loadWork(id, deps.now());
  const certificate = work?.domain.state.status === 'live' ? work.usable : null;
  const renewable = certificate && renewableOf(certificate);
  if (!work || !certificate || !renewable) return;
  const { authority } = certificate;
  const answer = away.has(authority) ? notAsked : await deps.ask(certificate);
  if (answer !== null && 'kind' in answer && answer.isAway) away.add(authority);
  const before = knownRenewal(certificate.renewalInfo);
  await deps.plan(work.domain, certificate, planOf(renewable, before, answer, deps.now()));
}

const notAsked: Silence = { kind: 'silence', retryAfter: null, isAway: true };

function planOf(
  certificate: Renewable,
  before: KnownRenewal,
  answer: RenewalInformation | Silence | null,
  now: Date,
): RenewalPlan {
  if (answer === null) {
    const askAt = askWithoutOpinionAgainAt(now, drawOf(certificate.id));
    return { renewAt: null, askAt, known: { ...before, silentSince: null } };
  }
  if ('kind' in answer) {
    const since = before.silentSince ?? now;
    const silence = { since, retryAfter: answer.retryAfter };
    const askAt = askSilentAgainAt(silence, drawOf(certificate.id), now);
    return { renewAt: null, askAt, known: { ...before, silentSince: since } };
  }
  const { window, explanationUrl, askAgainAt: askAt } = answer;
  const renewAt = movedRenewalAt(certificate, window, now);
  return { renewAt, askAt, known: { window, explanationUrl, silentSince: null } };
}
