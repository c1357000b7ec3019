/**
 * Runs when a domain has been verified for `ESCALATE_AFTER` without a certificate. Automates the
 * manual steps of docs/interface.md: check the DNS and CAA again, try again at once, and keep one open
 * escalation.
 * Woken by: a delayed job from the time of verification, itself while the escalation is open, the
 * reconciler.
 * Reads: the domain, its orders, the DNS, the name's addresses.
 * Writes: the escalation, and the return to pending with it.
 * May run twice: at most one escalation is open, the same cause opens no second one, and saves
 * succeed for one epoch only.
 */

import { likeliestCause } from '../src/core/certificates/escalation.ts';
import { decide } from '../src/core/life/decide.ts';
import { type DomainJob, jobId } from '../src/core/operations/jobs.ts';
import type { CheckSave } from '../src/db/domains/transitions.ts';
import type { NewEscalation, OpenEscalation } from '../src/db/issuance/escalations.ts';
import type { Service } from '../src/service/service.ts';
import { checkRules, enqueueFollowUps } from './checks/save-check.ts';
import { chooseFor } from './orders/choose-authority.ts';
import {
  evidenceOf,
  examineDomain,
  keepEscalation,
  logEscalation,
  toNewEscalation,
} from './orders/escalation.ts';
import { done, type JobResult, retryNow } from './running/job.ts';

/** Does nothing for another epoch or if the domain is no longer verified. */
export async function escalateCertificate(service: Service, job: DomainJob): Promise<JobResult> {
  const work = await service.certificates.loadWork(job.domainId, service.now());
  if (work === undefined || work.domain.epoch !== job.epoch) return done;
  const { domain } = work;
  if (domain.state.status !== 'verified') return done;
  const { observation, diagnosis, probes, open } = await examineDomain(service, domain);
  const now = service.now();
  const evidence = evidenceOf(work, diagnosis, probes);
  const change = decide(
    domain,
    { kind: 'checked', ...diagnosis, ...checkRules(service, now) },
    now,
  );
  if (change.kind === 'moved') {
    const observed = { kind: 'observed', observation } as const;
    const check = { domain, observed, change, at: now };
    return goBack(service, check, toNewEscalation(likeliestCause(evidence), evidence), open);
  }
  const quarantine = await service.quarantine.find('issue-certificate', jobId(job), now);
  const plan = {
    hasOrder: work.order !== null,
    nextCheckAt: domain.nextCheckAt,
    ...chooseFor(service, { ...work, forbidden: diagnosis.forbidden }),
    quarantinedUntil: quarantine?.until ?? null,
  };
  const escalating = { domain, open, evidence, quarantine, plan };
  const { result, cause, wakes, againAt } = await keepEscalation(service, escalating, now);
  if (result === 'gone') return done;
  if (wakes)
    await service.bringNow('issue-certificate', { domainId: domain.id, epoch: domain.epoch });
  return { kind: 'again', at: againAt, note: `${result}: ${cause}` };
}

/** The DNS changed or CAA forbids issuance: one transaction with the escalation. */
async function goBack(
  service: Service,
  check: CheckSave,
  escalation: NewEscalation,
  open: OpenEscalation | null,
): Promise<JobResult> {
  const { domain, change, at } = check;
  const result = await service.checks.save({ ...check, escalation });
  if (result.kind !== 'saved') return retryNow(at);
  if (open?.cause !== escalation.cause) logEscalation(service, domain, escalation);
  await enqueueFollowUps(service, { ...domain, epoch: result.epoch }, change);
  return done;
}
