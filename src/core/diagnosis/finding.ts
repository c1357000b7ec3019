/** Each family's file has its complete findings: type, severity, actor, check and text. */
import type { ExplainedHint } from './hints.ts';
import type { DiagnosisInput } from './input.ts';
import type { Words } from './words.ts';

/** `blocks`: the domain cannot proceed. `warns`: it can. `informs`: no known problem. */
export type Severity = 'blocks' | 'warns' | 'informs';
/** `dns_provider` operates the zone's name servers. */
export type Actor = 'customer' | 'dns_provider' | 'platform';

/** `here`: at least one server shows a way that can lead here, such as a proxy. */
export type NameLeads = 'here' | 'elsewhere';

/** `F`: the finding with its evidence. All functions are pure and never throw. */
export type FindingRule<F> = {
  /** For the API reference. */
  readonly meaning: string;
  readonly severity: Severity;
  readonly actor: Actor;
  /** Replaces `actor` if the evidence is more specific than the code. */
  readonly actorFor?: (finding: F) => Actor;
  /** Replaces `severity`, likewise. */
  readonly severityFor?: (finding: F) => Severity;
  /** Position within a severity: the order in which a customer would fix findings. Unique. */
  readonly order: number;
  /** Replaces `order` if the position depends on the observation. */
  readonly orderFor?: (input: DiagnosisInput) => number;
  /** Null if no observation produces this code. */
  readonly check: ((input: DiagnosisInput) => F | undefined) | null;
  /**
   * Where the name led, if the finding says it. Only a name that led `elsewhere` after it was added
   * is proven by shared records that came later (claims.ts).
   */
  readonly leads?: NameLeads | ((finding: F) => NameLeads);
  readonly explain: (finding: F) => Words;
  readonly hints?: (finding: F) => readonly ExplainedHint[];
};

/** The findings of a family with this code. */
export type FindingIn<F extends { readonly code: string }, C extends F['code']> = F & {
  readonly code: C;
};

/** One rule per code: a finding without a rule does not compile. */
export type FamilyOf<F extends { readonly code: string }> = {
  readonly [C in F['code']]: FindingRule<FindingIn<F, C>>;
};
