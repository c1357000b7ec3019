/**
 * pending → verified, or findings and the next check; failed once the window is over.
 * Woken by: adding a domain, verify, its own ladder, the reconciler.
 * Reads: the domain; the DNS. Writes: findings, state, events, the time of the next check.
 * May run twice: the save holds only for the epoch and the attempt that were loaded.
 */

import { asksForProof } from '../src/core/diagnosis/claims.ts';
import type { Diagnosis } from '../src/core/diagnosis/diagnosis.ts';
import type { Finding } from '../src/core/diagnosis/findings.ts';
import type { Observation } from '../src/core/diagnosis/observation.ts';
import type { Change } from '../src/core/life/change.ts';
import { type CheckResult, type CheckRules, decideCheck } from '../src/core/life/check.ts';
import type { DomainJob } from '../src/core/operations/jobs.ts';
import type { CheckSave } from '../src/db/domains/checks.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { MoveResult } from '../src/db/domains/transitions.ts';
import type { NewEscalation } from '../src/db/issuance/escalations.ts';
import type { ResolveClaim } from './resolve-claim.ts';
import { done, type JobResult, retryNow } from './running/job.ts';

/** What saving a check of a domain in any state needs of the process that it runs in. */
export type SaveCheckDeps = {
  /** Writes a check in one transaction, unless somebody saved since the domain was loaded. */
  save(check: CheckSave): Promise<MoveResult>;
  /** Asks the DNS whether a name is this claim's where its addresses do not say so. */
  readonly resolveClaim: ResolveClaim;
  /** Makes sure that the jobs of the domain's present state exist; may be called again. */
  enqueueFollowUps(
    domain: { id: string; projectId: string; epoch: number },
    next: NextWork,
  ): Promise<void>;
  /** Whether the watch sees whatever could make a name right; missing: nobody watches between checks. */
  isCovered?(observation: Observation, findings: readonly Finding[]): boolean;
  /** Called with every check that was saved, for the metrics. */
  countCheck?(check: SavedCheck): void;
  /** The rules of a check at this time, with a jitter drawn for it. */
  rules(now: Date): CheckRules;
  now(): Date;
};

/** What a check needs of the process that it runs in. */
export type CheckDnsDeps = SaveCheckDeps & {
  /** Undefined where there is no such domain, or it was removed. */
  load(domainId: string): Promise<LoadedDomain | undefined>;
  /** Where a few questions find the loaded observation unchanged, that very object may be the result. */
  observe(domain: LoadedDomain): Promise<Observation>;
  /** What the observation means, for the authorities that may issue. */
  diagnose(domain: LoadedDomain, observation: Observation): Promise<Diagnosis>;
};

/** The part of a change that the domain's jobs follow from. */
export type NextWork = Pick<Change, 'to' | 'nextCheckAt' | 'escalateAt'>;

/** A check that was saved, and its verdict. */
export type SavedCheck = Pick<CheckSave, 'domain' | 'observation' | 'outcome' | 'at'> &
  Pick<Diagnosis, 'verdict'>;

/**
 * Checks the DNS of a pending domain once, and answers when the job runs next. Does nothing where the job is of another
 * epoch. Faults of the database, the queue and the observer are thrown.
 */
export async function checkDns(deps: CheckDnsDeps, job: DomainJob): Promise<JobResult> {
  const domain = await deps.load(job.domainId);
  if (domain === undefined || domain.epoch !== job.epoch) return done;
  if (domain.state.status !== 'pending') return resumeAfterMove(deps, domain);

  const observation = await deps.observe(domain);
  const result = await diagnosed(deps, domain, observation);
  const outcome = await saveCheck(deps, { domain, observation }, result);
  if (outcome === null) return retryNow(deps.now());
  if (outcome.kind === 'stayed') return again(domain, outcome, deps.now());
  return outcome.to.status === 'failed'
    ? { kind: 'over', reason: `window ended: ${codes(outcome)}` }
    : done;
}

/**
 * Most checks find everything as it was and give back what was loaded: what it means has been said, and moves nothing.
 * But the TXT record may be there by now, or a rival gone, and a claim that no check has placed yet is placed by the next.
 */
async function diagnosed(
  deps: CheckDnsDeps,
  domain: LoadedDomain,
  observation: Observation,
): Promise<CheckResult> {
  const isSaid = domain.arrival !== null && !domain.findings.some(asksForProof);
  return observation === domain.observation && isSaid
    ? { verdict: 'unknown', findings: domain.findings }
    : deps.diagnose(domain, observation);
}

/** An observation that is to be saved. */
type Seen = Pick<CheckSave, 'domain' | 'observation' | 'proven'> & {
  /** Of a domain that is served: its escalation, should its certificate have expired. */
  escalationAtEnd?(): Promise<NewEscalation | undefined>;
};

/**
 * Decides and saves a check of a domain in any state, and makes sure of the jobs that follow from it. Returns what came
 * of it, or null where somebody else saved first and nothing was changed.
 */
export async function saveCheck(
  deps: SaveCheckDeps,
  { escalationAtEnd, ...seen }: Seen,
  result: CheckResult,
): Promise<Change | null> {
  const { domain, observation } = seen;
  const at = deps.now();
  const isCovered = deps.isCovered?.(observation, result.findings) ?? false;
  const outcome = decideCheck(domain, { ...result, isCovered }, deps.rules(at));
  const ended = outcome.events.some(({ type }) => type === 'certificate.ended');
  const escalation = ended ? await escalationAtEnd?.() : undefined;
  const saved = await deps.save({ ...seen, outcome, at, ...(escalation && { escalation }) });
  if (saved.kind === 'stale') return null;
  // The DNS is asked whose the name is, and the check is saved again with the answer.
  if (saved.kind === 'proof_needed') {
    const claim = await deps.resolveClaim(domain, observation, saved);
    return claim.kind === 'proven'
      ? saveCheck(deps, { domain, observation, proven: { against: saved.rival } }, result)
      : saveCheck(deps, { domain, observation }, claim.result);
  }
  deps.countCheck?.({ domain, observation, outcome, at, verdict: result.verdict });
  if (saved.lost !== undefined) await deps.enqueueFollowUps(saved.lost, saved.lost.change);
  if (outcome.kind === 'moved') {
    const { id, projectId } = domain;
    await deps.enqueueFollowUps({ id, projectId, epoch: saved.epoch }, outcome);
  }
  return outcome;
}

/** A worker died between the save and the follow-up: this run adds the jobs that are missing. */
async function resumeAfterMove(deps: CheckDnsDeps, domain: LoadedDomain): Promise<JobResult> {
  const { state, nextCheckAt, escalateAt } = domain;
  await deps.enqueueFollowUps(domain, { to: state, nextCheckAt, escalateAt });
  return done;
}

function again({ projectId: owner }: LoadedDomain, outcome: Change, now: Date): JobResult {
  const at = outcome.nextCheckAt ?? now;
  return { kind: 'again', at, note: codes(outcome), owner };
}

function codes({ findings }: Change): string {
  return findings.map(({ code }) => code).join(', ') || 'nothing found';
}
