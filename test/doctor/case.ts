/** One row of the doctor's tables: a host name in a small world, and what the doctor must say of it. */
import type { FindingCode } from '../../src/core/diagnosis/findings.ts';
import type { Verdict } from '../../src/core/life/lifecycle.ts';
import type { TreeZone } from './zones.ts';

export type Case = {
  readonly title: string;
  /** No two cases may have a zone of the same name, unless it is the same object. */
  readonly zones: readonly TreeZone[];
  readonly hostname: string;
  readonly verdict: Verdict;
  /** The first finding; null: there is none. */
  readonly leading: FindingCode | null;
  /** Codes that must be among the others. */
  readonly also?: readonly FindingCode[];
  /** Type and name of the record to create, as in `CNAME docs`; its value is always the target. */
  readonly record: string;
  /** What the words of the leading finding, or of its hints, must have; null only where there is no finding. */
  readonly says: string | null;
  /** What our own resolver does: nothing comes from it, or it declines everything. */
  readonly resolver?: 'silent' | 'refuses';
  /** Private addresses at the name are worth a finding, as outside of laboratories. */
  readonly strict?: true;
  /** Part of `npm test`: about every tenth, and on NSD, BIND and Unbound alone. */
  readonly quick?: true;
};
