/**
 * How often a watched name is asked for: by its state and age, and less often where an operator of name servers, or one
 * address, holds more names than it may be asked for.
 */
import { HOUR, MINUTE, SECOND } from '../time.ts';
import type { WatchedStatus } from './watched-name.ts';

/** What decides how often a name is asked for; `young`: pending for half an hour at most, `late`: for more than six hours. */
export type Pace = 'young' | 'late' | WatchedStatus;

/** Time between two questions about a name, in ms. */
export const watchIntervals: { readonly [P in Pace]: number } = {
  young: 15 * SECOND,
  pending: MINUTE,
  late: 75 * SECOND,
  drifted: MINUTE,
  live: 5 * MINUTE,
};

/** For so long after its window began somebody may be sitting there, changing records. */
const YOUNG_MS = 30 * MINUTE;
/** After so long a name is asked for a little less often, so that 48 h take no more questions than one a minute. Our choice. */
const LATE_MS = 6 * HOUR;

/** Returns the pace of a name; `since` and `now` in ms since 1970, `scale` as `scaleOf` of the ladder. */
export function paceOf(
  { status, since }: { readonly status: WatchedStatus; readonly since: number },
  now: number,
  scale = 1,
): Pace {
  if (status !== 'pending') return status;
  const age = (now - since) / scale;
  return age < YOUNG_MS ? 'young' : age < LATE_MS ? 'pending' : 'late';
}

/** How many names of each pace an operator or an address is asked for; a name counts there by its share of questions. */
export type Load = { [P in Pace]: number };

/** Nobody is asked for anything yet. */
export function noLoad(): Load {
  return { young: 0, pending: 0, late: 0, drifted: 0, live: 0 };
}

/**
 * Returns the factor by which the intervals of one pace grow where `load` asks for more than `perSecond` questions; 1 where
 * it does not. Young names have half of the rate for themselves, and what the others leave.
 */
export function stretchOf(load: Load, pace: Pace, perSecond: number, scale = 1): number {
  const wanted = (of: Pace) => (load[of] * SECOND) / (watchIntervals[of] * scale);
  const young = wanted('young');
  const others = wanted('pending') + wanted('late') + wanted('drifted') + wanted('live');
  const youngMay = Math.max(perSecond / 2, perSecond - others);
  if (pace === 'young') return Math.max(1, young / youngMay);
  const left = perSecond - Math.min(young, youngMay);
  return others <= left ? 1 : others / left;
}
