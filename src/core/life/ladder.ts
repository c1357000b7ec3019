/**
 * When to check a domain again that is not right yet.
 * A wait is a share of the time already waited, so the delay it adds is never more than 5 % of the customer's own.
 */
import { HOUR, MINUTE, SECOND } from '../time.ts';

/** DNS propagation takes "up to 48 hours (often a few minutes)" (interface document, part 8). */
export const VERIFY_WINDOW_MS = 48 * HOUR;

/** The waits of a pending domain. Shares are fractions of the time since its window began. */
export const ladder = {
  shareOfAge: 0.05,
  waitMsMin: 15 * SECOND,
  waitMsMax: 5 * MINUTE,
  /** While somebody has the page open. */
  pageOpenMs: 5 * SECOND,
  /** Where one of the zone's servers has the record already: most follow within minutes, some never. Our choice. */
  onItsWayShare: 0.01,
  /** Where the watch sees the change and brings the check forward: the age doubles from check to check, up to this wait. */
  besideWatchShare: 1,
  besideWatchMsMax: 2 * HOUR,
  /** A wait is longer or shorter by this share of itself at most. */
  jitterShare: 0.1,
} as const;

/** When domains that wait for nothing are checked: in batches from the database instead of by a job each. */
export const recheckWaits = {
  /** Below an hour, so that with its jitter and a batch's wait each live domain is checked once an hour. */
  liveMs: 50 * MINUTE,
  /** After a first miss; the second must come 10 minutes after it or later (lifecycle.ts). */
  missedMs: 10 * MINUTE,
  /** Where that check was not conclusive: the miss is neither confirmed nor over. Our choice. */
  unsureMs: MINUTE,
  /** Where an address does not show its certificate: what was said of that is not to stand for an hour. Our choice. */
  notServedMs: 5 * MINUTE,
  /** A share of the time since it drifted: a repair is seen soon, and an abandoned domain costs little. */
  driftedShare: 0.05,
  driftedMsMin: MINUTE,
  driftedMsMax: 15 * MINUTE,
  failedMs: 24 * HOUR,
  failedForMs: 30 * 24 * HOUR,
} as const;

/** No wait is shorter than this, however short a laboratory makes the window. */
const FLOOR_MS = 250;

/**
 * What the waits of a pending domain go by. `page_open`: somebody reads its page. `on_its_way`: some of the zone's servers have
 * the record. `beside_watch`: the watch sees whatever could make it right (src/core/watch/coverage.ts).
 */
export type Pacing = 'ordinary' | 'page_open' | 'on_its_way' | 'beside_watch';

/** What the wait of a pending domain depends on. */
export type LadderInput = {
  /** When its window began. */
  readonly pendingSince: Date;
  readonly now: Date;
  /** How long its window is: `VERIFY_WINDOW_MS` but in laboratories. */
  readonly windowMs: number;
  readonly pacing: Pacing;
  /** 0 to 1, drawn by the caller; spreads domains that were added together. */
  readonly jitter: number;
};

/**
 * The wait in milliseconds until the next check.
 * A window shorter than 48 h (a laboratory's) shortens every step by the same factor.
 */
export function nextWaitMs({ pendingSince, now, windowMs, pacing, jitter }: LadderInput): number {
  const scale = scaleOf(windowMs);
  const step = stepMs((now.getTime() - pendingSince.getTime()) / scale, pacing);
  return Math.round(Math.max(FLOOR_MS, step * scale * spreadOf(jitter)));
}

/** The wait at an age, in ms of a window of 48 h. */
function stepMs(age: number, pacing: Pacing): number {
  const { waitMsMin, waitMsMax, pageOpenMs, besideWatchMsMax } = ladder;
  const ordinary = clamp(ladder.shareOfAge * age, waitMsMin, waitMsMax);
  switch (pacing) {
    case 'ordinary':
      return ordinary;
    case 'page_open':
      return pageOpenMs;
    case 'on_its_way':
      return clamp(ladder.onItsWayShare * age, pageOpenMs, ordinary);
    case 'beside_watch':
      return clamp(ladder.besideWatchShare * age, waitMsMin, besideWatchMsMax);
  }
}

/** By how much a laboratory's short window shortens every wait; 1 in production. */
export function scaleOf(windowMs: number): number {
  return Math.min(1, windowMs / VERIFY_WINDOW_MS);
}

type Settled =
  | { readonly status: 'live'; readonly missedAt: Date | null }
  | { readonly status: 'drifted'; readonly driftedAt: Date }
  | { readonly status: 'failed'; readonly failedAt: Date };

/** When a batch next checks a domain that waits for nothing; null: never again, its 30 days are over. */
export function recheckAt(
  state: Settled,
  { now, windowMs, jitter }: Pick<LadderInput, 'now' | 'windowMs' | 'jitter'>,
): Date | null {
  const scale = scaleOf(windowMs);
  const after = (from: Date, ms: number) =>
    new Date(Math.round(from.getTime() + Math.max(FLOOR_MS, ms * scale)));
  switch (state.status) {
    case 'live': {
      if (state.missedAt === null) return after(now, recheckWaits.liveMs * spreadOf(jitter));
      const second = after(state.missedAt, recheckWaits.missedMs);
      return second > now ? second : after(now, recheckWaits.unsureMs);
    }
    case 'drifted': {
      const share = recheckWaits.driftedShare * (now.getTime() - state.driftedAt.getTime());
      const { driftedMsMin, driftedMsMax } = recheckWaits;
      return after(now, clamp(share / scale, driftedMsMin, driftedMsMax) * spreadOf(jitter));
    }
    case 'failed': {
      const next = after(now, recheckWaits.failedMs);
      return next <= after(state.failedAt, recheckWaits.failedForMs) ? next : null;
    }
  }
}

/** The factor of a wait by its jitter, 0 to 1: ± 10 %, so that what began together does not stay together. */
export function spreadOf(jitter: number): number {
  return 1 + ladder.jitterShare * (2 * jitter - 1);
}

/** When the window of a pending domain ends. */
export function windowEnd(pendingSince: Date, windowMs: number): Date {
  return new Date(pendingSince.getTime() + windowMs);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
