/**
 * Runs when a domain has been verified for 30 minutes without a certificate. Automates the manual
 * steps of docs/interface.md: check the DNS and CAA again, try again at once, and keep one
 * open escalation.
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
import type { DomainJob } from '../src/core/operations/jobs.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { Quarantined } from '../src/db/domains/quarantine.ts';
import type { CheckSave } from '../src/db/domains/transitions.ts';
import type { NewEscalation, OpenEscalation, OpenResult } from '../src/db/issuance/escalations.ts';
import type { IssueWork } from '../src/db/issuance/issue-work.ts';
import type { IssueCertificateDeps } from './issue-certificate.ts';
import { type ChoiceDeps, chooseFor } from './orders/choose-authority.ts';
import {
  evidenceOf,
  inJson,
  isWorthATry,
  settledCause,
  toNewEscalation,
} from './orders/escalation-evidence.ts';
import type { JobResult } from './running/job.ts';
import { done, retryNow } from './running/job.ts';

type EvidenceDeps = ChoiceDeps &
  Pick<IssueCertificateDeps, 'observe' | 'diagnose' | 'save' | 'enqueueFollowUps'>;

export type EscalateCertificateDeps = EvidenceDeps & {
  loadWork(domainId: string, now: Date): Promise<IssueWork | undefined>;
  loadOpen(domainId: string): Promise<OpenEscalation | null>;
  /** Empty for the local CA, which makes no requests. */
  probe(hostname: string): Promise<readonly Probe[]>;
  /** Stores when it is checked next, too. */
  openEscalation(
    domain: { id: string; epoch: number },
    escalation: NewEscalation,
    times: { at: Date; againAt: Date },
  ): Promise<OpenResult>;
  /** Of the issue-certificate job; null if it is not quarantined. */
  findQuarantine(job: DomainJob): Promise<Quarantined | null>;
  /** Runs the issue-certificate job now, even if it is missing or quarantined. */
  attemptNow(job: DomainJob): Promise<void>;
  logEscalation(domain: LoadedDomain, escalation: NewEscalation): void;
};

/** Does nothing for another epoch or if the domain is no longer verified. */
export async function escalateCertificate(
  deps: EscalateCertificateDeps,
  job: DomainJob,
): Promise<JobResult> {
  const work = await deps.loadWork(job.domainId, deps.now());
  if (work === undefined || work.domain.epoch !== job.epoch) return done;
  const { domain } = work;
  if (domain.state.status !== 'verified') return done;

  const observation = await deps.observe(domain);
  const diagnosis = await deps.diagnose(domain, observation);
  // If the name points elsewhere, its addresses are not ours to probe.
  const probes = diagnosis.verdict === 'right' ? await deps.probe(domain.hostname) : [];
  const open = await deps.loadOpen(domain.id);
  const now = deps.now();
  const outcome = decide(domain, { kind: 'checked', ...diagnosis, ...deps.rules(now) }, now);
  if (outcome.kind === 'moved') {
    const observed = { kind: 'observed', observation } as const;
    const check = { domain, observed, outcome, at: now };
    return goBack(deps, check, escalationOf(evidenceOf(work, diagnosis, probes)), open);
  }
  const quarantine = await deps.findQuarantine(job);
  return keepEscalation(deps, { work, diagnosis, probes, open, quarantine, now });
}

/** The DNS changed or CAA forbids issuance: one transaction with the escalation. */
async function goBack(
  deps: EscalateCertificateDeps,
  check: CheckSave,
  escalation: NewEscalation,
  open: OpenEscalation | null,
): Promise<JobResult> {
  const { domain, outcome, at } = check;
  const result = await deps.save({ ...check, escalation });
  if (result.kind !== 'saved') return retryNow(at);
  if (open?.cause !== escalation.cause) deps.logEscalation(domain, escalation);
  await deps.enqueueFollowUps({ id: domain.id, epoch: result.epoch }, outcome);
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
async function keepEscalation(deps: EscalateCertificateDeps, found: Found): Promise<JobResult> {
  const { work, diagnosis, probes, open, quarantine, now } = found;
  const { domain, order } = work;
  const evidence = { ...evidenceOf(work, diagnosis, probes), quarantine: inJson(quarantine) };
  const { cause, evidence: known } = settledCause(open, evidence);
  const plan = {
    hasOrder: order !== null,
    nextCheckAt: domain.nextCheckAt,
    ...chooseFor(deps, { ...work, forbidden: diagnosis.forbidden }),
    setAsideUntil: quarantine?.until ?? null,
  };
  const { escalateAfterMs } = deps.rules(now);
  const isNew = isWorthATry(open, { cause, evidence }, { now, escalateAfterMs });
  const wakes = isNew && mayWake(plan, now);
  const escalation = toNewEscalation(cause, {
    ...known,
    nextAttempt: nextAttempt(plan, wakes, now),
  });

  const againAt = new Date(now.getTime() + escalateAfterMs);
  const result = await deps.openEscalation(domain, escalation, { at: now, againAt });
  if (result === 'gone') return done;
  if (result === 'opened') deps.logEscalation(domain, escalation);
  if (wakes) await deps.attemptNow({ domainId: domain.id, epoch: domain.epoch });
  return { kind: 'again', at: againAt, note: `${result}: ${escalation.cause}` };
}

function escalationOf(evidence: EscalationEvidence): NewEscalation {
  return toNewEscalation(likeliestCause(evidence), evidence);
}
