/** Each process counts for itself and syncs with the store (docs/decisions/0006-rate-limits.md). */
import { MINUTE } from '../../core/time.ts';
import type { Service } from '../../service/service.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { type Ledger, type Limit, openRateLimitStore, type RateLimitStore } from './store.ts';
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

type SharedWindows = { readonly windows: Windows; readonly ledger: Ledger };

/** In rounds. */
type Reporting = {
  /** Schedules a round unless one is scheduled. Cheap; does nothing after `close`. */
  wake(): void;
  /** Starts a round as soon as the current one ends. Never rejects. */
  report(): Promise<void>;
  /** Waits for the current round. No round follows. */
  close(): Promise<void>;
};

/** Bursts within twice this time can exceed a quota (docs/decisions/0006-rate-limits.md). */
const GATHER_MS = 100;
/** While the store is unavailable, one ID of each limit is reported, to detect its recovery. */
const RETRY_MS = 1_000;
/** Per round and limit, so that a flood of addresses does not overload the store. */
const MAX_REPORTS = 25;
const SWEEP_MS = MINUTE;

/** Rounds never overlap. A failed report is not repeated: the store can have counted it. */
function createReporting(
  { log, now }: Pick<Service, 'log' | 'now'>,
  store: RateLimitStore,
  limits: readonly SharedWindows[],
): Reporting {
  let isAway = false;
  let isAwaited = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let round = Promise.resolve();
  const sweeping = setInterval(() => void store.sweep().catch(() => {}), SWEEP_MS).unref();

  function wake(): void {
    if (isAwaited || isClosed) return;
    isAwaited = true;
    timer = setTimeout(() => void report().then(settled), isAway ? RETRY_MS : GATHER_MS).unref();
  }

  /** More can be due than fits into a round. */
  function settled(): void {
    isAwaited = false;
    if (limits.some(({ windows }) => windows.isDue)) wake();
  }

  function report(): Promise<void> {
    round = round.then(reportAll);
    return round;
  }

  async function reportAll(): Promise<void> {
    if (isClosed) return;
    const max = isAway ? 1 : MAX_REPORTS;
    const results = await Promise.allSettled(limits.flatMap((limit) => reportOf(limit, max, now)));
    if (isClosed || results.length === 0) return;
    const failed = results.find((result) => result.status === 'rejected');
    // Nothing changed, so nothing to log.
    if (isAway === (failed !== undefined)) return;
    isAway = failed !== undefined;
    // Log each outage once.
    if (isAway)
      log.warn(
        { err: failed?.reason },
        'rate limit store unavailable; each process counts separately',
      );
    else log.info({}, 'rate limit store available again');
  }

  return {
    wake,
    report,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      clearInterval(sweeping);
      await round;
      await store.close();
    },
  };
}

/** At most `max` IDs. Each promise rejects if the store does not answer. */
function reportOf(
  { windows, ledger }: SharedWindows,
  max: number,
  now: () => Date,
): Promise<void>[] {
  return windows.due(max, now().getTime()).map(async (report) => {
    const counted = await ledger(report.window.id, report.points);
    windows.acknowledge(report, counted, now().getTime());
  });
}
