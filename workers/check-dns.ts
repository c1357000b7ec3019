/**
 * pending → verified, or findings and the next check; failed after the window.
 * Woken by: adding a domain, verify, its own schedule, the reconciler.
 * Reads: the domain; the DNS.
 * Writes: findings, state, events, the time of the next check.
 * May run twice: the save succeeds only for the epoch and the attempt that were loaded.
 */

import type { FindingCode } from '../src/core/diagnosis/findings.ts';
import type { Observed } from '../src/core/diagnosis/observation.ts';
import type { CheckResult, DomainChange } from '../src/core/life/check.ts';
import type { DomainJob } from '../src/core/operations/jobs.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { Service } from '../src/service/service.ts';
import { diagnoseDomain, observeAgain } from './checks/observe-domain.ts';
import { enqueueFollowUps, saveCheck } from './checks/save-check.ts';
import { done, type JobResult, retryNow } from './running/job.ts';

/** Does nothing for another epoch. Throws if the database, the queue or the observer fails. */
export async function checkDns(service: Service, job: DomainJob): Promise<JobResult> {
  const domain = await service.checks.load(job.domainId);
  if (domain === undefined || domain.epoch !== job.epoch) return done;
  if (domain.state.status !== 'pending') return resumeAfterMove(service, domain);

  const observed = await observeAgain(service, domain);
  const result = await diagnosed(service, domain, observed);
  const change = await saveCheck(service, { domain, observed }, result);
  if (change === null) return retryNow(service.now());
  if (change.kind === 'stayed') return again(change, service.now());
  return change.to.status === 'failed'
    ? { kind: 'over', reason: `window ended: ${codes(change)}` }
    : done;
}

/** What an unchanged observation does not show: proof, another project's release, the plan. Unknown is never unchanged. */
const alwaysDiagnosed: readonly FindingCode[] = [
  'held_elsewhere',
  'ownership_unproven',
  'plan_required',
  'dns_unknown',
];

async function diagnosed(
  service: Service,
  domain: LoadedDomain,
  { kind, observation }: Observed,
): Promise<CheckResult> {
  const mayDiffer = domain.findings.some(({ code }) => alwaysDiagnosed.includes(code));
  return kind === 'unchanged' && !mayDiffer
    ? { verdict: 'unchanged' }
    : diagnoseDomain(service, domain, observation);
}

/** A worker crashed between the save and the follow-up jobs, so this run creates them. */
async function resumeAfterMove(service: Service, domain: LoadedDomain): Promise<JobResult> {
  const { state, nextCheckAt, escalateAt } = domain;
  await enqueueFollowUps(service, domain, { to: state, nextCheckAt, escalateAt });
  return done;
}

function again(change: DomainChange, now: Date): JobResult {
  const at = change.nextCheckAt ?? now;
  return { kind: 'again', at, note: codes(change) };
}

function codes({ findings }: DomainChange): string {
  return findings.map(({ code }) => code).join(', ') || 'nothing found';
}
