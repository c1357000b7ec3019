import { soonestWait } from '../../src/core/certificates/budget.ts';
import {
  type EscalationCause,
  type EscalationEvidence,
  isRepaired,
  keepsCause,
  likeliestCause,
  type Probe,
} from '../../src/core/certificates/escalation.ts';
import {
  escalationWords,
  isEscalationCause,
} from '../../src/core/certificates/escalation-words.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { Quarantined } from '../../src/db/domains/quarantine.ts';
import type { NewEscalation, OpenEscalation } from '../../src/db/issuance/escalations.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';

/** The worker that opened a younger escalation can have crashed before it woke the order. */
const YOUNG_SHARE = 1 / 30;

export type CauseAndEvidence = Pick<NewEscalation, 'cause' | 'evidence'>;

/** A cause that only this check found becomes the `candidate`. */
export function settledCause(
  open: OpenEscalation | null,
  evidence: EscalationEvidence,
): CauseAndEvidence {
  const found = likeliestCause(evidence);
  if (open === null || !isEscalationCause(open.cause)) return { cause: found, evidence };
  const { cause, evidence: before } = open;
  const { probes, quarantine, servedUntil } = evidence;
  const isServed = servedUntil !== null;
  if (!keepsCause({ cause, evidence: before }, found, isServed)) return { cause: found, evidence };
  return { cause, evidence: { ...before, probes, quarantine, servedUntil, candidate: found } };
}

/** If something is new or fixed. Otherwise the retry schedule applies, to limit requests. */
export function isWorthATry(
  open: OpenEscalation | null,
  { cause, evidence }: CauseAndEvidence,
  { now, escalateAfterMs }: { readonly now: Date; readonly escalateAfterMs: number },
): boolean {
  if (open === null || open.cause !== cause) return true;
  const youngSince = now.getTime() - YOUNG_SHARE * escalateAfterMs;
  return open.openedAt.getTime() >= youngSince || isRepaired(open.evidence, evidence);
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

export function inJson(quarantine: Quarantined | null): EscalationEvidence['quarantine'] {
  return quarantine && { reason: quarantine.reason, until: quarantine.until.toISOString() };
}

export function toNewEscalation(
  cause: EscalationCause,
  evidence: EscalationEvidence,
): NewEscalation {
  return { cause, ...escalationWords(cause, evidence), evidence };
}
