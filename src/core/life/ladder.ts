/** Backoff between checks: a share of the time since the window started, within limits, with jitter. */
import { HOUR, MINUTE, SECOND, scaledMs, WAIT_MS_MIN } from '../time.ts';
import { drift } from './lifecycle.ts';

/** DNS propagation takes "up to 48 hours (often a few minutes)" (docs/interface.md, section 8). */
export const VERIFY_WINDOW_MS = 48 * HOUR;

/** Shares are fractions (0 to 1) of the time since the window started. */
export const ladder = {
  shareOfAge: 0.05,
  waitMsMin: 15 * SECOND,
  waitMsMax: 5 * MINUTE,
  /** While the domain's page is open. */
  watchedWaitMs: 5 * SECOND,
  /** When one of the zone's servers has the record: most others follow within minutes. */
  onItsWayShare: 0.01,
  jitterShare: 0.1,
} as const;

/** When a sweep checks domains that have no job. */
export const recheckWaits = {
  /** With jitter and the sweep's delay, each live domain is checked hourly. */
  liveMs: 50 * MINUTE,
  missedMs: drift.apartMs,
  /** After an inconclusive check, which neither confirms nor clears a miss. */
  unsureMs: MINUTE,
  /** After a failure of our own resolvers or network, in any state: within a minute of its end. */
  oursMs: 40 * SECOND,
  /** Soon, so that the page shows when an address serves the certificate. */
  notServedMs: 5 * MINUTE,
  /** A share of the time since it drifted. */
  driftedShare: 0.05,
  driftedMsMin: MINUTE,
  driftedMsMax: 15 * MINUTE,
  failedMs: 24 * HOUR,
  failedForMs: 30 * 24 * HOUR,
} as const;

export type Eagerness = false | 'watched' | 'on_its_way';

export type LadderInput = {
  readonly pendingSince: Date;
  readonly now: Date;
  readonly timeScale: number;
  readonly eager: Eagerness;
  /** 0 to 1; spreads domains that were added together. */
  readonly jitter: number;
};

export function nextWaitMs({ pendingSince, now, timeScale, eager, jitter }: LadderInput): number {
  const age = now.getTime() - pendingSince.getTime();
  const ordinary = clamp(
    ladder.shareOfAge * age,
    ladder.waitMsMin / timeScale,
    ladder.waitMsMax / timeScale,
  );
  const watched = ladder.watchedWaitMs / timeScale;
  const onItsWay = clamp(ladder.onItsWayShare * age, watched, ordinary);
  const step = eager === false ? ordinary : eager === 'watched' ? watched : onItsWay;
  return Math.round(Math.max(WAIT_MS_MIN, step * spreadOf(jitter)));
}

type Settled =
  | { readonly status: 'verified' }
  | { readonly status: 'live'; readonly missedAt: Date | null }
  | { readonly status: 'drifted'; readonly driftedAt: Date }
  | { readonly status: 'failed'; readonly failedAt: Date };

/** `verified`: after an inconclusive check. Null: never, `failedForMs` is over. */
export function recheckAt(
  state: Settled,
  { now, timeScale, jitter }: Pick<LadderInput, 'now' | 'timeScale' | 'jitter'>,
): Date | null {
  const after = (from: Date, ms: number) => new Date(from.getTime() + scaledMs(ms, timeScale));
  switch (state.status) {
    case 'verified':
      return after(now, recheckWaits.unsureMs);
    case 'live': {
      if (state.missedAt === null) return after(now, recheckWaits.liveMs * spreadOf(jitter));
      const second = after(state.missedAt, recheckWaits.missedMs);
      return second > now ? second : after(now, recheckWaits.unsureMs);
    }
    case 'drifted': {
      const share = recheckWaits.driftedShare * (now.getTime() - state.driftedAt.getTime());
      const { driftedMsMin, driftedMsMax } = recheckWaits;
      return after(now, clamp(share * timeScale, driftedMsMin, driftedMsMax) * spreadOf(jitter));
    }
    case 'failed': {
      const next = after(now, recheckWaits.failedMs);
      return next <= after(state.failedAt, recheckWaits.failedForMs) ? next : null;
    }
  }
}

export function spreadOf(jitter: number): number {
  return 1 + ladder.jitterShare * (2 * jitter - 1);
}

export function windowEnd(pendingSince: Date, windowMs: number): Date {
  return new Date(pendingSince.getTime() + windowMs);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
