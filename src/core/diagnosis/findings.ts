import { type ApexFinding, apex } from './apex.ts';
import { type BesideFinding, beside } from './beside.ts';
import { type CaaFinding, caaFindings } from './caa/caa-findings.ts';
import { type ClaimFinding, claims } from './claims.ts';
import { type DelegationFinding, delegation } from './delegation.ts';
import { type DnssecFinding, dnssec } from './dnssec.ts';
import type { Actor, FamilyOf, FindingRule, NameLeads, Severity } from './finding.ts';
import { type GlueFinding, glue } from './glue.ts';
import type { ExplainedHint } from './hints.ts';
import { type HttpsRecordFinding, httpsRecord } from './https-record.ts';
import { type PlanFinding, planFindings } from './plan.ts';
import { type PointingFinding, pointing } from './pointing.ts';
import { type ProxiedFinding, proxied } from './proxied.ts';
import { type ReservedFinding, reserved } from './reserved.ts';
import { type ServerFinding, servers } from './servers.ts';
import { type UnknownFinding, unknown } from './unknown.ts';
import type { Words } from './words.ts';
import { type WorldFinding, world } from './world.ts';

export type { Actor, Severity } from './finding.ts';

/** Plain JSON, stored unchanged. `explain` returns its text. */
export type Finding =
  | DelegationFinding
  | PointingFinding
  | BesideFinding
  | ProxiedFinding
  | ApexFinding
  | HttpsRecordFinding
  | ServerFinding
  | GlueFinding
  | UnknownFinding
  | ReservedFinding
  | DnssecFinding
  | WorldFinding
  | CaaFinding
  | ClaimFinding
  | PlanFinding;

/** Documented in docs/understand/findings.md. */
export type FindingCode = Finding['code'];
export type FindingOf<C extends FindingCode> = Finding & { readonly code: C };

const families: FamilyOf<Finding> = {
  ...delegation,
  ...pointing,
  ...beside,
  ...proxied,
  ...apex,
  ...httpsRecord,
  ...servers,
  ...glue,
  ...unknown,
  ...reserved,
  ...dnssec,
  ...world,
  ...caaFindings,
  ...claims,
  ...planFindings,
};

const severityOrder: readonly Severity[] = ['blocks', 'warns', 'informs'];

/** Sorted by severity, then in the order a customer would fix them. */
const codes = (Object.keys(families) as FindingCode[]).sort(
  (one, other) =>
    compareSeverity(families[one].severity, families[other].severity) ||
    families[one].order - families[other].order,
);

/** Negative if `one` is more severe. */
export function compareSeverity(one: Severity, other: Severity): number {
  return severityOrder.indexOf(one) - severityOrder.indexOf(other);
}

/** Generic, so that the compiler pairs a finding with its rule. */
function ruleOf<C extends FindingCode>(code: C): FindingRule<FindingOf<C>> {
  return families[code];
}

export const rules: readonly FindingRule<Finding>[] = codes.map(
  // Each check returns only findings of its code, and each rule receives only those.
  (code) => families[code] as FindingRule<Finding>,
);

/** The most severe code first; `severityOf` can differ. */
export const severities = tableOf(({ severity }) => severity);

/** Without evidence; `actorOf` can differ. */
export const actors = tableOf<Actor>(({ actor }) => actor);

export const meanings = tableOf(({ meaning }) => meaning);

function tableOf<T>(
  read: (rule: Pick<FindingRule<never>, 'severity' | 'actor' | 'meaning'>) => T,
): { readonly [C in FindingCode]: T } {
  return Object.fromEntries(codes.map((code) => [code, read(families[code])])) as {
    readonly [C in FindingCode]: T;
  };
}

/** Each text is a sentence or a short line. Safe to display; HTML needs escaping. */
export type Explanation = Words & {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly actor: Actor;
  readonly hints: readonly ExplainedHint[];
};

/** Pure; never throws. */
export function explain(finding: Finding): Explanation {
  return explainBy(finding.code, finding);
}

/** By its evidence. */
export function actorOf(finding: Finding): Actor {
  return actorBy(finding.code, finding);
}

/** By its evidence. */
export function severityOf(finding: Finding): Severity {
  return severityBy(finding.code, finding);
}

/** They name a place where the name led, and none that can be here. */
export function leadElsewhere(findings: readonly Finding[]): boolean {
  const places = findings.map((finding) => leadsBy(finding.code, finding));
  return places.includes('elsewhere') && !places.includes('here');
}

function leadsBy<C extends FindingCode>(code: C, finding: FindingOf<C>): NameLeads | undefined {
  // An event of a later or earlier version can have a code without a rule.
  const leads = (families[code] as FindingRule<FindingOf<C>> | undefined)?.leads;
  return typeof leads === 'function' ? leads(finding) : leads;
}

function severityBy<C extends FindingCode>(code: C, finding: FindingOf<C>): Severity {
  const { severity, severityFor } = ruleOf(code);
  return severityFor === undefined ? severity : severityFor(finding);
}

function actorBy<C extends FindingCode>(code: C, finding: FindingOf<C>): Actor {
  const { actor, actorFor } = ruleOf(code);
  return actorFor === undefined ? actor : actorFor(finding);
}

/**
 * Our resolvers or network failed, or our own target did not resolve. Not if our own limits kept
 * servers from being queried: asking sooner would not help.
 */
export function isOurTrouble(finding: Finding): boolean {
  return (
    finding.code === 'dns_unknown' &&
    actorOf(finding) === 'platform' &&
    finding.servers.every(({ outcome }) => outcome !== 'not_asked')
  );
}

function explainBy<C extends FindingCode>(code: C, finding: FindingOf<C>): Explanation {
  const { explain, hints } = ruleOf(code);
  return {
    code,
    severity: severityBy(code, finding),
    actor: actorBy(code, finding),
    ...explain(finding),
    hints: hints === undefined ? [] : hints(finding),
  };
}
