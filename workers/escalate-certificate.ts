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

import {
  type EscalationEvidence,
  likeliestCause,
  mayWake,
  nextAttempt,
  type Probe,
} from '../src/core/certificates/escalation.ts';
import type { DiagnosisForAny } from '../src/core/diagnosis/diagnosis.ts';
import { decide } from '../src/core/life/decide.ts';
import { type DomainJob, jobId } from '../src/core/operations/jobs.ts';
import type { Quarantined } from '../src/db/domains/quarantine.ts';
import type { CheckSave } from '../src/db/domains/transitions.ts';
import {
  loadOpenEscalation,
  type NewEscalation,
  type OpenEscalation,
  openEscalation,
} from '../src/db/issuance/escalations.ts';
import type { IssueWork } from '../src/db/issuance/issue-work.ts';
import type { Service } from '../src/service/service.ts';
import { diagnoseDomain, observeDomain } from './checks/observe-domain.ts';
import { checkRules, enqueueFollowUps } from './checks/save-check.ts';
import { chooseFor } from './orders/choose-authority.ts';
import {
  evidenceOf,
  inJson,
  isWorthATry,
  logEscalation,
  settledCause,
  toNewEscalation,
} from './orders/escalation.ts';
import { done, type JobResult, retryNow } from './running/job.ts';

/** Does nothing for another epoch or if the domain is no longer verified. */
export async function escalateCertificate(service: Service, job: DomainJob): Promise<JobResult> {
  const work = await service.certificates.loadWork(job.domainId, service.now());
  if (work === undefined || work.domain.epoch !== job.epoch) return done;
  const { domain } = work;
  if (domain.state.status !== 'verified') return done;
  const { prisma } = service.database;

  const observation = await observeDomain(service, domain);
  const diagnosis = await diagnoseDomain(service, domain, observation);
  // If the name points elsewhere, its addresses are not ours to probe.
  const probes =
    diagnosis.verdict === 'right' ? await service.handshakes.probe(domain.hostname) : [];
  const open = await loadOpenEscalation(prisma, domain.id);
  const now = service.now();
  const change = decide(
    domain,
    { kind: 'checked', ...diagnosis, ...checkRules(service, now) },
    now,
  );
  if (change.kind === 'moved') {
    const observed = { kind: 'observed', observation } as const;
    const check = { domain, observed, change, at: now };
    return goBack(service, check, escalationOf(evidenceOf(work, diagnosis, probes)), open);
  }
  const quarantine = await service.quarantine.find('issue-certificate', jobId(job), now);
  return keepEscalation(service, { work, diagnosis, probes, open, quarantine, now });
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

type Found = {
  readonly work: IssueWork;
  readonly diagnosis: DiagnosisForAny;
  readonly probes: readonly Probe[];
  readonly open: OpenEscalation | null;
  readonly quarantine: Quarantined | null;
  readonly now: Date;
};

/** Tries the order again if the escalation is new or its cause was fixed. */
async function keepEscalation(service: Service, found: Found): Promise<JobResult> {
  const { work, diagnosis, probes, open, quarantine, now } = found;
  const { domain, order } = work;
  const evidence = { ...evidenceOf(work, diagnosis, probes), quarantine: inJson(quarantine) };
  const { cause, evidence: known } = settledCause(open, evidence);
  const plan = {
    hasOrder: order !== null,
    nextCheckAt: domain.nextCheckAt,
    ...chooseFor(service, { ...work, forbidden: diagnosis.forbidden }),
    quarantinedUntil: quarantine?.until ?? null,
  };
  const { escalateAfterMs } = service.config;
  const isNew = isWorthATry(open, { cause, evidence }, { now, escalateAfterMs });
  const wakes = isNew && mayWake(plan, now);
  const escalation = toNewEscalation(cause, {
    ...known,
    nextAttempt: nextAttempt(plan, wakes, now),
  });

  const againAt = new Date(now.getTime() + escalateAfterMs);
  const result = await openEscalation(service.database.prisma, domain, escalation, {
    at: now,
    againAt,
  });
  if (result === 'gone') return done;
  if (result === 'opened') logEscalation(service, domain, escalation);
  if (wakes)
    await service.bringNow('issue-certificate', { domainId: domain.id, epoch: domain.epoch });
  return { kind: 'again', at: againAt, note: `${result}: ${escalation.cause}` };
}

function escalationOf(evidence: EscalationEvidence): NewEscalation {
  return toNewEscalation(likeliestCause(evidence), evidence);
}
