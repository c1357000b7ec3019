/** When to try for a certificate again. It follows the authority's budget, not the DNS ladder. */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * Waits after the first, second and third refusal; daily from then on. Measured from the first try that is
 * 0, 1, 11 and 100 min: two refusals' room below the 5 failed authorisations an hour that Let's Encrypt
 * allows for one name (letsencrypt.org/docs/rate-limits, read 2026-08).
 */
export const attemptWaitsMs: readonly number[] = [1 * MINUTE, 10 * MINUTE, 89 * MINUTE];

/** The next try after `refusals` refusals (1 or more), never before the time the authority asked us to wait for. */
export function nextAttemptAt(refusals: number, now: Date, retryAfter: Date | null): Date {
  const wait = attemptWaitsMs[refusals - 1] ?? DAY;
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}
