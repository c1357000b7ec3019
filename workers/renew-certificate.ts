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

export type RenewCertificateDeps = Pick<RecheckLiveDeps, 'escalationAtEnd'> & {
  readonly issue: IssueCertificateDeps;
  /** Live domains whose renewal is due. */
  readonly due: DueDomains;
  /** Other domains continue. */
  onFault(fault: unknown, domainId: string): void;
  readonly atOnce: number;
  readonly turnMs?: number;
};

/** An order takes seconds, or minutes at a busy CA. A crashed worker delays these. */
const BATCH = 20;
/** Longer than an order is polled. After a crash, taken domains are due again. */
const LEASE: UsualLease = { usualMs: 10 * 60_000, leastMs: 60_000 };
/** During an outage of a CA, the escalations follow after this time. */
const TURN_MS = 5 * 60_000;

/** `again` at once if time ran out. Rejects if the database or the queue is down. */
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

/** Another run can have renewed it, or the CA moved the window. Null: due, or its order is open. */
function plannedAt({ now }: IssueCertificateDeps, { order, usable }: IssueWork): Date | null {
  const certificate = order === null ? usable && renewableOf(usable) : null;
  const at = certificate && plannedRenewalAt(certificate, now());
  return at && at > now() ? at : null;
}

/**
 * Wrong DNS is saved like any check of a live domain, so the customer sees what blocks the renewal.
 * Null: no order. Otherwise the indexes of the CAs that CAA forbids.
 */
async function checkFirst(
  { issue, escalationAtEnd: escalate }: RenewCertificateDeps,
  domain: LoadedDomain,
): Promise<readonly number[] | null> {
  const observation = await issue.observe(domain);
  const diagnosis = await issue.diagnose(domain, observation);
  if (diagnosis.verdict === 'right') return diagnosis.forbidden;
  const escalationAtEnd = () => escalate(domain, diagnosis);
  const observed = { kind: 'observed', observation } as const;
  await saveCheck(issue, { domain, observed, escalationAtEnd }, diagnosis);
  const now = issue.now();
  await issue.certificates.postpone(domain, renewalCheckAt(now, issue.rules(now).timeScale));
  return null;
}
