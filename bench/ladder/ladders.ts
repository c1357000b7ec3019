/** Our retry schedule and those of others, from their code or documentation. */

import { checkDepthOf } from '../../src/core/diagnosis/check-depth.ts';
import { whenNext } from '../../src/core/life/check.ts';
import { VERIFY_WINDOW_MS } from '../../src/core/life/ladder.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/time.ts';
import type { Draw } from './arrivals.ts';

export type Ladder = {
  readonly name: string;
  /** Age in milliseconds at the next check, after the `nth` one at `ageMs`. All start with a check at age 0. */
  next(ageMs: number, nth: number, draw: Draw): number;
  /** Age after which no check follows. */
  readonly untilMs: number;
  /** For one domain with unchanged DNS: returns the number of queries of its check at each later age. */
  startCounting(): (ageMs: number) => number;
};

/** An arbitrary time; ages count from it. */
const added = new Date('2026-01-01T00:00:00Z');

/** The service's own schedule after a check without a change, with jitter and the end of the window. */
export const ours: Ladder = {
  name: 'signpost',
  next(ageMs, _, draw) {
    const now = new Date(added.getTime() + ageMs);
    const rules = { now, windowMs: VERIFY_WINDOW_MS, timeScale: 1, jitter: draw() };
    const { nextCheckAt } = whenNext({ status: 'pending', pendingSince: added }, rules, false);
    return (nextCheckAt?.getTime() ?? Number.POSITIVE_INFINITY) - added.getTime();
  },
  untilMs: VERIFY_WINDOW_MS,
  startCounting() {
    let checkedInFullAt = 0;
    let delegationAt = 0;
    return (ageMs) => {
      const depth = depthAt(ageMs, checkedInFullAt);
      const isForgotten = ageMs - delegationAt >= REMEMBERED_MS;
      if (isForgotten) delegationAt = ageMs;
      if (depth === 'full') checkedInFullAt = ageMs;
      return questions[depth] + (isForgotten ? questions.delegation : 0);
    };
  },
};

/**
 * Queries of a check of a name that does not exist, in a zone with two name servers and only this customer's domain.
 * test/dns/observe-light.test.ts counts them at name servers. Addresses of the name servers are cached.
 */
export const questions = { light: 1, compare: 2, full: 12, delegation: 1 } as const;
/** Cache time of a registry's delegation (src/dns/servers/zone.ts). */
const REMEMBERED_MS = 10 * MINUTE;

/** The domain's page is closed. */
function depthAt(ageMs: number, checkedInFullAt: number) {
  const state = { status: 'pending', pendingSince: added } as const;
  const observation = { at: new Date(added.getTime() + checkedInFullAt).toISOString() };
  const earlier = { state, attempts: 1, observation, watchedUntil: null, findings: [] };
  return checkDepthOf(earlier, new Date(added.getTime() + ageMs), VERIFY_WINDOW_MS);
}

/** Lower bound for a rival's check: one query to a resolver, without the resolver's own queries. */
const rival = (name: string, untilMs: number, waitMs: (age: number, nth: number) => number) => ({
  name,
  next: (ageMs: number, nth: number) => ageMs + waitMs(ageMs, nth),
  untilMs,
  startCounting: () => () => 1,
});

/** The waits in order; the last one repeats. */
const listed = (waits: readonly number[]) => (_: number, nth: number) =>
  waits[Math.min(nth, waits.length - 1)] ?? 0;

const times = (count: number, wait: number) => Array.from({ length: count }, () => wait);

/** "60 × 1.05ⁿ" for ten checks, "60 × 1.15ⁿ" for the next thirty, then four hours; whole seconds. */
const cloudflareWait = (_: number, nth: number) =>
  nth < 40 ? Math.floor(60 * (nth < 10 ? 1.05 : 1.15) ** nth) * SECOND : 4 * HOUR;

/** Retries of an ACME client; the first is a minute after the first attempt. */
const certmagicWaits = [
  ...[1, 2, 2, 5, 10, 10, 10, ...times(4, 20), ...times(6, 30)].map((each) => each * MINUTE),
  ...[...times(3, 1), ...times(2, 2), ...times(2, 3), 6].map((each) => each * HOUR),
];

function vutuvWait(age: number): number {
  if (age < 15 * MINUTE) return 2 * MINUTE;
  if (age < 2 * HOUR) return 10 * MINUTE;
  return age < DAY ? HOUR : 6 * HOUR;
}

export const rivals: readonly Ladder[] = [
  rival('Cloudflare hostname', 7 * DAY, cloudflareWait),
  rival('Netlify', 72 * HOUR, (age) => (age < DAY ? 10 * MINUTE : HOUR)),
  rival('Entri', 72 * HOUR, (_, nth) => 2 ** nth * MINUTE),
  rival('unkey', DAY, () => MINUTE),
  rival('stacker.news', 2 * DAY, (age) => (age < HOUR ? 30 * SECOND : 5 * MINUTE)),
  rival('vutuv', 30 * DAY, vutuvWait),
  // A cron job, so the first check comes at a random minute of the hour.
  {
    ...rival('dub', 30 * DAY, () => HOUR),
    next: (age, nth, draw) => age + (nth === 0 ? draw() : 1) * HOUR,
  },
  rival('certmagic', 30 * DAY, listed(certmagicWaits)),
  rival('acme.sh', 20 * MINUTE, () => 10 * SECOND),
  rival('fixed 1 min', 2 * DAY, () => MINUTE),
  rival('fixed 5 min', 2 * DAY, () => 5 * MINUTE),
  rival('doubling, 30 s to 1 h', 2 * DAY, (_, nth) => Math.min(HOUR, 2 ** nth * 30 * SECOND)),
];
