/** Findings in plain words: what is wrong, what should be there, what is there, and exactly what to do. */
import {
  type Actor,
  type Finding,
  type FindingCode,
  type FindingOf,
  ruleOf,
  type Severity,
} from './findings.ts';
import type { ExplainedHint } from './hints.ts';
import type { Words } from './words.ts';

/** Every text is a sentence or a short line, safe to show anywhere but in HTML without escaping. */
export type Explanation = Words & {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly actor: Actor;
  /** The likely slips behind it; empty where none is known. */
  readonly hints: readonly ExplainedHint[];
};

/** Puts a finding into words for the one who has to act. */
export function explain(finding: Finding): Explanation {
  return explainBy(finding.code, finding);
}

function explainBy<C extends FindingCode>(code: C, finding: FindingOf<C>): Explanation {
  const { severity, actor, actorFor, explain, hints } = ruleOf(code);
  return {
    code,
    severity,
    actor: actorFor === undefined ? actor : actorFor(finding),
    ...explain(finding),
    hints: hints === undefined ? [] : hints(finding),
  };
}
