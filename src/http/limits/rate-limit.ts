/**
 * How many requests an API key, or an address before its key is known, may make in a minute. Decided at once from what
 * this process knows; what was taken is told to the store every 100 ms, whose answer brings what other processes took
 * (docs/decisions/0006-rate-limits.md).
 */
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/engine/client.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { createReporting } from './telling.ts';
import {
  createWindows,
  type Limit,
  openRateLimitStore,
  type Taken,
  type Windows,
} from './windows.ts';

export type { Taken };

export type RateLimiter = Limit & {
  /** Counts a request of an id, and says whether it may go on. Never throws, never waits. */
  take(id: string): Taken;
};

export type RateLimiters = {
  /** By the id of the API key. */
  readonly perKey: RateLimiter;
  /** By what `addressGroup` makes of the client's address (src/net/client-address.ts). */
  readonly perAddress: RateLimiter;
  /** Tells the store now and not with the next interval; settles once its answer is known here. Never rejects. */
  report(): Promise<void>;
  /** Lets go of the store. Close it before the database. */
  close(): Promise<void>;
};

export type RateLimitDeps = {
  readonly config: Pick<Config, 'api' | 'storage'>;
  readonly database: Pick<Database, 'openPool'>;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly now: () => Date;
};

/** RATE_LIMIT_PER_KEY and RATE_LIMIT_PER_ADDRESS are requests a minute. */
const WINDOW_SECONDS = 60;

/**
 * Both limiters on what the storage calls for: Redis, PostgreSQL, or the memory of this process. Waits for nothing; while
 * the store is away, each process counts for itself.
 */
export function openRateLimiters(
  { config, database, log, now }: RateLimitDeps,
  windowSeconds = WINDOW_SECONDS,
): RateLimiters {
  const quotas = config.api.rateLimits;
  const ofKeys: Limit = { name: 'key', quota: quotas.perKey, windowSeconds };
  const ofAddresses: Limit = { name: 'address', quota: quotas.perAddress, windowSeconds };
  const store = openRateLimitStore(config.storage, database);
  if (store === null) {
    const [perKey, perAddress] = [
      createRateLimiter(ofKeys, now),
      createRateLimiter(ofAddresses, now),
    ];
    return { perKey, perAddress, report: async () => {}, close: async () => {} };
  }
  const keys = windowsOf(ofKeys, true);
  const addresses = windowsOf(ofAddresses, true);
  const reporting = createReporting({ store, log, now }, [
    { windows: keys, ledger: store.ledger(ofKeys) },
    { windows: addresses, ledger: store.ledger(ofAddresses) },
  ]);
  const counting = (limit: Limit, windows: Windows): RateLimiter => ({
    ...limit,
    take(id) {
      const taken = windows.take(id, now().getTime());
      reporting.wake();
      return taken;
    },
  });
  return {
    perKey: counting(ofKeys, keys),
    perAddress: counting(ofAddresses, addresses),
    report: reporting.report,
    close: reporting.close,
  };
}

/** A limiter of this process alone. */
export function createRateLimiter(limit: Limit, now: () => Date): RateLimiter {
  const windows = windowsOf(limit, false);
  return { ...limit, take: (id) => windows.take(id, now().getTime()) };
}

function windowsOf({ quota, windowSeconds }: Limit, isShared: boolean): Windows {
  return createWindows({ quota, windowMs: windowSeconds * 1_000, isShared });
}

/** The fields of draft-ietf-httpapi-ratelimit-headers-11 for the limits that a request was counted against. */
export function rateLimitHeaders(
  taken: readonly (readonly [RateLimiter, Taken])[],
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

const whose = { key: 'with this API key', address: 'from this address' } as const;

/** 429 (RFC 6585, 4). Retry-After names the instant that RateLimit's `t` names, as the draft asks. */
export function refuseRateLimited(limiter: RateLimiter, { resetSeconds }: Taken): Refusal {
  const { name, quota, windowSeconds } = limiter;
  const message = `${quota} requests ${whose[name]} are allowed in ${windowSeconds} seconds; try again in ${resetSeconds} seconds.`;
  return refuse('rate_limited', message, { 'retry-after': String(resetSeconds) });
}
