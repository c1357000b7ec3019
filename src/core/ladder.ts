/**
 * When to look again at a domain that is not right yet.
 * A wait is a share of the time already waited, so the delay it adds is never more than 5 % of the customer's own.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** DNS propagation takes "up to 48 hours (often a few minutes)" (interface document, part 8). */
export const VERIFY_WINDOW_MS = 48 * HOUR;

export const ladder = {
  shareOfAge: 0.05,
  waitMsMin: 15 * SECOND,
  waitMsMax: 5 * MINUTE,
  /** While somebody watches, or one of the zone's servers already has the record. */
  watchedWaitMs: 5 * SECOND,
  jitterShare: 0.1,
} as const;

/** No wait is shorter than this, however short a laboratory makes the window. */
const FLOOR_MS = 250;

export type LadderInput = {
  readonly pendingSince: Date;
  readonly now: Date;
  readonly windowMs: number;
  /** Somebody is looking, or the record is on its way: look again soon. */
  readonly eager: boolean;
  /** 0 to 1, drawn by the caller; spreads domains that were added together. */
  readonly jitter: number;
};

/**
 * The wait in milliseconds until the next look.
 * A window shorter than 48 h (a laboratory's) shortens every step by the same factor.
 */
export function nextWaitMs({ pendingSince, now, windowMs, eager, jitter }: LadderInput): number {
  const scale = Math.min(1, windowMs / VERIFY_WINDOW_MS);
  const share = ladder.shareOfAge * (now.getTime() - pendingSince.getTime());
  const step = eager
    ? ladder.watchedWaitMs * scale
    : clamp(share, ladder.waitMsMin * scale, ladder.waitMsMax * scale);
  const spread = 1 + ladder.jitterShare * (2 * jitter - 1);
  return Math.round(Math.max(FLOOR_MS, step * spread));
}

/** When the window of a pending domain ends. */
export function windowEnd(pendingSince: Date, windowMs: number): Date {
  return new Date(pendingSince.getTime() + windowMs);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
