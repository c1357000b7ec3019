/** The end of every check: decide, save, and create the jobs that follow. */

import { type Finding, type FindingOf, isOurTrouble } from '../../src/core/diagnosis/findings.ts';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import type { CheckResult, CheckRules, DomainChange } from '../../src/core/life/check.ts';
import { decide } from '../../src/core/life/decide.ts';
import { zoneBelow } from '../../src/core/names/instructions.ts';
import { checkProof, type Proof, proofNameOf, proofRecordFor } from '../../src/core/names/proof.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave, Unproven } from '../../src/db/domains/transitions.ts';
import type { NewEscalation } from '../../src/db/issuance/escalations.ts';
import type { CountedCheck } from '../../src/ops/metrics/work.ts';
import { addFollowUps, forgetJobs } from '../../src/queue/queues.ts';
import type { Service } from '../../src/service/service.ts';

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
  if (saved.kind === 'unproven') {
    const finding = await resolveClaim(service, domain, observed.observation, saved);
    return finding === null
      ? saveCheck(service, { domain, observed, provenAgainst: saved.rivals }, result)
      : saveCheck(service, { domain, observed }, unproven(finding, change.findings));
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

export type SavedCheck = Pick<CheckSave, 'domain' | 'change' | 'at'> & Pick<CheckResult, 'verdict'>;

/** What metrics derive from a check that a worker has saved. */
export function countedCheckOf({ domain, change, at, verdict }: SavedCheck): CountedCheck {
  const changed = change.events.find((event) => event.type === 'domain.findings_changed');
  const isVerified = change.to.status === 'verified' && domain.state.status !== 'verified';
  return {
    verdict,
    isOurTrouble: change.findings.some(isOurTrouble),
    appeared: (changed?.appeared ?? []).map(({ code }) => code),
    unseenSeconds: isVerified ? Math.max(0, (at.getTime() - lastSeen(domain)) / 1_000) : null,
  };
}

/** The later of its last check and the start of the epoch. */
function lastSeen({ state, lastCheckedAt }: LoadedDomain): number {
  const since = state.status === 'pending' ? state.pendingSince.getTime() : 0;
  return Math.max(since, lastCheckedAt?.getTime() ?? since);
}

// A name whose records do not prove ownership: looks up the claim's TXT record, or names it. Part of saving a
// check; reads the DNS, writes nothing.

type ProofFinding = FindingOf<'held_elsewhere' | 'ownership_unproven'>;

type ProofLookup = Pick<Service, 'observer' | 'proofFor'>;

/** The check's own findings are warnings, which stay. */
function unproven(finding: ProofFinding, warnings: readonly Finding[]): CheckResult {
  return { verdict: 'wrong', findings: [finding, ...warnings] };
}

/** Null: proven. Stores nothing. Never rejects on network failures. */
async function resolveClaim(
  service: ProofLookup,
  domain: LoadedDomain,
  observation: Observation,
  { because, rivals }: Unproven,
): Promise<ProofFinding | null> {
  const proof = await lookupProof(service, domain, observation, rivals);
  if (proof.seen === 'proven') return null;
  return proofFinding(domain, because, unlessUnknown(proof, domain));
}

function proofFinding(
  { hostname, target }: LoadedDomain,
  because: Unproven['because'],
  proof: Proof,
): ProofFinding {
  switch (because) {
    case 'held':
      return { code: 'held_elsewhere', hostname, proof };
    case 'held_before':
      return { code: 'held_elsewhere', hostname, heldBefore: true, proof };
    default:
      return { code: 'ownership_unproven', hostname, target, route: because, proof };
  }
}

async function lookupProof(
  { proofFor, observer }: ProofLookup,
  { id, hostname }: LoadedDomain,
  observation: Observation,
  rivals: readonly string[],
): Promise<Proof> {
  const claimant = proofFor(id, hostname);
  const zone = zoneBelow({ hostname, delegation: observation.delegation });
  const answers = await observer.lookupTexts(proofNameOf(hostname), observation.cost);
  const others = rivals.map((rival) => proofFor(rival, hostname));
  return {
    record: proofRecordFor({ hostname, zone, value: claimant }),
    ...checkProof(answers, { claimant, others }),
  };
}

/** An inconclusive check keeps what an earlier one found. */
function unlessUnknown(proof: Proof, { findings }: LoadedDomain): Proof {
  if (proof.seen !== 'unknown') return proof;
  return findings.find(isAboutProof)?.proof ?? proof;
}

function isAboutProof(finding: Finding): finding is ProofFinding {
  return finding.code === 'held_elsewhere' || finding.code === 'ownership_unproven';
}

/** With a new random jitter. */
export function checkRules({ config, random }: Pick<Service, 'config' | 'random'>, now: Date) {
  const { verifyWindowMs: windowMs, timeScale, escalateAfterMs } = config;
  return { now, windowMs, timeScale, escalateAfterMs, jitter: random() } satisfies CheckRules;
}
