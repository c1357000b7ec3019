/**
 * How closely to check a name that an earlier check found wrong. Most checks find no change, so
 * they can be shallow. Any change triggers a full check at once.
 */

import { windowEnd } from '../life/ladder.ts';
import type { DomainState } from '../life/lifecycle.ts';
import type { Finding, FindingCode } from './findings.ts';
import type { Observation } from './observation.ts';

/**
 * `light`: one name server of the zone is queried for changes. `compare`: every name server is
 * queried. `full`: everything is checked, regardless of earlier results.
 */
export type CheckDepth = 'light' | 'compare' | 'full';

/** A full check is due after this time, because it sees more than a comparison. */
const FULL_CHECK_MS = 15 * 60_000;

/**
 * A light check cannot see these findings clear. They depend on the whole NS set or on our CA
 * settings.
 */
const beyondLightChecks: readonly FindingCode[] = [
  'name_servers_disagree',
  'caa_blocks',
  'caa_unknown',
];

/** Results of the domain's earlier checks. */
export type EarlierCheck = {
  readonly state: DomainState;
  readonly findings: readonly Pick<Finding, 'code'>[];
  /** Checks since the domain was added or verified again. */
  readonly attempts: number;
  /** The last full check; null before the first. */
  readonly observation: Pick<Observation, 'at'> | null;
  /** Approximate time until which a person has the domain's page open; null: never opened. */
  readonly watchedUntil: Date | null;
};

/**
 * Decides how closely to check. While a person has the page open, every name server is compared.
 * Otherwise one query is enough. A full check is due each time the age doubles: after 15 and 30
 * minutes, 1 hour, 2 hours. The window also ends with a full check, because its findings stay with
 * the customer. Pure.
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

/** Whether one name server is enough: the page is closed, and no finding needs more. */
function mayBeLight({ watchedUntil, findings }: EarlierCheck, now: Date): boolean {
  const isWatched = watchedUntil !== null && watchedUntil > now;
  return !isWatched && !findings.some(({ code }) => beyondLightChecks.includes(code));
}
