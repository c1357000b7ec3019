/** The end of every check: decide, save, and create the jobs that follow. */
import type { DomainChange } from '../../src/core/life/change.ts';
import type { CheckResult } from '../../src/core/life/check.ts';
import { decide } from '../../src/core/life/decide.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave } from '../../src/db/domains/transitions.ts';
import type { NewEscalation } from '../../src/db/issuance/escalations.ts';
import { addFollowUps, forgetJobs } from '../../src/queue/domain-jobs.ts';
import type { Service } from '../../src/service/service.ts';
import { checkRules } from './check-rules.ts';
import { countedCheckOf } from './counted-check.ts';
import { resolveClaim } from './resolve-claim.ts';

type Seen = Pick<CheckSave, 'domain' | 'observed' | 'provenAgainst'> & {
  /** Of a served domain whose certificate has expired. */
  escalationAtEnd?(): Promise<NewEscalation | undefined>;
};

/** For a domain in any state. Returns null if another save came first and nothing was changed. */
export async function saveCheck(
  service: Service,
  seen: Seen,
  result: CheckResult,
): Promise<DomainChange | null> {
  const { domain, observed, provenAgainst } = seen;
  const at = service.now();
  const change = decide(domain, { kind: 'checked', ...result, ...checkRules(service, at) }, at);
  const ended = change.events.some(({ type }) => type === 'certificate.ended');
  const escalation = ended ? await seen.escalationAtEnd?.() : undefined;
  const check = { domain, observed, provenAgainst, change, at, escalation };
  const saved = await service.checks.save(check);
  if (saved.kind === 'stale') return null;
  if (saved.kind === 'plan_required') {
    return saveCheck(service, { domain, observed }, planRequired(domain));
  }
  // Another project holds the name, or an account held it: look up the proof of ownership, then save again.
  if (saved.kind === 'held_elsewhere') {
    const claim = await resolveClaim(service, domain, observed.observation, saved);
    return claim.kind === 'proven'
      ? saveCheck(service, { domain, observed, provenAgainst: saved.holderProjectId }, result)
      : saveCheck(service, { domain, observed }, claim.result);
  }
  service.metrics?.check(countedCheckOf({ domain, change, at, verdict: result.verdict }));
  if (saved.lost !== undefined) await enqueueFollowUps(service, saved.lost, saved.lost.change);
  if (change.kind === 'moved') {
    const { id, projectId } = domain;
    await enqueueFollowUps(service, { id, projectId, epoch: saved.epoch }, change);
  }
  return change;
}

function planRequired({ hostname }: LoadedDomain): CheckResult {
  return { verdict: 'wrong', findings: [{ code: 'plan_required', hostname }] };
}

/** Idempotent. A return to pending starts a new epoch: the previous epoch's jobs are removed. */
export async function enqueueFollowUps(
  { queues }: Pick<Service, 'queues'>,
  { id, projectId, epoch }: Pick<LoadedDomain, 'id' | 'projectId' | 'epoch'>,
  { to, nextCheckAt, escalateAt }: Pick<DomainChange, 'to' | 'nextCheckAt' | 'escalateAt'>,
): Promise<void> {
  const { status } = to;
  await addFollowUps(queues, { id, projectId, epoch, status, nextCheckAt, escalateAt });
  if (status === 'pending') await forgetJobs(queues, { domainId: id, epoch: epoch - 1 });
}
