/** One row: a world, and the finding that a check of it must produce. */
import type { Expected } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Finding, FindingCode } from '../../../src/core/diagnosis/findings.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import type { HintCode } from '../../../src/core/diagnosis/hints.ts';
import type { Verdict } from '../../../src/core/life/lifecycle.ts';
import type { LabFault } from '../../../src/lab/faults.ts';
import type { InternetOptions } from './internet.ts';

export type Row = {
  /** Completes "a domain that …". */
  readonly title: string;
  /** The lines of `shop.test` on a single server, or the whole internet. */
  readonly world: readonly string[] | InternetOptions;
  /** Server, fault, and its names and type if not all. */
  readonly fails?: readonly (readonly [
    server: string,
    fault: LabFault,
    names?: string,
    type?: string,
  ])[];
  /** Default: `docs.shop.test`. */
  readonly hostname?: string;
  readonly expected?: Partial<Expected>;
  readonly verdict: Verdict;
  /** All codes, the headline first. */
  readonly codes: readonly [FindingCode, ...FindingCode[]];
  /** The code that this row checks; the first by default. */
  readonly about?: FindingCode;
  readonly hint?: HintCode;
  readonly evidence: object;
  /** Texts in the explanation. */
  readonly words: readonly string[];
};

export function shop(lines: readonly string[], more: Partial<InternetOptions> = {}) {
  return { ...more, zones: { 'shop.test': { ns1: lines }, ...more.zones } };
}

export function twoServers(
  ns1: readonly string[],
  ns2: readonly string[],
  more: Partial<InternetOptions> = {},
) {
  return { ...more, zones: { 'shop.test': { ns1, ns2 }, ...more.zones } };
}

export const RIGHT = 'docs CNAME p1.edge.test.';

/** All texts of a finding's explanation with its hints, one per line. */
export function textOf(finding: Finding): string {
  const { summary, expected, found, action, hints } = explain(finding);
  return [summary, expected, found, action, ...hints.flatMap((hint) => Object.values(hint))].join(
    '\n',
  );
}
