/**
 * pending → verified, or findings and the next check; failed after the window.
 * Woken by: adding a domain, verify, its own schedule, the reconciler.
 * Reads: the domain; the DNS.
 * Writes: findings, state, events, the time of the next check.
 * May run twice: the save succeeds only for the epoch and the attempt that were loaded.
 */

import type { Diagnosis } from '../src/core/diagnosis/diagnosis.ts';
import type { FindingCode } from '../src/core/diagnosis/findings.ts';
import type { Observation, Observed } from '../src/core/diagnosis/observation.ts';
import type { DomainChange } from '../src/core/life/change.ts';
import type { CheckResult, CheckRules } from '../src/core/life/check.ts';
import { decide } from '../src/core/life/decide.ts';
import type { DomainJob } from '../src/core/operations/jobs.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { CheckSave, MoveResult } from '../src/db/domains/transitions.ts';
import type { NewEscalation } from '../src/db/issuance/escalations.ts';
import type { ResolveClaim } from './resolve-claim.ts';
import { done, type JobResult, retryNow } from './running/job.ts';

export type SaveCheckDeps = {
  /** One transaction; fails if the domain was saved since it was loaded. */
  save(check: CheckSave): Promise<MoveResult>;
  readonly resolveClaim: ResolveClaim;
  /** Idempotent. */
  enqueueFollowUps(domain: { id: string; epoch: number }, next: NextWork): Promise<void>;
  countCheck?(check: SavedCheck): void;
  /** With a random jitter. */
  rules(now: Date): CheckRules;
  now(): Date;
};

export type CheckDnsDeps = SaveCheckDeps & {
  /** Undefined if the domain does not exist or was removed. */
  load(domainId: string): Promise<LoadedDomain | undefined>;
  /** A light check where that is enough. */
  observeAgain(domain: LoadedDomain): Promise<Observed>;
  /** For the CAs in use. */
  diagnose(domain: LoadedDomain, observation: Observation): Promise<Diagnosis>;
};

export type NextWork = Pick<DomainChange, 'to' | 'nextCheckAt' | 'escalateAt'>;

export type SavedCheck = Pick<CheckSave, 'domain' | 'outcome' | 'at'> &
  Pick<CheckResult, 'verdict'>;

/** Does nothing for another epoch. Throws if the database, the queue or the observer fails. */
export async function checkDns(deps: CheckDnsDeps, job: DomainJob): Promise<JobResult> {
  const domain = await deps.load(job.domainId);
  if (domain === undefined || domain.epoch !== job.epoch) return done;
  if (domain.state.status !== 'pending') return resumeAfterMove(deps, domain);

  const observed = await deps.observeAgain(domain);
  const result = await diagnosed(deps, domain, observed);
  const outcome = await saveCheck(deps, { domain, observed }, result);
  if (outcome === null) return retryNow(deps.now());
  if (outcome.kind === 'stayed') return again(outcome, deps.now());
  return outcome.to.status === 'failed'
    ? { kind: 'over', reason: `window ended: ${codes(outcome)}` }
    : done;
}

/** The DNS does not show that another project freed the name, or that the plan changed; unknown is never unchanged. */
const alwaysDiagnosed: readonly FindingCode[] = ['held_elsewhere', 'plan_required', 'dns_unknown'];

async function diagnosed(
  deps: CheckDnsDeps,
  domain: LoadedDomain,
  { kind, observation }: Observed,
): Promise<CheckResult> {
  const mayDiffer = domain.findings.some(({ code }) => alwaysDiagnosed.includes(code));
  return kind === 'unchanged' && !mayDiffer
    ? { verdict: 'unchanged' }
    : deps.diagnose(domain, observation);
}

type Seen = Pick<CheckSave, 'domain' | 'observed' | 'provenAgainst'> & {
  /** Of a served domain whose certificate has expired. */
  escalationAtEnd?(): Promise<NewEscalation | undefined>;
};

/** For a domain in any state. Returns null if another save came first and nothing was changed. */
export async function saveCheck(
  deps: SaveCheckDeps,
  { escalationAtEnd, ...seen }: Seen,
  result: CheckResult,
): Promise<DomainChange | null> {
  const { domain, observed } = seen;
  const at = deps.now();
  const outcome = decide(domain, { kind: 'checked', ...result, ...deps.rules(at) }, at);
  const ended = outcome.events.some(({ type }) => type === 'certificate.ended');
  const escalation = ended ? await escalationAtEnd?.() : undefined;
  const saved = await deps.save({ ...seen, outcome, at, ...(escalation && { escalation }) });
  if (saved.kind === 'stale') return null;
  if (saved.kind === 'plan_required') {
    return saveCheck(deps, { domain, observed }, planRequired(domain));
  }
  // Another project holds the name: look up the proof of ownership, then save again.
  if (saved.kind === 'held_elsewhere') {
    const provenAgainst = saved.holderProjectId;
    const claim = await deps.resolveClaim(domain, observed.observation, provenAgainst);
    return claim.kind === 'proven'
      ? saveCheck(deps, { domain, observed, provenAgainst }, result)
      : saveCheck(deps, { domain, observed }, claim.result);
  }
  deps.countCheck?.({ domain, outcome, at, verdict: result.verdict });
  if (saved.lost !== undefined) await deps.enqueueFollowUps(saved.lost, saved.lost.change);
  if (outcome.kind === 'moved') {
    await deps.enqueueFollowUps({ id: domain.id, epoch: saved.epoch }, outcome);
  }
  return outcome;
}

function planRequired({ hostname }: LoadedDomain): CheckResult {
  return { verdict: 'wrong', findings: [{ code: 'plan_required', hostname }] };
}

/** A worker crashed between the save and the follow-up jobs, so this run creates them. */
async function resumeAfterMove(deps: CheckDnsDeps, domain: LoadedDomain): Promise<JobResult> {
  const { state, nextCheckAt, escalateAt } = domain;
  await deps.enqueueFollowUps(domain, { to: state, nextCheckAt, escalateAt });
  return done;
}

function again(outcome: DomainChange, now: Date): JobResult {
  const at = outcome.nextCheckAt ?? now;
  return { kind: 'again', at, note: codes(outcome) };
}

function codes({ findings }: DomainChange): string {
  return findings.map(({ code }) => code).join(', ') || 'nothing found';
}
