/** When to try for a certificate again. It follows the authority's budget, not the DNS ladder. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Waits after the first, second and third refusal since verification; daily from then on. Measured from the
 * first try that is 0, 1, 11 and 100 min.
 */
export const attemptWaitsMs: readonly number[] = [1 * MINUTE, 10 * MINUTE, 89 * MINUTE];

/**
 * However often verify is pressed: one below the 5 failed authorisations an hour that Let's Encrypt allows for
 * one name (letsencrypt.org/docs/rate-limits, read 2026-08).
 */
export const REFUSALS_PER_HOUR = 4;

/** An order that the authority refused. */
export type Refusal = { readonly at: Date; readonly retryAfter: Date | null };

/** The next try after `refusals` refusals (1 or more), never before the time the authority asked us to wait for. */
export function nextAttemptAt(refusals: number, now: Date, retryAfter: Date | null): Date {
  const wait = attemptWaitsMs[refusals - 1] ?? DAY;
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}

/**
 * The earliest time for a new order, whoever asks for it; in the past where it may be placed at once.
 * `refusals`: all of this name that are younger than an hour or ask us to wait, newest first.
 */
export function mayOrderAt(refusals: readonly Refusal[]): Date {
  const asked = refusals.map(({ retryAfter }) => retryAfter?.getTime() ?? 0);
  const oldestThatCounts = refusals[REFUSALS_PER_HOUR - 1];
  const budget = oldestThatCounts === undefined ? 0 : oldestThatCounts.at.getTime() + HOUR;
  return new Date(Math.max(0, budget, ...asked));
}

/**
 * When to ask an authority again that could not be reached or has not finished: a tenth of the time waited
 * already, from 15 s to 5 min, and never before it asked us to. The order stays open; this is no refusal.
 */
export function takeUpAgainAt(verifiedAt: Date, now: Date, retryAfter: Date | null): Date {
  const share = 0.1 * (now.getTime() - verifiedAt.getTime());
  const wait = Math.min(5 * MINUTE, Math.max(15 * SECOND, share));
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}
