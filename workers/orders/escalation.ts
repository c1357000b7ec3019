import { soonestWait } from '../../src/core/certificates/budget.ts';
import {
  type EscalationCause,
  type EscalationEvidence,
  isRepaired,
  keepsCause,
  likeliestCause,
  mayWake,
  nextAttempt,
  type Probe,
} from '../../src/core/certificates/escalation.ts';
import {
  escalationWords,
  isEscalationCause,
} from '../../src/core/certificates/escalation-words.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import { isServed } from '../../src/core/life/lifecycle.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { Quarantined } from '../../src/db/domains/quarantine.ts';
import {
  loadOpenEscalation,
  type NewEscalation,
  type OpenEscalation,
  openEscalation,
} from '../../src/db/issuance/escalations.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';
import type { Service } from '../../src/service/service.ts';
import { diagnoseDomain, observeDomain } from '../checks/observe-domain.ts';
import { chooseFor, type OrderWork } from './choose-authority.ts';

/** The worker that opened a younger escalation can have crashed before it woke the order. */
const YOUNG_SHARE = 1 / 30;

type CauseAndEvidence = Pick<NewEscalation, 'cause' | 'evidence'>;

/** A cause that only this check found becomes the `candidate`. */
function settledCause(open: OpenEscalation | null, evidence: EscalationEvidence): CauseAndEvidence {
  const found = likeliestCause(evidence);
  if (open === null || !isEscalationCause(open.cause)) return { cause: found, evidence };
  const { cause, evidence: before } = open;
  const { probes, quarantine, servedUntil } = evidence;
  const isServed = servedUntil !== null;
  if (!keepsCause({ cause, evidence: before }, found, isServed)) return { cause: found, evidence };
  return { cause, evidence: { ...before, probes, quarantine, servedUntil, candidate: found } };
}

/** If something is new or fixed. Otherwise the retry schedule applies, to limit requests. */
function isWorthATry(
  open: OpenEscalation | null,
  { cause, evidence }: CauseAndEvidence,
  { now, escalateAfterMs }: { readonly now: Date; readonly escalateAfterMs: number },
): boolean {
  if (open === null || open.cause !== cause) return true;
  const youngSince = now.getTime() - YOUNG_SHARE * escalateAfterMs;
  return open.openedAt.getTime() >= youngSince || isRepaired(open.evidence, evidence);
}

/** The DNS now, and our page at the name's addresses. */
export async function examineDomain(service: Service, domain: LoadedDomain) {
  const observation = await observeDomain(service, domain);
  const diagnosis = await diagnoseDomain(service, domain, observation);
  // If the name points elsewhere, its addresses are not ours to probe.
  const probes =
    diagnosis.verdict === 'right' ? await service.handshakes.probe(domain.hostname) : [];
  const open = await loadOpenEscalation(service.database.prisma, domain.id);
  return { observation, diagnosis, probes, open };
}

type Escalating = {
  readonly domain: LoadedDomain;
  readonly open: OpenEscalation | null;
  readonly evidence: EscalationEvidence;
  readonly quarantine: Quarantined | null;
  /** Null: no order is placed in this state. */
  readonly plan: Parameters<typeof nextAttempt>[0] | null;
};

/** Opens or updates it. `wakes`: the order is worth a try at once, since something is new or fixed. */
export async function keepEscalation(service: Service, escalating: Escalating, now: Date) {
  const { domain, open, evidence, quarantine, plan } = escalating;
  const { escalateAfterMs } = service.config;
  const settled = settledCause(open, { ...evidence, quarantine: inJson(quarantine) });
  const { cause } = settled;
  const isNew = isWorthATry(open, { cause, evidence }, { now, escalateAfterMs });
  const wakes = plan !== null && isNew && mayWake(plan, now);
  const next = plan && nextAttempt(plan, wakes, now);
  const escalation = toNewEscalation(cause, { ...settled.evidence, nextAttempt: next });

  const againAt = new Date(now.getTime() + escalateAfterMs);
  const times = { at: now, againAt, wakes: wakes && isServed(domain.state) };
  const result = await openEscalation(service.database.prisma, domain, escalation, times);
  if (result === 'opened') logEscalation(service, domain, escalation);
  return { result, cause, wakes, againAt };
}

/** Without the next attempt. `probes`: empty if none ran. */
export function evidenceOf(
  { lastProblem: problem, order, refusals, budgetWaits, setback }: IssueWork,
  { findings }: Pick<Diagnosis, 'findings'>,
  probes: readonly Probe[],
): EscalationEvidence {
  const shown = setback && {
    at: setback.at.toISOString(),
    detail: setback.detail,
    ...(order?.sealedKey === null && { isExternal: true as const }),
  };
  const later = { quarantine: null, candidate: null, nextAttempt: null, servedUntil: null };
  // An open order has already taken its tokens.
  const wait = order === null ? soonestWait(budgetWaits) : null;
  const budget = wait && { ...wait, until: wait.until.toISOString() };
  return { findings, problem, refusals, budget, probes, setback: shown, ...later };
}

function inJson(quarantine: Quarantined | null): EscalationEvidence['quarantine'] {
  return quarantine && { reason: quarantine.reason, until: quarantine.until.toISOString() };
}

export function toNewEscalation(
  cause: EscalationCause,
  evidence: EscalationEvidence,
): NewEscalation {
  return { cause, ...escalationWords(cause, evidence), evidence };
}

/**
 * Saved with the expiry of a live domain's certificate: the open escalation, or a new one if no
 * worker ran for the last fifth of the lifetime. Undefined if the domain was removed. Only writes
 * to the log.
 */
export async function escalationAtEnd(
  service: Service,
  domain: LoadedDomain,
  diagnosis: Pick<Diagnosis, 'findings'>,
): Promise<NewEscalation | undefined> {
  const now = service.now();
  const work = await service.certificates.loadWork(domain.id, now);
  if (work === undefined) return undefined;
  const open = await loadOpenEscalation(service.database.prisma, domain.id);
  const { cause, evidence } = settledCause(open, evidenceOf(work, diagnosis, []));
  // The domain becomes verified, so its order resumes at once unless the CA sent Retry-After.
  const nextCheckAt = work.setback?.retryAfter ?? now;
  const plan = {
    ...renewalPlanOf(service, { ...work, forbidden: [] }, null),
    nextCheckAt,
    refusals: 0,
  };
  const escalation = toNewEscalation(cause, {
    ...evidence,
    nextAttempt: nextAttempt(plan, false, now),
  });
  if (open?.cause !== cause) logEscalation(service, domain, escalation);
  return escalation;
}

/** What happens next to a renewal. */
export function renewalPlanOf(service: Service, work: OrderWork, quarantine: Quarantined | null) {
  const quarantinedUntil = quarantine?.until ?? null;
  return {
    ...chooseFor(service, work),
    hasOrder: work.order !== null,
    nextCheckAt: work.renewAt,
    quarantinedUntil,
  };
}

/** For the operator, whose alerts can watch the log. */
export function logEscalation(
  { log }: Pick<Service, 'log'>,
  { id: domainId, hostname }: LoadedDomain,
  { cause, evidence }: NewEscalation,
): void {
  const { summary } = escalationWords(cause, evidence, 'operator');
  log.warn({ domainId, domain: hostname, cause, summary }, 'escalation opened');
}
