/**
 * How closely to check a name whose DNS an earlier check found wrong. Nearly every check finds it as it was, so most of
 * them need not see much: whatever they find new is checked in full at once.
 */

import { windowEnd } from '../life/ladder.ts';
import type { DomainState } from '../life/lifecycle.ts';
import type { Finding, FindingCode } from './findings.ts';
import type { Observation } from './observation.ts';

/**
 * `light`: one of the zone's servers, any of them, is asked whether it shows what it did. `compare`: each of them is.
 * `full`: everything is checked, whatever is known from before.
 */
export type CheckDepth = 'light' | 'compare' | 'full';

/** In milliseconds: after this long a full check is due, whatever the servers show: it sees more. Our choice. */
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
  /** Somebody has its page open until then, about; null: nobody has had. */
  readonly watchedUntil: Date | null;
  /** When the next check was to run; null: none was planned. */
  readonly nextCheckAt: Date | null;
  /** The watch sees whatever could make it right, between checks that are far apart (src/core/watch/coverage.ts). */
  readonly isCovered: boolean;
};

/** Jobs may run a little before their time. A check that comes sooner than that was brought forward. Our choice. */
const EARLY_MS = 2_000;

/**
 * Decides how closely to check. Somebody who has the page open sees every change at every server. Where nobody has, only the
 * moment counts at which the record is right. Beside the watch the checks on the ladder are full ones: they see the rest.
 * Elsewhere full checks are due at twice the age each: 15 minutes, 30, an hour, two; and when the window ends, because the
 * findings of that check are what its customer is left with. Pure.
 */
export function checkDepthOf(domain: EarlierCheck, now: Date, windowMs: number): CheckDepth {
  const { state, attempts, observation } = domain;
  const at = Date.parse(observation?.at ?? '');
  const age = now.getTime() - at;
  if (!(age >= 0)) return 'full';
  if (state.status !== 'pending') return age < FULL_CHECK_MS ? 'compare' : 'full';
  const { pendingSince } = state;
  if (attempts === 0 || now >= windowEnd(pendingSince, windowMs)) return 'full';
  if (isToCompare(domain, now)) return age < FULL_CHECK_MS ? 'compare' : 'full';
  const waitedThen = at - pendingSince.getTime();
  return domain.isCovered || age >= Math.max(FULL_CHECK_MS, waitedThen) ? 'full' : 'light';
}

/** Whether asking one server is not enough. */
function isToCompare(domain: EarlierCheck, now: Date): boolean {
  const { watchedUntil, findings } = domain;
  const isPageOpen = watchedUntil !== null && watchedUntil > now;
  const isBeyondLight = findings.some(({ code }) => beyondLightChecks.includes(code));
  return isPageOpen || isBeyondLight || isBroughtForward(domain, now);
}

/** One of the servers has shown something new: which of them, the check finds out. */
function isBroughtForward({ nextCheckAt }: EarlierCheck, now: Date): boolean {
  return nextCheckAt !== null && now.getTime() < nextCheckAt.getTime() - EARLY_MS;
}
