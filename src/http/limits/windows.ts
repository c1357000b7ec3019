/** The windows of one limit in one process: one per ID, counted here and corrected by the store. */

import { once } from 'node:events';
import { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterPostgres, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Storage } from '../../config/config.ts';
import { SECOND } from '../../core/time.ts';
import type { Database } from '../../db/engine/client.ts';

/** The result of counting one request. A refused one consumes nothing. */
export type Taken = {
  readonly allowed: boolean;
  /** Requests left in the window after this one. */
  readonly remaining: number;
  /** Seconds until the window ends, rounded up, at least 1. */
  readonly resetSeconds: number;
};

/** Requests of one ID to add to the store's count. */
type Report = { readonly window: Window; readonly points: number };

/** The store's count for an ID over all processes, and the remaining time of its window. */
type Counted = { readonly used: number; readonly msLeft: number };

/** `at` is the current time in milliseconds since 1970. */
export type Windows = {
  /** Counts a request; starts a window for an ID that has none. */
  take(id: string, at: number): Taken;
  /**
   * Takes at most `max` IDs with unreported requests, urgent ones first, and marks them as
   * reported. Ended windows are dropped.
   */
  due(max: number, at: number): readonly Report[];
  /** Corrects an ID by the store's answer. Without an answer, the count of this process stays. */
  acknowledge(report: Report, counted: Counted, at: number): void;
  /** Whether requests are unreported. */
  readonly isDue: boolean;
};

export type WindowsOptions = {
  /** Requests that an ID can make in one window. */
  readonly quota: number;
  readonly windowMs: number;
  /** Whether requests are reported to a store. If false, `due` stays empty. */
  readonly isShared: boolean;
};

/** The counts of one ID, changed in place. It can still take the quota minus `own` and `others`. */
type Window = {
  readonly id: string;
  /** Milliseconds since 1970, by the clock of this process. */
  endsAt: number;
  /** Requests in this process. */
  own: number;
  /** The part of `own` that is not reported to the store. */
  unreported: number;
  /** The part of `own` that the store has acknowledged. */
  reported: number;
  /** Requests in other processes, by the store's last answer. */
  others: number;
};

/**
 * Bounds memory to a few megabytes under any number of addresses
 * (docs/decisions/0006-rate-limits.md). The least recently used ID is dropped; the store still has
 * its count.
 */
const MAX_WINDOWS = 20_000;
/**
 * IDs with this share of their quota unreported are reported first, so that a flood of IDs cannot
 * delay them.
 */
const URGENT_SHARE = 0.01;

/**
 * A window starts with the first request of an ID and lasts `windowMs`, or as long as the store's
 * window. Setting the clock back does not extend it. Keeps at most 20,000 IDs.
 */
export function createWindows({ quota, windowMs, isShared }: WindowsOptions): Windows {
  const urgentAt = Math.max(1, Math.floor(quota * URGENT_SHARE));
  const urgent = new Set<Window>();
  const waiting = new Set<Window>();
  // Also called for windows that are replaced or evicted; their requests are not reported.
  const forget = (window: Window) => {
    urgent.delete(window);
    waiting.delete(window);
  };
  const windows = new LRUCache<string, Window>({ max: MAX_WINDOWS, dispose: forget });

  function current(id: string, at: number): Window {
    const known = windows.get(id);
    // The second condition keeps a clock that was set back from extending a window.
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
    take(id, at) {
      const window = current(id, at);
      const left = quota - window.own - window.others;
      const resetSeconds = Math.ceil((window.endsAt - at) / 1_000);
      if (left <= 0) return { allowed: false, remaining: 0, resetSeconds };
      window.own += 1;
      if (isShared) note(window);
      return { allowed: true, remaining: left - 1, resetSeconds };
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
    acknowledge({ window, points }, { used, msLeft }, at) {
      window.reported += points;
      window.others = Math.max(0, used - window.reported);
      // A store that counts less than was reported has lost its window; ours continues.
      if (used >= window.reported) window.endsAt = at + Math.min(msLeft, windowMs);
    },
    get isDue() {
      return waiting.size > 0;
    },
  };
}

/**
 * A number of requests per ID and window. `name` is shown to clients and separates the limits in
 * the store.
 */
export type Limit = {
  readonly name: 'key' | 'address';
  /** Requests per window. */
  readonly quota: number;
  readonly windowSeconds: number;
};

/**
 * Adds `points` to an ID's count and returns the sum over all processes. Rejects within seconds if
 * the store is unavailable.
 */
export type Ledger = (id: string, points: number) => Promise<Counted>;

/** The store that combines the counts of all processes. */
export type RateLimitStore = {
  /** The counter of one limit. Ledgers with different names are independent. */
  ledger(limit: Limit): Ledger;
  /** Deletes rows of windows that ended over a minute ago. Redis expires them without it. */
  sweep(): Promise<void>;
  /** Closes the connection. Pending commands reject or complete first. */
  close(): Promise<void>;
};

/** A store slower than ten report intervals counts as unavailable. */
const ANSWER_MS = SECOND;
/** Tolerates small differences between the clocks of processes. */
const SWEEP_AFTER_MS = 60 * SECOND;
/** Created by our migrations, in PostgreSQL only. */
const TABLE = 'rate_limit';

/**
 * Opens the store for the configured storage; null for embedded storage, which only one process
 * uses. Does not wait for a connection.
 */
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

/**
 * A separate pool of one connection. The library uses Date.now, so the clocks of processes should
 * agree within about a second.
 */
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
