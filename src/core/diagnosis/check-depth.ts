/** Most checks find no change, so they can be shallow. Any change triggers a full check at once. */

import { windowEnd } from '../life/ladder.ts';
import type { DomainState } from '../life/lifecycle.ts';
import { MINUTE } from '../time.ts';
import type { Finding, FindingCode } from './findings.ts';
import type { Observation } from './observation.ts';

/** `light`: one of the zone's name servers. `compare`: all of them. `full`: everything. */
export type CheckDepth = 'light' | 'compare' | 'full';

/** A full check sees more than a comparison, so it is due after this time. */
const FULL_CHECK_MS = 15 * MINUTE;

/** A light check cannot see these clear: they depend on the whole NS set or our CA settings. */
const beyondLightChecks: readonly FindingCode[] = [
  'name_servers_disagree',
  'caa_blocks',
  'caa_unknown',
];

export type EarlierCheck = {
  readonly state: DomainState;
  readonly findings: readonly Pick<Finding, 'code'>[];
  /** Since the domain was added or verified again. */
  readonly attempts: number;
  /** Of the last full check. */
  readonly observation: Pick<Observation, 'at'> | null;
  /** Approximately when the last viewer of the domain's page leaves. */
  readonly watchedUntil: Date | null;
};

/**
 * While a person has the page open, every name server is compared. A full check is due each time
 * the age doubles: after 15 and 30 minutes, 1 hour, 2 hours. The window ends with a full check,
 * because its findings stay with the customer. Pure.
 */
export function checkDepthOf(domain: EarlierCheck, now: Date, windowMs: number): CheckDepth {
  const { state, attempts, observation } = domain;
  const at = Date.parse(observation?.at ?? '');
  const age = now.getTime() - at;
  if (!(age >= 0)) return 'full';
  if (state.status !== 'pending') return age < FULL_CHECK_MS ? 'compare' : 'full';
  const { pendingSince } = state;
  if (attempts === 0 || now >= windowEnd(pendingSince, windowMs)) return 'full';
  if (!mayBeLight(domain, now)) return age < FULL_CHECK_MS ? 'compare' : 'full';
  const waitedThen = at - pendingSince.getTime();
  return age < Math.max(FULL_CHECK_MS, waitedThen) ? 'light' : 'full';
}

function mayBeLight({ watchedUntil, findings }: EarlierCheck, now: Date): boolean {
  const isWatched = watchedUntil !== null && watchedUntil > now;
  return !isWatched && !findings.some(({ code }) => beyondLightChecks.includes(code));
}
