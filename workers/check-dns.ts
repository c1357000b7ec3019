/**
 * pending → verified, or findings and the next look; failed when the window has ended.
 * Woken by: adding a domain, verify, its own ladder, the reconciler.
 * Reads: the domain; the DNS. Writes: findings, state, events, the time of the next look.
 * May run twice: the save holds only for the epoch and the attempt that were loaded.
 */
import { type CheckOutcome, type CheckRules, judgeCheck } from '../src/core/check.ts';
import type { Diagnosis } from '../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../src/core/observation.ts';
import type { CheckSave } from '../src/db/checks.ts';
import type { LoadedDomain } from '../src/db/domain-row.ts';
import type { MoveResult } from '../src/db/moves.ts';
import type { DomainJob } from '../src/queue/names.ts';
import { afresh, done, type JobResult } from './job.ts';

export type CheckDnsDeps = {
  load(domainId: string): Promise<LoadedDomain | undefined>;
  observe(domain: LoadedDomain): Promise<Observation>;
  diagnose(domain: LoadedDomain, observation: Observation): Promise<Diagnosis>;
  save(check: CheckSave): Promise<MoveResult>;
  /** Makes sure that the jobs of the domain's present state exist. */
  enqueueFollowUps(domain: { id: string; epoch: number }, outcome: CheckOutcome): Promise<void>;
  rules(now: Date): CheckRules;
  now(): Date;
};

/** Looks at a pending domain's DNS once. */
export async function checkDns(deps: CheckDnsDeps, job: DomainJob): Promise<JobResult> {
  const domain = await deps.load(job.domainId);
  if (domain === undefined || domain.epoch !== job.epoch) return done;
  if (domain.state.status !== 'pending') return resumeAfterMove(deps, domain);

  const observation = await deps.observe(domain);
  const now = deps.now();
  const outcome = judgeCheck(domain, await judged(deps, domain, observation), deps.rules(now));
  return save(deps, { domain, observation, outcome, at: now });
}

/** Most looks find everything as it was and give back what was loaded: what it means has been said, and moves nothing. */
async function judged(
  deps: CheckDnsDeps,
  domain: LoadedDomain,
  observation: Observation,
): Promise<Pick<Diagnosis, 'verdict' | 'findings'>> {
  return observation === domain.observation
    ? { verdict: 'unknown', findings: domain.findings }
    : deps.diagnose(domain, observation);
}

async function save(deps: CheckDnsDeps, check: CheckSave): Promise<JobResult> {
  const { domain, outcome, at } = check;
  const result = await deps.save(check);
  if (result.kind === 'stale') return afresh(at);
  if (result.kind === 'held_elsewhere') return save(deps, heldElsewhere(deps, check));
  if (outcome.kind === 'stayed') return again(outcome, at);
  await deps.enqueueFollowUps({ id: domain.id, epoch: result.epoch }, outcome);
  return outcome.to.status === 'failed'
    ? { kind: 'over', reason: `window ended: ${codes(outcome)}` }
    : done;
}

/** The look was right, but another project holds this apex: it waits, and says so. */
function heldElsewhere(deps: CheckDnsDeps, check: CheckSave): CheckSave {
  const { hostname } = check.domain;
  const findings = [{ code: 'held_elsewhere', hostname } as const];
  const look = { verdict: 'wrong', findings } as const;
  return { ...check, outcome: judgeCheck(check.domain, look, deps.rules(check.at)) };
}

/** A worker died between the save and the follow-up: the run after it makes good. */
async function resumeAfterMove(deps: CheckDnsDeps, domain: LoadedDomain): Promise<JobResult> {
  const { state, nextCheckAt, escalateAt, findings } = domain;
  const outcome = {
    kind: 'stayed',
    to: state,
    findings,
    events: [],
    nextCheckAt,
    escalateAt,
  } as const;
  await deps.enqueueFollowUps(domain, outcome);
  return done;
}

function again(outcome: CheckOutcome, now: Date): JobResult {
  const at = outcome.nextCheckAt ?? now;
  return { kind: 'again', at, note: codes(outcome) };
}

function codes({ findings }: CheckOutcome): string {
  return findings.map(({ code }) => code).join(', ') || 'nothing found';
}
