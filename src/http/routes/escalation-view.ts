/** An escalation as the API shows it: in words for its reader, and to an operator with its evidence. */

import type { EscalationCause, Probe } from '../../core/certificates/escalation.ts';
import {
  escalationWords,
  isEscalationCause,
  type Reader,
} from '../../core/certificates/escalation-words.ts';
import { explain, severities } from '../../core/diagnosis/findings.ts';
import type { Escalation } from '../../core/records.ts';
import { type EscalationRow, evidenceOf } from '../../db/issuance/escalations.ts';

type InWords = {
  readonly cause: EscalationCause;
  readonly summary: string;
  readonly nextAction: string;
};

/**
 * The cause, with what is wrong and what happens next in words. Null for a cause of another version's, for which there are
 * no words.
 */
export function escalationInWords(
  stored: Pick<Escalation, 'cause' | 'evidence'>,
  reader: Reader,
): InWords | null {
  const { cause } = stored;
  if (!isEscalationCause(cause)) return null;
  return { cause, ...escalationWords(cause, wordable(stored), reader) };
}

/**
 * The EscalationCase of docs/api.md, in an operator's words; null where there are no words for its cause. Once it is closed,
 * `nextAction` is null.
 */
export function projectEscalationView(row: EscalationRow) {
  const words = escalationInWords(row, 'operator');
  if (words === null) return null;
  const { id, domain, openedAt, closedAt } = row;
  const { candidate: _notYetExplained, ...evidence } = wordable(row);
  const { findings, problem, probes, setback } = evidence;
  return {
    id,
    projectId: domain.projectId,
    domainId: row.domainId,
    hostname: domain.hostname,
    ...words,
    nextAction: closedAt === null ? words.nextAction : null,
    evidence: {
      ...evidence,
      findings: findings.map(explain),
      problem: problem && { ...problem, retryAfter: problem.retryAfter ?? null },
      probes: probes.map(probeView),
      setback: setback && { at: setback.at, detail: setback.detail },
    },
    openedAt,
    closedAt,
  };
}

/** A probe has a status only where something else answered it over HTTP. */
function probeView(probe: Probe) {
  const { address, outcome } = probe;
  return { address, outcome, status: probe.outcome === 'other_answer' ? probe.status : null };
}

/** The evidence without findings that this version has no words for: a process of another version may have stored them. */
function wordable({ evidence }: Pick<Escalation, 'evidence'>) {
  const known = evidenceOf(evidence);
  const findings = known.findings.filter(({ code }) => Object.hasOwn(severities, code));
  return { ...known, findings };
}
