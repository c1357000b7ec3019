/** What an escalation is after a check: its cause, what that rests on, and whether it is worth a try at the order now. */
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

/**
 * A fraction of the wait (of 30 minutes, one): an escalation that is younger may be that of a worker that died before it
 * woke the order.
 */
const YOUNG_SHARE = 1 / 30;

/** The cause of an escalation, and what it rests on. */
export type CauseAndEvidence = Pick<NewEscalation, 'cause' | 'evidence'>;

/**
 * Returns the escalation after this check. A cause that only this check has found does not replace the open one yet: it
 * is remembered as `candidate`.
 */
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

/**
 * Whether the order is tried at once: where the escalation is new, its cause is another, it is younger than a minute, or
 * the cause was repaired. Else the order's own plan goes on, or the authority would be asked far more often.
 */
export function isWorthATry(
  open: OpenEscalation | null,
  { cause, evidence }: CauseAndEvidence,
  { now, escalateAfterMs }: { readonly now: Date; readonly escalateAfterMs: number },
): boolean {
  if (open === null || open.cause !== cause) return true;
  const youngSince = now.getTime() - YOUNG_SHARE * escalateAfterMs;
  return open.openedAt.getTime() >= youngSince || isRepaired(open.evidence, evidence);
}

/** Returns what there is to show for it, without a next attempt yet. `probes` is empty where none were made. */
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
  // An open order has its tokens.
  const wait = order === null ? soonestWait(budgetWaits) : null;
  const budget = wait && { ...wait, until: wait.until.toISOString() };
  return { findings, problem, refusals, budget, probes, setback: shown, ...later };
}

/** Returns a quarantine as evidence keeps it: its time in RFC 3339. Null stays null. */
export function inJson(quarantine: Quarantined | null): EscalationEvidence['quarantine'] {
  return quarantine && { reason: quarantine.reason, until: quarantine.until.toISOString() };
}

/** Returns the escalation to store, worded for its cause and evidence. */
export function inWords(cause: EscalationCause, evidence: EscalationEvidence): NewEscalation {
  return { cause, ...escalationWords(cause, evidence), evidence };
}
