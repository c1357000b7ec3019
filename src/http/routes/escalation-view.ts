import type { Probe } from '../../core/certificates/escalation.ts';
import {
  type EscalationReader,
  escalationWords,
  isEscalationCause,
} from '../../core/certificates/escalation-words.ts';
import { explain, severities } from '../../core/diagnosis/findings.ts';
import type { Escalation } from '../../core/records.ts';
import { type EscalationRow, readEvidence } from '../../db/issuance/escalations.ts';

/** Null for a cause that this version does not know. */
export function escalationInWords(
  stored: Pick<Escalation, 'cause' | 'evidence'>,
  reader: EscalationReader,
) {
  const { cause } = stored;
  if (!isEscalationCause(cause)) return null;
  return { cause, ...escalationWords(cause, wordable(stored), reader) };
}

/** The EscalationCase of the API. Null for a cause of another version. */
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

/** A probe has a status only if another server answered over HTTP. */
function probeView(probe: Probe) {
  const { address, outcome } = probe;
  return { address, outcome, status: probe.outcome === 'other_answer' ? probe.status : null };
}

/** Drops findings that only newer versions know. */
function wordable({ evidence }: Pick<Escalation, 'evidence'>) {
  const known = readEvidence(evidence);
  const findings = known.findings.filter(({ code }) => Object.hasOwn(severities, code));
  return { ...known, findings };
}
