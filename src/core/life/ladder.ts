/**
 * When to check a domain again. The wait is a share of the time already waited, so it adds at most
 * 5 % to the customer's own delay.
 */
import { HOUR, MINUTE, SECOND } from '../time.ts';

/** DNS propagation takes "up to 48 hours (often a few minutes)" (docs/interface.md, section 8). */
export const VERIFY_WINDOW_MS = 48 * HOUR;

/**
 * Waits of a pending domain. Shares are fractions (0 to 1) of the time since its window started.
 */
export const ladder = {
  shareOfAge: 0.05,
  waitMsMin: 15 * SECOND,
  waitMsMax: 5 * MINUTE,
  /** While the domain's page is open. */
  watchedWaitMs: 5 * SECOND,
  /**
   * When one of the zone's servers already has the record: most others follow within minutes, some
   * never.
   */
  onItsWayShare: 0.01,
  /** Random variation of each wait, up or down. */
  jitterShare: 0.1,
} as const;

/** When a sweep checks domains that have no job. */
export const recheckWaits = {
  /**
   * Below an hour, so that with jitter and the sweep's delay each live domain is checked hourly.
   */
  liveMs: 50 * MINUTE,
  /** After a first miss; the second must follow at least DRIFT_CONFIRM_MS later (lifecycle.ts). */
  missedMs: 10 * MINUTE,
  /** After an inconclusive check, which neither confirms nor clears the miss. */
  unsureMs: MINUTE,
  /** When an address does not serve the certificate, so that this is updated soon. */
  notServedMs: 5 * MINUTE,
  /**
   * A share of the time since it drifted: a fix is seen soon, and an abandoned domain costs little.
   */
  driftedShare: 0.05,
  driftedMsMin: MINUTE,
  driftedMsMax: 15 * MINUTE,
  failedMs: 24 * HOUR,
  failedForMs: 30 * 24 * HOUR,
} as const;

/** Minimum wait, however short a test lab's VERIFY_WINDOW is. */
const FLOOR_MS = 250;

/** Why to check sooner: the page is open, or some of the zone's servers have the record. */
export type Eagerness = false | 'watched' | 'on_its_way';

/** What the wait of a pending domain depends on. */
export type LadderInput = {
  /** When its window started. */
  readonly pendingSince: Date;
  readonly now: Date;
  /** `VERIFY_WINDOW_MS` except in test labs. */
  readonly windowMs: number;
  readonly eager: Eagerness;
  /** 0 to 1; spreads domains that were added together. */
  readonly jitter: number;
};

/**
 * Returns the milliseconds until the next check. A window shorter than 48 h (a test lab's) shortens
 * every wait by the same factor.
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

/** The factor by which a short window shortens every wait; 1 in production. */
export function scaleOf(windowMs: number): number {
  return Math.min(1, windowMs / VERIFY_WINDOW_MS);
}

type Settled =
  | { readonly status: 'live'; readonly missedAt: Date | null }
  | { readonly status: 'drifted'; readonly driftedAt: Date }
  | { readonly status: 'failed'; readonly failedAt: Date };

/** When a sweep next checks a domain without a job; null: never, its 30 days are over. */
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

/** Returns the factor for a jitter of 0 to 1: ± 10 %, so that domains added together spread out. */
export function spreadOf(jitter: number): number {
  return 1 + ladder.jitterShare * (2 * jitter - 1);
}

export function windowEnd(pendingSince: Date, windowMs: number): Date {
  return new Date(pendingSince.getTime() + windowMs);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
