import { describe, expect, test } from 'vitest';
import {
  createRateLimiter,
  rateLimitHeaders,
  refuseRateLimited,
} from '../../../src/http/limits/rate-limit.ts';

function limiter(quota: number, windowSeconds = 60, name: 'key' | 'address' = 'key') {
  const clock = { seconds: 1_000 };
  const now = () => new Date(clock.seconds * 1_000);
  const limits = createRateLimiter({ name, quota, windowSeconds }, now);
  const take = (id: string, times = 1) =>
    Array.from({ length: times }, () => limits.take(id)).at(-1);
  return { limits, clock, take };
}

describe('A limit of 3 requests a minute', () => {
  const rows: readonly [what: string, at: number, allowed: boolean, left: number, reset: number][] =
    [
      ['the first request starts the window', 0, true, 2, 60],
      ['the second request joins the window', 0.4, true, 1, 60],
      ['the third request uses up the quota', 10, true, 0, 50],
      ['the fourth request is rejected', 10, false, 0, 50],
      ['a rejected request does not extend the window', 59.001, false, 0, 1],
      ['an ended window resets the quota', 60, true, 2, 60],
      ['the next window lasts a minute again', 119.9, true, 1, 1],
      ['a clock that is set back by hours does not extend the window', -7_200, true, 2, 60],
    ];
  const { clock, limits } = limiter(3);
  test.each(rows)('%s', (_what, at, allowed, remaining, resetSeconds) => {
    clock.seconds = 1_000 + at;
    expect(limits.take('a')).toEqual({ allowed, remaining, resetSeconds });
  });

  test('applies to each key separately', () => {
    const { take } = limiter(3);
    expect(take('a', 4)).toMatchObject({ allowed: false });
    expect(take('b')).toMatchObject({ allowed: true, remaining: 2 });
  });
});

test('A rate limiter remembers 20,000 keys or addresses and drops the longest idle', () => {
  const { take } = limiter(1);
  const flood = (from: number, to: number) => {
    for (let n = from; n < to; n += 1) take(`2001:db8:0:${n.toString(16)}::/64`);
  };
  take('quiet');
  take('busy');
  flood(0, 19_000);
  expect(take('busy')).toMatchObject({ allowed: false });
  flood(19_000, 20_000);
  expect(take('busy')).toMatchObject({ allowed: false });
  expect(take('quiet')).toMatchObject({ allowed: true });
});

describe('The rate limit headers', () => {
  test('RateLimit-Policy has the limits, RateLimit what is left of them', () => {
    const key = limiter(6_000);
    const address = limiter(12_000, 60, 'address');
    const ofKey = key.limits.take('k');
    address.limits.take('192.0.2.1');
    address.clock.seconds += 18;
    const ofAddress = address.limits.take('192.0.2.1');
    expect(
      rateLimitHeaders([
        [key.limits, ofKey],
        [address.limits, ofAddress],
      ]),
    ).toEqual({
      'ratelimit-policy': '"key";q=6000;w=60, "address";q=12000;w=60',
      ratelimit: '"key";r=5999;t=60, "address";r=11998;t=42',
    });
  });

  const refused: readonly [name: 'key' | 'address', message: string][] = [
    [
      'key',
      'The limit is 2 requests with this API key per 60 seconds (set by RATE_LIMIT_PER_KEY). Try again in 43 seconds.',
    ],
    [
      'address',
      'The limit is 2 requests from this address per 60 seconds (set by RATE_LIMIT_PER_ADDRESS). Try again in 43 seconds.',
    ],
  ];
  test.each(refused)('429 says which limit and when to retry: %s', (name, message) => {
    const { clock, limits, take } = limiter(2, 60, name);
    take('a', 2);
    clock.seconds += 17.5;
    const taken = limits.take('a');
    const refusal = refuseRateLimited(limits, taken);
    expect(refusal).toEqual({
      status: 429,
      body: { code: 'rate_limited', message, status: 429 },
      headers: { 'retry-after': '43' },
    });
    expect(rateLimitHeaders([[limits, taken]]).ratelimit).toBe(`"${name}";r=0;t=43`);
  });
});
