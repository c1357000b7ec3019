/**
 * Asks the authorities when they want their certificates renewed (RFC 9773): the window may move, and into the past
 * where many certificates are about to be revoked. The renewal itself is renew-certificate's.
 * Woken by: the renewals' own job, after them. Reads: what is due to be asked about, the certificate. Writes: the
 * window, the time of the renewal that comes of it, and when to ask again.
 * May run twice: what is taken is leased, and an answer is for one certificate.
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

/** What asking needs of the process that it runs in. */
export type AskRenewalsDeps = {
  /** Live domains whose certificate is due to be asked about. */
  readonly due: DueDomains;
  readonly loadWork: CertificateStore['loadWork'];
  /** Stores what came of the question, for this certificate alone. */
  readonly plan: RenewalStore['plan'];
  /** Asks the authority of this certificate; null where that has no opinion on it, or nobody can be asked. */
  ask(certificate: Certificate): Promise<RenewalInformation | Silence | null>;
  rules(now: Date): CheckRules;
  now(): Date;
  /** Called with a fault at one domain, which stops no other. */
  onFault(fault: unknown, domainId: string): void;
  /** How many questions are under way at a time. */
  readonly atOnce: number;
};

const BATCH = 50;
/** A question takes a second, and 10 where nobody answers; what a dead worker took is due again after this. */
const LEASE: UsualLease = { usualMs: 5 * 60_000, leastMs: 30_000 };
/** The next turn of the renewals waits until this one is over. Our choice. */
const TURN_MS = 60_000;

/**
 * Asks about every certificate that is due, for about a minute; what is left stays due. An authority that gives no
 * answer at all is left alone for the rest of the turn. Rejects where the database or the queue is away.
 */
export async function askRenewals(deps: AskRenewalsDeps, stop: AbortSignal): Promise<JobResult> {
  const { due, atOnce, onFault } = deps;
  /** Authorities to leave alone for the rest of the turn: each question would take its whole timeout. */
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

/** Planned like a question without an answer, for those that were left alone. */
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
