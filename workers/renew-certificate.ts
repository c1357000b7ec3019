/**
 * The next certificate of a live domain: when the authority wants it, else a third of its life before the served one
 * expires.
 * Woken by: a job that comes again every few seconds. Reads: what is due, the open order, the DNS. Writes: each step of
 * the order, the new certificate beside the old one, which is served until then; the time of the next renewal.
 * May run twice: what is taken is leased, an open order is continued, and a renewal that has been made is not due.
 */
import { plannedRenewalAt, renewalCheckAt } from '../src/core/certificates/plan.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { DueDomains } from '../src/db/domains/sweeps.ts';
import type { IssueWork } from '../src/db/issuance/issue-work.ts';
import { renewableOf } from '../src/db/issuance/renewals.ts';
import { saveCheck } from './check-dns.ts';
import { type IssueCertificateDeps, obtain } from './issue-certificate.ts';
import type { RecheckLiveDeps } from './recheck-live.ts';
import { done, type JobResult } from './running/job.ts';
import { leaseNow, sweep, type UsualLease } from './running/sweep.ts';

/** What renewals need of the process that they run in. */
export type RenewCertificateDeps = Pick<RecheckLiveDeps, 'escalationAtEnd'> & {
  /** What the check before the order and the order itself need, as for a first certificate. */
  readonly issue: IssueCertificateDeps;
  /** Live domains whose renewal is due. */
  readonly due: DueDomains;
  /** Called with a fault at one domain, which stops no other. */
  onFault(fault: unknown, domainId: string): void;
  /** How many orders are under way at a time. */
  readonly atOnce: number;
  /** How long a turn takes at most; five minutes unless given. */
  readonly turnMs?: number;
};

/**
 * An order takes seconds, and minutes at an authority that is busy; a worker that is killed delays these and those under
 * way.
 */
const BATCH = 20;
/** Longer than an order is followed for; what a dead worker took is continued after this. */
const LEASE: UsualLease = { usualMs: 10 * 60_000, leastMs: 60_000 };
/**
 * While an authority is away there may be no end of what is due: after this the escalations have their turn
 * (workers/escalate-renewal.ts), and the renewals the next one. Our choice.
 */
const TURN_MS = 5 * 60_000;

/**
 * Renews every certificate that is due, for one turn. Answers `again` at once where the turn was too short, else `done`.
 * Rejects where the database or the queue is away.
 */
export async function renewCertificate(
  deps: RenewCertificateDeps,
  stop: AbortSignal,
): Promise<JobResult> {
  const { issue, due, atOnce, onFault, turnMs = TURN_MS } = deps;
  const lease = () => leaseNow(issue, LEASE);
  const work = (id: string) => renew(deps, id);
  const turn = AbortSignal.timeout(turnMs);
  await sweep({ due, lease, work, onFault, batch: BATCH, atOnce }, AbortSignal.any([stop, turn]));
  return turn.aborted ? { kind: 'again', at: issue.now(), note: 'more may be due' } : done;
}

async function renew(deps: RenewCertificateDeps, id: string): Promise<void> {
  const { issue } = deps;
  const work = await issue.certificates.loadWork(id, issue.now());
  if (work === undefined || work.domain.state.status !== 'live') return;
  const { domain } = work;
  const dueAt = plannedAt(issue, work);
  if (dueAt !== null) return void (await issue.certificates.postpone(domain, dueAt));
  const forbidden = await checkFirst(deps, domain);
  if (forbidden !== null) await obtain(issue, work, forbidden);
}

/**
 * When the renewal is due. Another run may have renewed it while this one's lease was over, or the authority wants it
 * later by now: then that time is to come. Null: it is due, or its order is open.
 */
function plannedAt({ now }: IssueCertificateDeps, { order, usable }: IssueWork): Date | null {
  const certificate = order === null ? usable && renewableOf(usable) : null;
  const at = certificate && plannedRenewalAt(certificate, now());
  return at && at > now() ? at : null;
}

/**
 * The check before the order. Where the DNS is not right, it counts as any check of a live domain, so that the customer
 * sees what keeps the next certificate back, and no order is placed: null. Else the places of the authorities that CAA
 * forbids.
 */
async function checkFirst(
  { issue, escalationAtEnd: escalate }: RenewCertificateDeps,
  domain: LoadedDomain,
): Promise<readonly number[] | null> {
  const observation = await issue.observe(domain);
  const diagnosis = await issue.diagnose(domain, observation);
  if (diagnosis.verdict === 'right') return diagnosis.forbidden;
  const escalationAtEnd = () => escalate(domain, diagnosis);
  await saveCheck(issue, { domain, observation, escalationAtEnd }, diagnosis);
  const now = issue.now();
  await issue.certificates.postpone(domain, renewalCheckAt(now, issue.rules(now).windowMs));
  return null;
}
