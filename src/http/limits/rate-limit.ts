/**
 * How many requests an API key, the account that it acts for, or an address before its key is known, may make in a minute. Decided at once from what this
 * process knows; what was taken is reported to the store every 100 ms, whose answer brings what other processes took
 * (docs/decisions/0006-rate-limits.md).
 */
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/engine/client.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import {
  createWindows,
  type Ledger,
  type Limit,
  openRateLimitStore,
  type RateLimitStore,
  type Taken,
  type Windows,
} from './windows.ts';

/** A limit and the count that is kept for it. */
export type RateLimiter = Limit & {
  /** Counts a request of an id, and says whether it may go on; a refused one is not counted. Never throws, never waits. */
  take(id: string): Taken;
};

/** A limit that a request was counted against, and what came of it. */
export type Counted = readonly [Limit, Taken];

/** Accounts have quotas of their own: each call brings that of its account. */
export type AccountRateLimiter = {
  /** Counts a request of an account. Never throws, never waits. */
  count(accountId: string, quota: number): Counted;
  /** What it has taken in its window, as far as this process knows, and when that ends; null where it has none. */
  used(accountId: string): { readonly used: number; readonly endsAt: Date } | null;
};

/** The limits of the API and the store that they share with other processes, where there is one. */
export type RateLimiters = {
  /** By the id of the API key. */
  readonly perKey: RateLimiter;
  /** By the id of the account that the key acts for. */
  readonly perAccount: AccountRateLimiter;
  /** By what `addressGroup` makes of the client's address (src/net/client-address.ts). */
  readonly perAddress: RateLimiter;
  /** Reports to the store now instead of with the next round; settles once its answer is known here. Never rejects. */
  report(): Promise<void>;
  /** Reports nothing more and closes the store. Call it before the database is closed. */
  close(): Promise<void>;
};

/** What the limiters are made of. `now` is the clock that the windows of this process go by. */
export type RateLimitDeps = {
  readonly config: Pick<Config, 'api' | 'storage'>;
  readonly database: Pick<Database, 'openPool'>;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly now: () => Date;
};

/** RATE_LIMIT_PER_KEY and RATE_LIMIT_PER_ADDRESS are requests a minute. */
const WINDOW_SECONDS = 60;
/** Of which share an account's requests are reported first, whatever its own quota is. */
const ACCOUNT_QUOTA = 6_000;

/**
 * Both limiters on what the storage calls for: Redis, PostgreSQL, or the memory of this process. Returns at once, whether
 * the store answers or not; while it is away, each process counts for itself.
 */
export function openRateLimiters(
  { config, database, log, now }: RateLimitDeps,
  windowSeconds = WINDOW_SECONDS,
): RateLimiters {
  const quotas = config.api.rateLimits;
  const ofKeys: Limit = { name: 'key', quota: quotas.perKey, windowSeconds };
  const ofAccounts: Limit = { name: 'account', quota: ACCOUNT_QUOTA, windowSeconds };
  const ofAddresses: Limit = { name: 'address', quota: quotas.perAddress, windowSeconds };
  const store = openRateLimitStore(config.storage, database);
  if (store === null) {
    return {
      perKey: createRateLimiter(ofKeys, now),
      perAccount: createAccountRateLimiter(ofAccounts, now),
      perAddress: createRateLimiter(ofAddresses, now),
      report: async () => {},
      close: async () => {},
    };
  }
  const keys = windowsOf(ofKeys, true);
  const accounts = windowsOf(ofAccounts, true);
  const addresses = windowsOf(ofAddresses, true);
  const reporting = createReporting({ store, log, now }, [
    { windows: keys, ledger: store.ledger(ofKeys) },
    { windows: accounts, ledger: store.ledger(ofAccounts) },
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
    perAccount: countingAccounts(ofAccounts, accounts, now, reporting.wake),
    perAddress: counting(ofAddresses, addresses),
    report: reporting.report,
    close: reporting.close,
  };
}

/** A limiter of this process alone. It reports to no store, and there is nothing to close. */
export function createRateLimiter(limit: Limit, now: () => Date): RateLimiter {
  const windows = windowsOf(limit, false);
  return { ...limit, take: (id) => windows.take(id, now().getTime()) };
}

/** A limiter of this process alone, for accounts. It reports to no store, and there is nothing to close. */
export function createAccountRateLimiter(limit: Limit, now: () => Date): AccountRateLimiter {
  return countingAccounts(limit, windowsOf(limit, false), now, () => {});
}

function countingAccounts(
  limit: Limit,
  windows: Windows,
  now: () => Date,
  wake: () => void,
): AccountRateLimiter {
  return {
    count(accountId, quota) {
      const taken = windows.take(accountId, now().getTime(), quota);
      wake();
      return [{ ...limit, quota }, taken];
    },
    used: (accountId) => windows.used(accountId, now().getTime()),
  };
}

function windowsOf({ quota, windowSeconds }: Limit, isShared: boolean): Windows {
  return createWindows({ quota, windowMs: windowSeconds * 1_000, isShared });
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-11 for the limits that a request was counted against, in the order
 * given: `"key";q=6000;w=60` and `"key";r=5999;t=60`.
 */
export function rateLimitHeaders(
  taken: readonly Counted[],
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

/** How the refusal names what was counted. */
const whose = {
  key: 'with this API key',
  account: 'of this account',
  address: 'from this address',
} as const;

/** 429 (RFC 6585, 4). Retry-After gives the same seconds as RateLimit's `t`, as the draft asks. */
export function refuseRateLimited(limit: Limit, { resetSeconds }: Taken): Refusal {
  const { name, quota, windowSeconds } = limit;
  const message = `${quota} requests ${whose[name]} are allowed in ${windowSeconds} seconds; try again in ${resetSeconds} seconds.`;
  return refuse('rate_limited', message, { 'retry-after': String(resetSeconds) });
}

/** The windows of one limit, and the ledger that they are reported to. */
export type Shared = { readonly windows: Windows; readonly ledger: Ledger };

/** The rounds in which a process reports what it took. */
export type Reporting = {
  /** Schedules a round unless one is scheduled already. Cheap enough for every request; does nothing after `close`. */
  wake(): void;
  /** Runs a round as soon as the one before it has ended. Never rejects. */
  report(): Promise<void>;
  /** Waits for the round under way, and closes the store. No round follows. */
  close(): Promise<void>;
};

/** The store, and where it is said, once each, that it is away and that it is back. */
export type ReportingDeps = {
  readonly store: RateLimitStore;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly now: () => Date;
};

/**
 * Our choice: what reaches all processes in twice this time may exceed a quota; docs/decisions/0006-rate-limits.md has
 * figures.
 */
const GATHER_MS = 100;
/** While the store is away, one id of each limit is reported as often as this, to see whether it is back. */
const RETRY_MS = 1_000;
/** Our choice: commands of one round and limit, 250 a second, so that no flood of addresses becomes one of the store. */
const MAX_REPORTS = 25;
/** How often the rows of ended windows are deleted from the store. */
const SWEEP_MS = 60_000;

/**
 * A round begins GATHER_MS after the first request that it reports, never before the last one has ended. A report that
 * failed is not repeated, because it may have been counted; this process goes on counting its requests for itself.
 */
export function createReporting({ store, log, now }: ReportingDeps, limits: readonly Shared[]) {
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

  /** A round takes MAX_REPORTS of each limit at most, so more may be due. */
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
    // The state is as it was: nothing to log.
    if (isAway === (failed !== undefined)) return;
    isAway = failed !== undefined;
    // Once for each outage, whatever it costs in rounds.
    if (isAway) log.warn({ err: failed?.reason }, 'rate limits are counted by each process alone');
    else log.info({}, 'rate limits are counted together again');
  }

  const reporting: Reporting = {
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
  return reporting;
}

/** Begins a report for each of at most `max` ids; each promise rejects where the store gave no answer. */
function reportOf({ windows, ledger }: Shared, max: number, now: () => Date): Promise<void>[] {
  return windows.due(max, now().getTime()).map(async (report) => {
    const counted = await ledger(report.window.id, report.points);
    windows.acknowledge(report, counted, now().getTime());
  });
}
