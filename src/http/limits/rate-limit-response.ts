/** The header fields of every counted request, and the 429. */
import { type Refusal, refuse } from '../pipeline/errors.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { CountedRequest } from './windows.ts';

/** draft-ietf-httpapi-ratelimit-headers-11: `"key";q=6000;w=60` and `"key";r=5999;t=60`. */
export function rateLimitHeaders(
  taken: readonly (readonly [RateLimiter, CountedRequest])[],
): Readonly<Record<'ratelimit-policy' | 'ratelimit', string>> {
  let policy = '';
  let state = '';
  for (const [{ name, quota, windowSeconds }, { remaining, resetSeconds }] of taken) {
    const comma = policy === '' ? '' : ', ';
    policy += `${comma}"${name}";q=${quota};w=${windowSeconds}`;
    state += `${comma}"${name}";r=${remaining};t=${resetSeconds}`;
  }
  return { 'ratelimit-policy': policy, ratelimit: state };
}

const whose = {
  key: { words: 'with this API key', source: 'set by RATE_LIMIT_PER_KEY' },
  address: { words: 'from this address', source: 'set by RATE_LIMIT_PER_ADDRESS' },
  account: { words: 'for this account', source: 'its limit `requestsPerMinute`' },
} as const;

/** 429 (RFC 6585, 4). Retry-After equals RateLimit's `t`, as the draft requires. */
export function refuseRateLimited(limiter: RateLimiter, { resetSeconds }: CountedRequest): Refusal {
  const { name, quota, windowSeconds } = limiter;
  const { words, source } = whose[name];
  const message = `The limit is ${quota} requests ${words} per ${windowSeconds} seconds (${source}). Try again in ${resetSeconds} seconds.`;
  const refusal = refuse('rate_limited', message, { 'retry-after': String(resetSeconds) });
  if (name !== 'account') return refusal;
  const limit = { name: 'requestsPerMinute', value: quota } as const;
  return { ...refusal, body: { ...refusal.body, limit } };
}
