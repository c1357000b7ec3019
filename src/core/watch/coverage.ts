/** What the watch sees by itself, so that a name's own checks may come less often. */
import { type Finding, type FindingCode, severities } from '../diagnosis/findings.ts';
import type { Observation } from '../diagnosis/observation.ts';
import { watchedServersOf } from './watched-name.ts';

/** They end with another answer to the question for A, at the servers that are asked for it. */
const endsInAnswerForA: readonly FindingCode[] = [
  'record_missing',
  'cname_mismatch',
  'cname_loop',
  'conflicting_a',
  'cname_at_apex',
  'apex_elsewhere',
];

/**
 * Whether the watch sees everything that could make a pending name right: one of its servers was heard, and whatever blocks
 * ends in what the watch asks for. CAA, AAAA and TXT records, signatures and name servers are for checks.
 */
export function isCovered(
  observation: Observation,
  findings: readonly Pick<Finding, 'code'>[],
): boolean {
  const decisive = findings.filter(({ code }) => severities[code] !== 'warns');
  return (
    decisive.length > 0 &&
    decisive.every(({ code }) => endsInAnswerForA.includes(code)) &&
    watchedServersOf(observation).length > 0
  );
}
