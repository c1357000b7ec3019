/**
 * How closely to check a name whose DNS an earlier check found wrong. Nearly every check finds it as it was, so most of
 * them need not see much: whatever they find new is checked in full at once.
 */

import { windowEnd } from '../life/ladder.ts';
import type { DomainState } from '../life/lifecycle.ts';
import type { Finding, FindingCode } from './findings.ts';
import type { Observation } from './observation.ts';

/**
 * `light`: one name server of the zone is queried for changes. `compare`: each of them is.
 * `full`: everything is checked, whatever is known from before.
 */
export type CheckDepth = 'light' | 'compare' | 'full';

/** In ms. After this long a full check is due, because it sees more than a comparison. */
export const FULL_CHECK_MS = 15 * 60_000;

/** A light check would not see them go: they end with the zone's own NS set, or with what we issue certificates with. */
const beyondLightChecks: readonly FindingCode[] = [
  'name_servers_disagree',
  'caa_blocks',
  'caa_unknown',
];

/** What the earlier checks of a domain left. */
export type EarlierCheck = {
  readonly state: DomainState;
  readonly findings: readonly Pick<Finding, 'code'>[];
  /** Checks since it was added or verified again. */
  readonly attempts: number;
  /** The last full check; null where there was none. */
  readonly observation: Pick<Observation, 'at'> | null;
  /** Until when someone has the domain's page open, approximately; null: never opened. */
  readonly watchedUntil: Date | null;
};

/**
 * Decides how closely to check. While someone has the page open, every name server is compared. Otherwise one query is
 * enough, and full checks are due each time the age doubles: after 15 and 30 minutes, 1 hour, 2 hours; and at the end of
 * the window, because its findings stay with the customer. Pure.
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

/** Whether one name server is enough: no one watches, and it can show every change that matters. */
function mayBeLight({ watchedUntil, findings }: EarlierCheck, now: Date): boolean {
  const isWatched = watchedUntil !== null && watchedUntil > now;
  return !isWatched && !findings.some(({ code }) => beyondLightChecks.includes(code));
}
