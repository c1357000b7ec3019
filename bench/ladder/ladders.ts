/** Our ladder and those of rivals, as their code or their documentation has them. */

import { checkDepthOf } from '../../src/core/diagnosis/check-depth.ts';
import { whenNext } from '../../src/core/life/check.ts';
import { type Pacing, VERIFY_WINDOW_MS } from '../../src/core/life/ladder.ts';
import { paceOf, watchIntervals } from '../../src/core/watch/interval.ts';
import type { Draw } from './arrivals.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A moment at which a change would be seen, and what has been done between the one before and it. */
export type Step = {
  /** Since the domain was added, in ms. */
  readonly ageMs: number;
  readonly checks: number;
  readonly questions: number;
};

export type Ladder = {
  readonly name: string;
  /** What is done about one domain in whose DNS nothing changes, in time order. The check at adding is everybody's. */
  steps(draw: Draw): Iterable<Step>;
  /** What a step costs more that finds the change. */
  readonly found: Pick<Step, 'checks' | 'questions'>;
};

/** Any moment; ages count from it. */
const added = new Date('2026-01-01T00:00:00Z');

/**
 * Of our checks of a name that does not exist, in a zone with two name servers and no other customer's domain. Counted at
 * name servers by test/dns/observe-light.test.ts; the addresses of the name servers are known from their other zones.
 */
export const questions = { watch: 1, light: 1, compare: 2, full: 11, delegation: 1 } as const;
/** What a registry said of a delegation (src/dns/servers/zone.ts). */
const REMEMBERED_MS = 10 * MINUTE;

/**
 * The service's own, by what it calls after every check that moved nothing and after every question of the watch, jitter and the
 * end of the window included. The watch has one question under way for the name at a time, whatever its checks do.
 */
export const ours: Ladder = {
  name: 'signpost',
  *steps(draw) {
    let watchAt = watchInterval(0, draw);
    for (const check of checks('beside_watch', draw)) {
      for (; watchAt < check.ageMs; watchAt += watchInterval(watchAt, draw)) {
        yield { ageMs: watchAt, checks: 0, questions: questions.watch };
      }
      yield check;
    }
  },
  // The check that the watch brings forward sees a difference, and becomes a full one.
  found: { checks: 1, questions: questions.full },
};

/** With DNS_WATCH=false. */
export const oursUnwatched: Ladder = {
  name: 'signpost without the watch',
  steps: (draw) => checks('ordinary', draw),
  found: { checks: 0, questions: 0 },
};

function* checks(pacing: Pacing, draw: Draw): Iterable<Step> {
  let ageMs = 0;
  let checkedInFullAt = 0;
  let delegationAt = 0;
  while (ageMs < VERIFY_WINDOW_MS) {
    const rules = { now: at(ageMs), windowMs: VERIFY_WINDOW_MS, jitter: draw() };
    const { nextCheckAt } = whenNext({ status: 'pending', pendingSince: added }, rules, pacing);
    ageMs = (nextCheckAt ?? at(VERIFY_WINDOW_MS)).getTime() - added.getTime();
    const depth = depthAt(ageMs, checkedInFullAt, pacing === 'beside_watch');
    const isForgotten = ageMs - delegationAt >= REMEMBERED_MS;
    if (isForgotten) delegationAt = ageMs;
    if (depth === 'full') checkedInFullAt = ageMs;
    const asked = questions[depth] + (isForgotten ? questions.delegation : 0);
    yield { ageMs, checks: 1, questions: asked };
  }
}

/** As src/dns/watch/watch.ts has it where no operator is crowded: ± 5 %. */
function watchInterval(ageMs: number, draw: Draw): number {
  const pace = paceOf({ status: 'pending', since: 0 }, ageMs);
  return watchIntervals[pace] * (0.95 + 0.1 * draw());
}

function at(ageMs: number): Date {
  return new Date(added.getTime() + ageMs);
}

/** Nobody has the page open. */
function depthAt(ageMs: number, checkedInFullAt: number, isCovered: boolean) {
  const state = { status: 'pending', pendingSince: added } as const;
  const observation = { at: at(checkedInFullAt).toISOString() };
  const now = at(ageMs);
  const times = { watchedUntil: null, nextCheckAt: now };
  const earlier = { state, attempts: 1, observation, findings: [], isCovered, ...times };
  return checkDepthOf(earlier, now, VERIFY_WINDOW_MS);
}

/** Of a rival's check one question is counted, to a resolver: that is the least. What the resolver asks for it is not. */
function rival(
  name: string,
  untilMs: number,
  waitMs: (age: number, nth: number, draw: Draw) => number,
): Ladder {
  return {
    name,
    *steps(draw) {
      let ageMs = 0;
      for (let nth = 0; ; nth++) {
        ageMs += waitMs(ageMs, nth, draw);
        if (ageMs > untilMs) return;
        yield { ageMs, checks: 1, questions: 1 };
      }
    },
    found: { checks: 0, questions: 0 },
  };
}

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
  rival('dub', 30 * DAY, (_, nth, draw) => (nth === 0 ? draw() : 1) * HOUR),
  rival('certmagic', 30 * DAY, listed(certmagicWaits)),
  rival('acme.sh', 20 * MINUTE, () => 10 * SECOND),
  rival('fixed 1 min', 2 * DAY, () => MINUTE),
  rival('fixed 5 min', 2 * DAY, () => 5 * MINUTE),
  rival('doubling, 30 s to 1 h', 2 * DAY, (_, nth) => Math.min(HOUR, 2 ** nth * 30 * SECOND)),
];
