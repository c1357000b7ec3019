/** Our ladder and those of rivals, as their code or their documentation has them. */

import { checkDepthOf } from '../../src/core/diagnosis/check-depth.ts';
import { whenNext } from '../../src/core/life/check.ts';
import { VERIFY_WINDOW_MS } from '../../src/core/life/ladder.ts';
import type { Draw } from './arrivals.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export type Ladder = {
  readonly name: string;
  /** The age in milliseconds of the check after the `nth` one, which was at `ageMs`. The first, at 0, is everybody's. */
  next(ageMs: number, nth: number, draw: Draw): number;
  /** Nobody looks after that. */
  readonly untilMs: number;
  /** For one domain in whose DNS nothing changes: tells how many questions its check at each further age asks. */
  startCounting(): (ageMs: number) => number;
};

/** Any moment; ages count from it. */
const added = new Date('2026-01-01T00:00:00Z');

/** The service's own: what it calls after every check that moved nothing, jitter and the end of the window included. */
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
 * Of our looks at a name that does not exist, in a zone with two name servers and no other customer's domain. Counted at
 * name servers by test/dns/observe-light.test.ts; the addresses of the name servers are known from their other zones.
 */
export const questions = { light: 1, compare: 2, full: 12, delegation: 1 } as const;
/** What a registry said of a delegation (src/dns/servers/zone.ts). */
const REMEMBERED_MS = 10 * MINUTE;

/** Nobody watches. */
function depthAt(ageMs: number, checkedInFullAt: number) {
  const state = { status: 'pending', pendingSince: added } as const;
  const observation = { at: new Date(added.getTime() + checkedInFullAt).toISOString() };
  const earlier = { state, attempts: 1, observation, watchedUntil: null, findings: [] };
  return checkDepthOf(earlier, new Date(added.getTime() + ageMs), VERIFY_WINDOW_MS);
}

/** Of a rival's check one question is counted, to a resolver: that is the least. What the resolver asks for it is not. */
const rival = (name: string, untilMs: number, waitMs: (age: number, nth: number) => number) => ({
  name,
  next: (ageMs: number, nth: number) => ageMs + waitMs(ageMs, nth),
  untilMs,
  startCounting: () => () => 1,
});

/** Waits one after the other, and the last one again and again. */
const listed = (waits: readonly number[]) => (_: number, nth: number) =>
  waits[Math.min(nth, waits.length - 1)] ?? 0;

const times = (count: number, wait: number) => Array.from({ length: count }, () => wait);

/** "60 × 1.05ⁿ" for ten looks, "60 × 1.15ⁿ" for the next thirty, then four hours; whole seconds. */
const cloudflareWait = (_: number, nth: number) =>
  nth < 40 ? Math.floor(60 * (nth < 10 ? 1.05 : 1.15) ** nth) * SECOND : 4 * HOUR;

/** Retries of an ACME client; the first is a minute after the first try. */
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
  // A cron job, so that the first check comes at any minute of the hour.
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
