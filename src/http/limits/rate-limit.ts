/** Each process counts for itself and syncs with the store (docs/decisions/0006-rate-limits.md). */

import { once } from 'node:events';
import { Redis } from 'ioredis';
import { RateLimiterPostgres, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Storage } from '../../config/config.ts';
import { MINUTE, SECOND } from '../../core/time.ts';
import type { Database } from '../../db/engine/client.ts';
import type { Service } from '../../service/service.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { type Counted, type CountedRequest, createWindows, type Windows } from './windows.ts';

export type RateLimiter = Limit & {
  readonly name: keyof typeof whose;
  /** Refused requests are not counted. Never throws, never waits. */
  take(id: string): CountedRequest;
};

/** Wrong sign-ins to the dashboard. A right one is given back. */
export type SignInLimiters = {
  readonly perAddress: SignInLimiter;
  readonly perKey: SignInLimiter;
  /** Of one key, from one address. */
  readonly perKeyAndAddress: SignInLimiter;
};

type SignInLimiter = Pick<RateLimiter, 'take'> & { readonly giveBack: (id: string) => void };

export type RateLimiters = {
  readonly signIns: SignInLimiters;
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

/** Wrong ones in a window. With 190 bits of secret, they limit load and noise, not luck. */
const signInLimits = {
  perAddress: { name: 'sign-in-address', quota: 20, windowSeconds: WINDOW_SECONDS },
  perKey: { name: 'sign-in-key', quota: 10, windowSeconds: WINDOW_SECONDS },
  perKeyAndAddress: { name: 'sign-in-pair', quota: 1, windowSeconds: WINDOW_SECONDS },
} as const satisfies Readonly<Record<keyof SignInLimiters, Limit>>;

/** In this process only. */
export function createSignInLimiters(now: () => Date): SignInLimiters {
  const windows = signInWindows(false);
  const limiter = (of: keyof SignInLimiters) => signInLimiter(windows[of], now, () => undefined);
  return signInLimitersOf(limiter);
}

function signInWindows(isShared: boolean) {
  return {
    perAddress: windowsOf(signInLimits.perAddress, isShared),
    perKey: windowsOf(signInLimits.perKey, isShared),
    perKeyAndAddress: windowsOf(signInLimits.perKeyAndAddress, isShared),
  };
}

function signInLimitersOf(limiter: (of: keyof SignInLimiters) => SignInLimiter): SignInLimiters {
  return {
    perAddress: limiter('perAddress'),
    perKey: limiter('perKey'),
    perKeyAndAddress: limiter('perKeyAndAddress'),
  };
}

/** `wake`: the counts changed. */
function signInLimiter(windows: Windows, now: () => Date, wake: () => void): SignInLimiter {
  return {
    take(id) {
      const taken = windows.take(id, now().getTime());
      wake();
      return taken;
    },
    giveBack(id) {
      windows.giveBack(id, now().getTime());
      wake();
    },
  };
}

/** While the store is unavailable, each process counts for itself. Never waits for it. */
export function openRateLimiters(
  { config, database, log, now }: Pick<Service, 'config' | 'database' | 'log' | 'now'>,
  windowSeconds = WINDOW_SECONDS,
): RateLimiters {
  const quotas = config.api.rateLimits;
  const ofKeys: ShownLimit = { name: 'key', quota: quotas.perKey, windowSeconds };
  const ofAddresses: ShownLimit = { name: 'address', quota: quotas.perAddress, windowSeconds };
  const { requestsPerMinute } = config.api.accountLimits;
  const ofAccounts: ShownLimit = { name: 'account', quota: requestsPerMinute, windowSeconds };
  const store = openRateLimitStore(config.storage, database);
  if (store === null) {
    return {
      signIns: createSignInLimiters(now),
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
  const ofSignIns = signInWindows(true);
  const reporting = createReporting({ log, now }, store, [
    { windows: keys, ledger: store.ledger(ofKeys) },
    { windows: addresses, ledger: store.ledger(ofAddresses) },
    { windows: accounts, ledger: store.ledger(ofAccounts) },
    ...(Object.keys(ofSignIns) as (keyof SignInLimiters)[]).map((of) => ({
      windows: ofSignIns[of],
      ledger: store.ledger(signInLimits[of]),
    })),
  ]);
  const counting = (limit: ShownLimit, windows: Windows): RateLimiter => ({
    ...limit,
    take(id) {
      const taken = windows.take(id, now().getTime(), limit.quota);
      reporting.wake();
      return taken;
    },
  });
  return {
    signIns: signInLimitersOf((of) => signInLimiter(ofSignIns[of], now, reporting.wake)),
    perKey: counting(ofKeys, keys),
    perAddress: counting(ofAddresses, addresses),
    perAccount: (quota) => counting({ ...ofAccounts, quota }, accounts),
    report: reporting.report,
    close: reporting.close,
  };
}

type ShownLimit = Limit & Pick<RateLimiter, 'name'>;

/** Counts in this process only. */
export function createRateLimiter(limit: ShownLimit, now: () => Date): RateLimiter {
  const windows = windowsOf(limit, false);
  return { ...limit, take: (id) => windows.take(id, now().getTime()) };
}

/** In this process only, with the quota of each account. */
export function createAccountLimiter(
  limit: Omit<ShownLimit, 'quota'>,
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

// Syncs a process's counts with the store.

type SharedWindows = { readonly windows: Windows; readonly ledger: Ledger };

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
) {
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
    /** Schedules a round unless one is scheduled. Cheap; does nothing after `close`. */
    wake,
    /** Starts a round as soon as the current one ends. Never rejects. */
    report,
    /** Waits for the current round. No round follows. */
    async close(): Promise<void> {
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

// The header fields of every counted request, and the 429.

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

// The store that combines the counts of all processes: Redis or PostgreSQL.

/** `name` is shown to clients and separates the limits in the store. */
type Limit = {
  readonly name: string;
  readonly quota: number;
  readonly windowSeconds: number;
};

/** Returns the sum over all processes. Rejects within seconds if the store is unavailable. */
type Ledger = (id: string, points: number) => Promise<Counted>;

type RateLimitStore = {
  /** Ledgers with different names are independent. */
  ledger(limit: Limit): Ledger;
  /** Deletes rows of windows that ended over a minute ago. Redis expires them without it. */
  sweep(): Promise<void>;
  /** Pending commands reject or complete first. */
  close(): Promise<void>;
};

/** A store slower than ten report intervals counts as unavailable. */
const ANSWER_MS = SECOND;
/** Tolerates small differences between the clocks of processes. */
const SWEEP_AFTER_MS = 60 * SECOND;
/** Created by our migrations, in PostgreSQL only. */
const TABLE = 'rate_limit';

/** Null for embedded storage, which only one process uses. Does not wait for a connection. */
export function openRateLimitStore(
  storage: Storage,
  database: Pick<Database, 'openPool'>,
): RateLimitStore | null {
  if (storage.kind === 'embedded') return null;
  return storage.kind === 'postgres' ? openPostgres(database) : openRedis(storage.redisUrl);
}

/** A separate connection, so that queues and queries never wait for the counting. */
function openRedis(url: string): RateLimitStore {
  const client = new Redis(url, {
    connectTimeout: 5 * SECOND,
    commandTimeout: ANSWER_MS,
    enableOfflineQueue: false,
    // a command on a broken connection can have been counted, so it is not resent
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 200, 2 * SECOND),
  });
  client.on('error', () => {}); // every command reports the error too
  // Lets the first requests wait for the connection.
  const attempted = Promise.race([once(client, 'ready'), once(client, 'close')]).catch(() => {});
  return {
    ledger: ({ name, quota, windowSeconds }) => {
      const limiter = new RateLimiterRedis({
        storeClient: client,
        keyPrefix: `signpost:rl:${name}`,
        points: quota,
        duration: windowSeconds,
      });
      return async (id, points) => {
        await attempted;
        return countedBy(await limiter.penalty(id, points));
      };
    },
    sweep: async () => {},
    close: async () => client.disconnect(),
  };
}

/** One connection. The library uses Date.now, so clocks should agree within a second. */
function openPostgres(database: Pick<Database, 'openPool'>): RateLimitStore {
  const pool = database.openPool({ max: 1, statementTimeoutMs: ANSWER_MS });
  return {
    ledger: ({ name, quota, windowSeconds }) => {
      const limiter = new RateLimiterPostgres({
        storeClient: pool,
        storeType: 'pool',
        tableName: TABLE,
        tableCreated: true, // created by our migrations
        clearExpiredByTimeout: false, // its timer cannot be stopped; `sweep` deletes the rows
        keyPrefix: name,
        points: quota,
        duration: windowSeconds,
      });
      return async (id, points) => countedBy(await limiter.penalty(id, points));
    },
    async sweep() {
      await pool.query(`DELETE FROM ${TABLE} WHERE expire < $1`, [Date.now() - SWEEP_AFTER_MS]);
    },
    close: async () => {
      if (!pool.ended) await pool.end();
    },
  };
}

function countedBy(answer: { readonly consumedPoints: number; readonly msBeforeNext: number }) {
  return { used: answer.consumedPoints, msLeft: Math.max(0, answer.msBeforeNext) };
}
