/** When to place, resume and retry orders, by the CA's rate limits. */
import { DAY, MINUTE, SECOND } from '../time.ts';

/** After the first, second and third refusal since verification; daily after that. */
export const orderWaitsMs: readonly number[] = [1 * MINUTE, 10 * MINUTE, 89 * MINUTE];

/** `retryAfter`: no new order before then. */
export type OrderRefusal = { readonly at: Date; readonly retryAfter: Date | null };

/** `refusals`: 1 or more. Never before `retryAfter`. */
export function nextAttemptAt(refusals: number, now: Date, retryAfter: Date | null): Date {
  const wait = orderWaitsMs[refusals - 1] ?? DAY;
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}

/** In the past without a Retry-After. */
export function mayOrderAt(refusals: readonly OrderRefusal[]): Date {
  return new Date(Math.max(0, ...refusals.map(({ retryAfter }) => retryAfter?.getTime() ?? 0)));
}

/**
 * Resumes an open order: after a tenth of the elapsed time, from 15 s to 5 min, never before
 * `retryAfter`. `since`: when the domain was verified, or the renewal's order was opened.
 */
export function takeUpAgainAt(since: Date, now: Date, retryAfter: Date | null): Date {
  const share = 0.1 * (now.getTime() - since.getTime());
  const wait = Math.min(5 * MINUTE, Math.max(15 * SECOND, share));
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}
