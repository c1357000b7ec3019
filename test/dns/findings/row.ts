/** One row of the tables: a world, and the finding that a check at it must come to. */
import type { Expected } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Actor, Finding, FindingCode } from '../../../src/core/diagnosis/findings.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import type { HintCode } from '../../../src/core/diagnosis/hints.ts';
import type { Verdict } from '../../../src/core/life/lifecycle.ts';
import type { LabFault } from '../../../src/lab/faults.ts';
import type { InternetOptions } from './internet.ts';

export type Row = {
  /** What somebody did or did not do, so that "a domain …" can stand before it. */
  readonly title: string;
  /** A single server's lines of `shop.test`, or the whole internet. */
  readonly world: readonly string[] | InternetOptions;
  /** Server, fault, and the names and type it is about where not everything. */
  readonly fails?: readonly (readonly [
    server: string,
    fault: LabFault,
    names?: string,
    type?: string,
  ])[];
  /** `docs.shop.test` unless it is another name. */
  readonly hostname?: string;
  readonly expected?: Partial<Expected>;
  readonly verdict: Verdict;
  /** All codes, the headline first. */
  readonly codes: readonly [FindingCode, ...FindingCode[]];
  /** Which of them this row is about; the first one unless it is told. */
  readonly about?: FindingCode;
  readonly hint?: HintCode;
  /** The evidence that matters, as the finding has it. */
  readonly evidence: object;
  /** Who has to act on it, where the row is about that. */
  readonly actor?: Actor;
  /** What its explanation must name. */
  readonly words: readonly string[];
};

/** One server that holds these lines of `shop.test`. */
export function shop(lines: readonly string[], more: Partial<InternetOptions> = {}) {
  return { ...more, zones: { 'shop.test': { ns1: lines }, ...more.zones } };
}

/** Two servers of `shop.test` that need not agree. */
export function twoServers(
  ns1: readonly string[],
  ns2: readonly string[],
  more: Partial<InternetOptions> = {},
) {
  return { ...more, zones: { 'shop.test': { ns1, ns2 }, ...more.zones } };
}

/** The record that every domain of these tables should have. */
export const RIGHT = 'docs CNAME p1.edge.test.';

/** Every text of a finding's explanation, hints included, one per line. */
export function textOf(finding: Finding): string {
  const { summary, expected, found, action, hints } = explain(finding);
  return [summary, expected, found, action, ...hints.flatMap((hint) => Object.values(hint))].join(
    '\n',
  );
}
