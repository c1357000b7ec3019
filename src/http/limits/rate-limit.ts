/** Each process counts for itself and syncs with the store (docs/decisions/0006-rate-limits.md). */
import type { Service } from '../../service/service.ts';
import { createReporting } from './reporting.ts';
import { type Limit, openRateLimitStore } from './store.ts';
import { type CountedRequest, createWindows, type Windows } from './windows.ts';

export type RateLimiter = Limit & {
  /** Refused requests are not counted. Never throws, never waits. */
  take(id: string): CountedRequest;
};

export type RateLimiters = {
  readonly perKey: RateLimiter;
  /** By the client's address group (src/net/client-address.ts). */
  readonly perAddress: RateLimiter;
  /** With the account's own quota. */
  perAccount(quota: number): RateLimiter;
  /** Resolves once the store's answer is applied. Never rejects. */
  report(): Promise<void>;
  /** Call it before closing the database. */
  close(): Promise<void>;
};

/** RATE_LIMIT_PER_KEY and RATE_LIMIT_PER_ADDRESS are requests per minute. */
const WINDOW_SECONDS = 60;

/** While the store is unavailable, each process counts for itself. Never waits for it. */
export function openRateLimiters(
  { config, database, log, now }: Pick<Service, 'config' | 'database' | 'log' | 'now'>,
  windowSeconds = WINDOW_SECONDS,
): RateLimiters {
  const quotas = config.api.rateLimits;
  const ofKeys: Limit = { name: 'key', quota: quotas.perKey, windowSeconds };
  const ofAddresses: Limit = { name: 'address', quota: quotas.perAddress, windowSeconds };
  const { requestsPerMinute } = config.api.accountLimits;
  const ofAccounts: Limit = { name: 'account', quota: requestsPerMinute, windowSeconds };
  const store = openRateLimitStore(config.storage, database);
  if (store === null) {
    return {
      perKey: createRateLimiter(ofKeys, now),
      perAddress: createRateLimiter(ofAddresses, now),
      perAccount: createAccountLimiter(ofAccounts, now),
      report: async () => {},
      close: async () => {},
    };
  }
  const keys = windowsOf(ofKeys, true);
  const addresses = windowsOf(ofAddresses, true);
  const accounts = windowsOf(ofAccounts, true);
  const reporting = createReporting({ log, now }, store, [
    { windows: keys, ledger: store.ledger(ofKeys) },
    { windows: addresses, ledger: store.ledger(ofAddresses) },
    { windows: accounts, ledger: store.ledger(ofAccounts) },
  ]);
  const counting = (limit: Limit, windows: Windows): RateLimiter => ({
    ...limit,
    take(id) {
      const taken = windows.take(id, now().getTime(), limit.quota);
      reporting.wake();
      return taken;
    },
  });
  return {
    perKey: counting(ofKeys, keys),
    perAddress: counting(ofAddresses, addresses),
    perAccount: (quota) => counting({ ...ofAccounts, quota }, accounts),
    report: reporting.report,
    close: reporting.close,
  };
}

/** Counts in this process only. */
export function createRateLimiter(limit: Limit, now: () => Date): RateLimiter {
  const windows = windowsOf(limit, false);
  return { ...limit, take: (id) => windows.take(id, now().getTime()) };
}

/** In this process only, with the quota of each account. */
export function createAccountLimiter(
  limit: Omit<Limit, 'quota'>,
  now: () => Date,
): RateLimiters['perAccount'] {
  const windows = windowsOf({ ...limit, quota: Infinity }, false);
  return (quota) => ({
    ...limit,
    quota,
    take: (id) => windows.take(id, now().getTime(), quota),
  });
}

function windowsOf({ quota, windowSeconds }: Limit, isShared: boolean): Windows {
  return createWindows({ quota, windowMs: windowSeconds * 1_000, isShared });
}
