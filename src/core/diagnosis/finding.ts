/** What a finding is made of. Each family's file has its findings whole: shape, severity, who acts, check and words. */
import type { ExplainedHint } from './hints.ts';
import type { DiagnosisInput } from './input.ts';
import type { Words } from './words.ts';

/** `blocks`: the domain cannot go on. `warns`: it can. `informs`: nothing is known to be wrong. */
export type Severity = 'blocks' | 'warns' | 'informs';
/** Who has to act: the customer, the operator of the zone's name servers, or this platform. */
export type Actor = 'customer' | 'dns_provider' | 'platform';

/** Everything about one code, where `F` is the finding with its evidence. All functions are pure and never throw. */
export type FindingRule<F> = {
  /** One line for the reference of the API. */
  readonly meaning: string;
  readonly severity: Severity;
  /** Who usually has to act. */
  readonly actor: Actor;
  /** Who has to, where the evidence says more than the code. */
  readonly actorFor?: (finding: F) => Actor;
  /** The place among findings of one severity: the order in which a customer would repair them. No two share one. */
  readonly order: number;
  /** The place, where it depends on what was observed. */
  readonly orderFor?: (input: DiagnosisInput) => number;
  /** Undefined where there is nothing to say; null for a finding that no observation of the DNS makes. */
  readonly check: ((input: DiagnosisInput) => F | undefined) | null;
  readonly explain: (finding: F) => Words;
  /** The likely slips behind it; empty where none is known. */
  readonly hints?: (finding: F) => readonly ExplainedHint[];
};

/** The rules of a family, total over its codes: a finding without its rule does not compile. */
export type FamilyOf<F extends { readonly code: string }> = {
  readonly [C in F['code']]: FindingRule<F & { readonly code: C }>;
};
