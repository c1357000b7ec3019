/** One case: a host name in its zones, and the expected diagnosis. */
import type { FindingCode } from '../../../src/core/diagnosis/findings.ts';
import type { Verdict } from '../../../src/core/life/lifecycle.ts';
import type { TreeZone } from './zones.ts';

export type Case = {
  readonly title: string;
  /** Cases can share a zone object, but not a zone's name. */
  readonly zones: readonly TreeZone[];
  readonly hostname: string;
  readonly verdict: Verdict;
  /** Null: no finding. */
  readonly leading: FindingCode | null;
  /** Codes among the further findings. */
  readonly also?: readonly FindingCode[];
  /** Type and name of the record to create: `CNAME docs`. Its value is the target. */
  readonly record: string;
  /** A phrase in the text of the leading finding or its hints; null without a finding. */
  readonly says: string | null;
  /** How our own resolver fails. */
  readonly resolver?: 'silent' | 'refuses' | 'fails';
  /** Private addresses are reported, as outside of test labs. */
  readonly strict?: true;
  /** Part of `npm test`: about a tenth, only on NSD, BIND and Unbound. */
  readonly quick?: true;
};
