/**
 * When to check a domain again that is not right yet.
 * A wait is a share of the time already waited, so the delay it adds is never more than 5 % of the customer's own.
 */
import { HOUR, MINUTE, SECOND } from '../time.ts';

/** DNS propagation takes "up to 48 hours (often a few minutes)" (interface document, part 8). */
export const VERIFY_WINDOW_MS = 48 * HOUR;

/** The waits of a pending domain. Shares are fractions (0 to 1) of the time since its window began. */
export const ladder = {
  shareOfAge: 0.05,
  waitMsMin: 15 * SECOND,
  waitMsMax: 5 * MINUTE,
  /** While somebody watches. */
  watchedWaitMs: 5 * SECOND,
  /** Where one of the zone's servers has the record already: most follow within minutes, some never. Our choice. */
  onItsWayShare: 0.01,
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

/** Why to check sooner than by the ladder: somebody watches, or some of the zone's servers have the record. */
export type Eagerness = false | 'watched' | 'on_its_way';

/** What the wait of a pending domain depends on. */
export type LadderInput = {
  /** When its window began. */
  readonly pendingSince: Date;
  readonly now: Date;
  /** How long its window is: `VERIFY_WINDOW_MS` but in laboratories. */
  readonly windowMs: number;
  readonly eager: Eagerness;
  /** 0 to 1, drawn by the caller; spreads domains that were added together. */
  readonly jitter: number;
};

/**
 * The wait in milliseconds until the next check.
 * A window shorter than 48 h (a laboratory's) shortens every step by the same factor.
 */
export function nextWaitMs({ pendingSince, now, windowMs, eager, jitter }: LadderInput): number {
  const scale = scaleOf(windowMs);
  const age = now.getTime() - pendingSince.getTime();
  const ordinary = clamp(
    ladder.shareOfAge * age,
    ladder.waitMsMin * scale,
    ladder.waitMsMax * scale,
  );
  const watched = ladder.watchedWaitMs * scale;
  const onItsWay = clamp(ladder.onItsWayShare * age, watched, ordinary);
  const step = eager === false ? ordinary : eager === 'watched' ? watched : onItsWay;
  return Math.round(Math.max(FLOOR_MS, step * spreadOf(jitter)));
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
