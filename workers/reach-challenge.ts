/** Right before a new order: would the authority get its challenge, at each of the name's addresses by itself? */
import { takeUpAgainAt } from '../src/core/certificate-plan.ts';
import { isUnreached, type Probe } from '../src/core/escalation.ts';
import { probesInWords } from '../src/core/escalation-words.ts';
import type { IssueWork } from '../src/db/issue-work.ts';

export type ReachDeps = {
  /** Asks each address of the name for a challenge; empty where no authority ever asks, and where the operator wants none. */
  probe(hostname: string): Promise<readonly Probe[]>;
  now(): Date;
};

/** Why no order is placed, and when the addresses are asked again; null where none of them fails. */
export async function whyUnreached(
  { probe, now }: ReachDeps,
  { domain, usable }: Pick<IssueWork, 'domain' | 'usable'>,
): Promise<{ readonly until: Date; readonly note: string } | null> {
  const unreached = (await probe(domain.hostname)).filter(isUnreached);
  if (unreached.length === 0) return null;
  const { state } = domain;
  const since = state.status === 'verified' ? state.verifiedAt : usable?.issuedAt;
  const until = takeUpAgainAt(since ?? now(), now(), null);
  return { until, note: `no order yet: on ${probesInWords(unreached)}` };
}
