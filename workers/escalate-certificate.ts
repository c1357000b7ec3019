/**
 * verified for 30 minutes without a certificate: what the interface document tells a person to do, done here.
 * Does the domain still verify? Does a CAA record forbid? Then a new attempt at once, and one open case.
 * Woken by: a delayed job from the moment of verification, the reconciler.
 * May run twice: one case is open at most, and only for a domain that is still verified in this epoch.
 */

import { judgeCheck } from '../src/core/check.ts';
import { escalationCause } from '../src/core/escalation.ts';
import type { IssueWork } from '../src/db/certificates.ts';
import type { NewEscalation } from '../src/db/escalations.ts';
import type { DomainJob } from '../src/queue/names.ts';
import type { CheckDnsDeps } from './check-dns.ts';
import type { JobResult } from './job.ts';
import { afresh, done } from './job.ts';

export type EscalateCertificateDeps = Omit<CheckDnsDeps, 'load'> & {
  loadWork(domainId: string, now: Date): Promise<IssueWork | undefined>;
  openEscalation(
    domain: { id: string; epoch: number },
    escalation: NewEscalation,
    at: Date,
  ): Promise<boolean>;
  /** Wakes the domain's issue-certificate job now. */
  attemptNow(job: DomainJob): Promise<void>;
};

/** Opens the case of a domain that still has no certificate. */
export async function escalateCertificate(
  deps: EscalateCertificateDeps,
  job: DomainJob,
): Promise<JobResult> {
  const work = await deps.loadWork(job.domainId, deps.now());
  if (work === undefined || work.domain.epoch !== job.epoch) return done;
  const { domain } = work;
  if (domain.state.status !== 'verified') return done;

  const observation = await deps.observe(domain);
  const now = deps.now();
  const diagnosis = await deps.diagnose(domain, observation);
  const outcome = judgeCheck(domain, diagnosis, deps.rules(now));
  if (outcome.kind === 'moved') {
    // The DNS has changed: that is the customer's finding, not an operator's case.
    const result = await deps.save({ domain, observation, outcome, at: now });
    if (result.kind !== 'saved') return afresh(now);
    await deps.enqueueFollowUps({ id: domain.id, epoch: result.epoch }, outcome);
    return done;
  }
  const { lastProblem: problem, refusals } = work;
  const { cause, nextAction } = escalationCause(diagnosis, problem);
  const evidence = { findings: [...diagnosis.findings], problem, refusals };
  await deps.openEscalation(domain, { cause, nextAction, evidence }, now);
  // Also where the case was open already: a worker may have died in between. Waking costs no order that the
  // authority does not allow (mayOrderAt).
  await deps.attemptNow(job);
  return done;
}
