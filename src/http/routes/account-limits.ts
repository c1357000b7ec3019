/** How the API refuses what an account's limits have no room for. */
import { type LimitReached, limitReachedInWords } from '../../core/accounts/limit-words.ts';
import type { LimitName } from '../../core/accounts/limits.ts';
import type { Made } from '../../db/account-limits.ts';
import { type ErrorCode, type Refusal, refuse } from '../pipeline/errors.ts';

const codes = {
  domains: 'account_limit',
  additionsPerHour: 'too_many_domains',
  projects: 'account_limit',
  keys: 'account_limit',
  webhooks: 'account_limit',
  streams: 'too_many_streams',
  diagnoses: 'account_busy',
  requestsPerMinute: 'rate_limited',
} as const satisfies Readonly<Record<LimitName, ErrorCode>>;

/** 409 or 429, which says what, how much and until when; Retry-After where there is room again by itself. */
export function refuseLimit(reached: LimitReached, now: Date): Refusal {
  const { limit, until } = reached;
  const waitMs = until === null ? null : until.getTime() - now.getTime();
  const headers = waitMs === null ? {} : { 'retry-after': secondsOf(waitMs) };
  return refuse(codes[limit], limitReachedInWords(reached), headers);
}

function secondsOf(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1_000)));
}

/** Why nothing was made: its account is closed, or has no room for it. */
export function refuseMaking(
  result: Exclude<Made<unknown>, { readonly kind: 'made' }>,
  now: Date,
): Refusal {
  return result.kind === 'closed' ? refuse('account_not_found') : refuseLimit(result.reached, now);
}
