/**
 * Asks CAs when they want their certificates renewed (ACME Renewal Information, RFC 9773). The
 * window can move, even into the past if the CA is about to revoke many certificates.
 * renew-certificate.ts renews.
 * Woken by: the renew-certificate job, after the renewals.
 * Reads: the domains that are due, their certificates.
 * Writes: the window, the new renewal time, and when to ask again.
 * May run twice: taken domains are leased, and an answer belongs to one certificate.
 */

import {
  askRenewal,
  type RenewalInformation,
  type Silence,
} from '../src/certificates/authorities/authority.ts';
import { drawOf, movedRenewalAt, type Renewable } from '../src/core/certificates/renewal.ts';
import {
  askSilentAgainAt,
  askWithoutOpinionAgainAt,
} from '../src/core/certificates/renewal-information.ts';
import type { Certificate } from '../src/core/records.ts';
import { MINUTE } from '../src/core/time.ts';
import {
  type KnownRenewal,
  knownRenewal,
  planRenewal,
  type RenewalPlan,
  renewableOf,
} from '../src/db/issuance/renewals.ts';
import type { Service } from '../src/service/service.ts';
import { done, type JobResult } from './running/job.ts';
import { sweepDue } from './running/sweep.ts';

/** Renewal information is optional: few at once, and after everything else. */
const [batch, atOnce] = [50, 10];
/** A request takes up to 10 s. After a crash, taken domains are due again. */
const lease = { usualMs: 5 * MINUTE, leastMs: 30_000 };
/** Limits the run, because the next renewals wait for it. */
const RUN_MS_MAX = MINUTE;

/**
 * For about a minute; the rest stays due. A CA that fails to answer is skipped for the rest of the
 * run. Rejects if the database or the queue is down.
 */
export async function askRenewals(service: Service, stop: AbortSignal): Promise<JobResult> {
  /** CAs to skip, since each request would take its whole timeout. */
  const away = new Set<Certificate['authority']>();
  const work = (id: string) => askAbout(service, away, id);
  const runEnds = AbortSignal.any([stop, AbortSignal.timeout(RUN_MS_MAX)]);
  await sweepDue(service, 'ask-renewals', { work, batch, lease, atOnce }, runEnds);
  return done;
}

async function askAbout(
  service: Service,
  away: Set<Certificate['authority']>,
  id: string,
): Promise<void> {
  const { authorities, certificates, database, now } = service;
  const work = await certificates.loadWork(id, now());
  const certificate = work?.domain.state.status === 'live' ? work.usable : null;
  const renewable = certificate && renewableOf(certificate);
  if (!work || !certificate || !renewable) return;
  const { authority } = certificate;
  const answer = away.has(authority) ? notAsked : await askRenewal(authorities, certificate);
  if (answer !== null && 'kind' in answer && answer.isAway) away.add(authority);
  const before = knownRenewal(certificate.renewalInfo);
  const plan = planOf(renewable, before, answer, now());
  await planRenewal(database.prisma, work.domain, certificate, plan);
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
