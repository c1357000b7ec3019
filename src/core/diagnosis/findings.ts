/** All families of findings about a customer's DNS, and their text. */
import { type ApexFinding, apex } from './apex.ts';
import { type BesideFinding, beside } from './beside.ts';
import { type CaaFinding, caaFindings } from './caa/caa-findings.ts';
import { type ClaimFinding, claims } from './claims.ts';
import { type DelegationFinding, delegation } from './delegation.ts';
import type { Actor, FamilyOf, FindingRule, Severity } from './finding.ts';
import type { ExplainedHint } from './hints.ts';
import { type PointingFinding, pointing } from './pointing.ts';
import { type ReservedFinding, reserved } from './reserved.ts';
import { type ServerFinding, servers } from './servers.ts';
import type { Words } from './words.ts';
import { type WorldFinding, world } from './world.ts';

/** Who acts on a finding, and how grave it is (finding.ts). */
export type { Actor, Severity } from './finding.ts';

/** One thing worth saying about a domain, with its evidence. Plain JSON, stored as it is; `explain` has its words. */
export type Finding =
  | DelegationFinding
  | PointingFinding
  | BesideFinding
  | ApexFinding
  | ServerFinding
  | ReservedFinding
  | WorldFinding
  | CaaFinding
  | ClaimFinding;

/** A finding's name, as it is stored, documented in docs/understand/findings.md and spelled by the API. */
export type FindingCode = Finding['code'];
/** The finding of one code. */
export type FindingOf<C extends FindingCode> = Finding & { readonly code: C };

const families: FamilyOf<Finding> = {
  ...delegation,
  ...pointing,
  ...beside,
  ...apex,
  ...servers,
  ...reserved,
  ...world,
  ...caaFindings,
  ...claims,
};

const severityOrder: readonly Severity[] = ['blocks', 'warns', 'informs'];

/** Every code with its place: by severity, and within one in the order in which a customer would repair them. */
const codes = (Object.keys(families) as FindingCode[]).sort(
  (one, other) =>
    compareSeverity(families[one].severity, families[other].severity) ||
    families[one].order - families[other].order,
);

/** Compares for sorting: negative where the first is graver, 0 where they are the same. */
export function compareSeverity(one: Severity, other: Severity): number {
  return severityOrder.indexOf(one) - severityOrder.indexOf(other);
}

/** Returns the rule of a code. Generic, so that the compiler sees that a finding and its rule go together. */
export function ruleOf<C extends FindingCode>(code: C): FindingRule<FindingOf<C>> {
  return families[code];
}

/** All rules, the graver ones first, and within a severity by `order`. */
export const rules: readonly FindingRule<Finding>[] = codes.map(
  // Each check makes only findings of its code, and each rule receives only those.
  (code) => families[code] as FindingRule<Finding>,
);

/** How grave a code is, for every code; the graver ones first. */
export const severities = tableOf(({ severity }) => severity);

/** Who usually has to act, for every code; `explain` says who has to where the evidence says more. */
export const actors = tableOf<Actor>(({ actor }) => actor);

/** One line a code, for the reference of the API. */
export const meanings = tableOf(({ meaning }) => meaning);

function tableOf<T>(
  read: (rule: Pick<FindingRule<never>, 'severity' | 'actor' | 'meaning'>) => T,
): { readonly [C in FindingCode]: T } {
  // `codes` has every code, so the table does too.
  return Object.fromEntries(codes.map((code) => [code, read(families[code])])) as {
    readonly [C in FindingCode]: T;
  };
}

/** Every text is a sentence or a short line, safe to show anywhere but in HTML without escaping. */
export type Explanation = Words & {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly actor: Actor;
  /** The likely slips behind it; empty where none is known. */
  readonly hints: readonly ExplainedHint[];
};

/** Puts a finding into words for the one who has to act. Pure; never throws. */
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
