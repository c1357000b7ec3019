/** What one process knows of one limit: a window for each id, counted here and corrected by what the store says. */

import { once } from 'node:events';
import { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterPostgres, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Storage } from '../../config/config.ts';
import { SECOND } from '../../core/time.ts';
import type { Database } from '../../db/engine/client.ts';

/** The outcome of counting one request. A refused one consumes nothing. */
export type Taken = {
  readonly allowed: boolean;
  /** Requests that the window allows after this one. */
  readonly remaining: number;
  /** Seconds until the window ends, rounded up; 1 at least. */
  readonly resetSeconds: number;
};

/** Requests of one id that the store is to add to its count. */
export type Report = { readonly window: Window; readonly points: number };

/** What the store counts for an id over all processes, and for how many milliseconds its window still lasts. */
export type Counted = { readonly used: number; readonly msLeft: number };

/** The windows of one limit in this process. `at` is the present time in milliseconds since 1970. */
export type Windows = {
  /** Counts a request, and begins a window for an id that has none. `quota`: of this id, where it has one of its own. */
  take(id: string, at: number, quota?: number): Taken;
  /** Counts nothing: what an id has taken in its window, and when that ends; null where it has none. */
  used(id: string, at: number): { readonly used: number; readonly endsAt: Date } | null;
  /**
   * Takes at most `max` ids with requests that were not reported, urgent ones first. They count as reported from then on.
   * Windows that have ended are left out and forgotten.
   */
  due(max: number, at: number): readonly Report[];
  /**
   * Corrects an id by the store's answer. Where no answer comes there is nothing to call: what this process counted stays.
   */
  acknowledge(report: Report, counted: Counted, at: number): void;
  /** Whether requests wait to be reported. */
  readonly isDue: boolean;
};

/** What the windows of one limit have in common. */
export type WindowsOptions = {
  /** Requests that an id may make in one window, unless `take` is given another number. */
  readonly quota: number;
  readonly windowMs: number;
  /** Whether requests are reported to a store; without one, `due` stays empty. */
  readonly isShared: boolean;
};

/** What is known of one id; changed in place. What it may still take is the quota less `own` and `others`. */
export type Window = {
  readonly id: string;
  /** Milliseconds since 1970, by the clock of this process. */
  endsAt: number;
  /** Taken in this process. */
  own: number;
  /** Of `own`, what has not been reported to the store. */
  unreported: number;
  /** Of `own`, what the store has answered to. */
  reported: number;
  /** Taken in other processes, by the store's last answer. */
  others: number;
};

/**
 * Our choice: at a few hundred octets each (docs/decisions/0006-rate-limits.md) some megabytes, whoever attacks with
 * however many addresses. The id that was quiet for longest is forgotten; the store still knows it.
 */
const MAX_WINDOWS = 20_000;
/**
 * Our choice: an id with this share of its quota unreported is reported before all others, so that no flood of ids hides it.
 */
const URGENT_SHARE = 0.01;

/**
 * A window begins with the first request of an id and lasts `windowMs`, or as long as the store's does. A clock that was set
 * back prolongs none. At most 20,000 ids are kept.
 */
export function createWindows({ quota, windowMs, isShared }: WindowsOptions): Windows {
  const urgentAt = Math.max(1, Math.floor(quota * URGENT_SHARE));
  const urgent = new Set<Window>();
  const waiting = new Set<Window>();
  // Called also for a window that is replaced or pushed out of the cache: its requests are not reported any more.
  const forget = (window: Window) => {
    urgent.delete(window);
    waiting.delete(window);
  };
  const windows = new LRUCache<string, Window>({ max: MAX_WINDOWS, dispose: forget });

  function current(id: string, at: number): Window {
    const known = windows.get(id);
    // The second condition: a clock that was set back must not prolong a window.
    if (known !== undefined && known.endsAt > at && known.endsAt <= at + windowMs) return known;
    const begun = { id, endsAt: at + windowMs, own: 0, unreported: 0, reported: 0, others: 0 };
    windows.set(id, begun);
    return begun;
  }

  function note(window: Window): void {
    window.unreported += 1;
    if (window.unreported === 1) waiting.add(window);
    if (window.unreported === urgentAt) urgent.add(window);
  }

  function* inTurn(): Generator<Window> {
    yield* urgent;
    yield* waiting;
  }

  return {
    take(id, at, most = quota) {
      const window = current(id, at);
      const left = most - window.own - window.others;
      const resetSeconds = Math.ceil((window.endsAt - at) / 1_000);
      if (left <= 0) return { allowed: false, remaining: 0, resetSeconds };
      window.own += 1;
      if (isShared) note(window);
      return { allowed: true, remaining: left - 1, resetSeconds };
    },
    used(id, at) {
      const window = windows.peek(id);
      if (window === undefined || window.endsAt <= at) return null;
      return { used: window.own + window.others, endsAt: new Date(window.endsAt) };
    },
    due(max, at) {
      const reports: Report[] = [];
      for (const window of inTurn()) {
        if (reports.length === max) break;
        forget(window);
        if (window.endsAt > at) reports.push({ window, points: window.unreported });
        window.unreported = 0;
      }
      return reports;
    },
    acknowledge: (report, counted, at) => acknowledge(report, counted, at + windowMs, at),
    get isDue() {
      return waiting.size > 0;
    },
  };
}

/** No answer of the store makes a window end after `latest`. */
function acknowledge(
  { window, points }: Report,
  { used, msLeft }: Counted,
  latest: number,
  at: number,
): void {
  window.reported += points;
  window.others = Math.max(0, used - window.reported);
  // A store that counts less than was reported to it has lost its window; ours goes on.
  if (used >= window.reported) window.endsAt = Math.min(at + msLeft, latest);
}

/**
 * So many requests of one id in so many seconds. `name` is shown to clients, and keeps the limits apart in the store.
 */
export type Limit = {
  readonly name: 'key' | 'account' | 'address';
  /** Requests in a window. */
  readonly quota: number;
  readonly windowSeconds: number;
};

/**
 * Adds `points` to what is counted for an id, and returns the sum over all processes. Rejects within seconds where the store
 * is away.
 */
export type Ledger = (id: string, points: number) => Promise<Counted>;

/** Where processes add up what they took. */
export type RateLimitStore = {
  /** The count of one limit. Ledgers of different names share nothing. */
  ledger(limit: Limit): Ledger;
  /** Deletes the rows of windows that ended over a minute ago. Redis does that by itself. */
  sweep(): Promise<void>;
  /** Lets go of the connection; what is under way rejects or is waited for. */
  close(): Promise<void>;
};

/** Our choice: a store that takes longer than ten gathering intervals is as good as away. */
const ANSWER_MS = SECOND;
/** Processes compare a row's end with their own clocks, which may differ a little. */
const SWEEP_AFTER_MS = 60 * SECOND;
/** Made by our migrations; in PostgreSQL only. */
const TABLE = 'rate_limit';

/** Opens what the storage calls for; null on embedded storage, which one process owns. Nothing is waited for. */
export function openRateLimitStore(
  storage: Storage,
  database: Pick<Database, 'openPool'>,
): RateLimitStore | null {
  if (storage.kind === 'embedded') return null;
  return storage.kind === 'postgres' ? openPostgres(database) : openRedis(storage.redisUrl);
}

/** A connection of its own, so that no queue and no query ever waits behind the counting. */
function openRedis(url: string): RateLimitStore {
  const client = new Redis(url, {
    connectTimeout: 5 * SECOND,
    commandTimeout: ANSWER_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0, // a command whose connection broke is not sent again: it may have been counted
    retryStrategy: (attempt) => Math.min(attempt * 200, 2 * SECOND),
  });
  client.on('error', () => {}); // every command says it too
  // The first requests should not fail for being early.
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

/**
 * One connection of its own, so that counting never takes more than one. The library reckons with Date.now, so that
 * processes should have the same time to within a second or so.
 */
function openPostgres(database: Pick<Database, 'openPool'>): RateLimitStore {
  const pool = database.openPool({ max: 1, statementTimeoutMs: ANSWER_MS });
  return {
    ledger: ({ name, quota, windowSeconds }) => {
      const limiter = new RateLimiterPostgres({
        storeClient: pool,
        storeType: 'pool',
        tableName: TABLE,
        tableCreated: true, // by our migrations
        clearExpiredByTimeout: false, // its timer could not be stopped; `sweep` does it
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

/** The library's answer in our words. */
function countedBy(answer: { readonly consumedPoints: number; readonly msBeforeNext: number }) {
  return { used: answer.consumedPoints, msLeft: Math.max(0, answer.msBeforeNext) };
}
