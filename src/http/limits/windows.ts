/** What one process knows of one limit: a window for each id, counted here and corrected by what the store says. */

import { once } from 'node:events';
import { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterPostgres, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Storage } from '../../config/config.ts';
import { SECOND } from '../../core/time.ts';
import type { Database } from '../../db/engine/client.ts';

/** What a request was told. `remaining` is after it; a refused one consumes nothing. */
export type Taken = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up; 1 at least. */
  readonly resetSeconds: number;
};

/** Requests of one id that the store is to add to its count. */
export type Report = { readonly window: Window; readonly points: number };

/** What the store counts for an id over all processes, and for how long still. */
export type Counted = { readonly used: number; readonly msLeft: number };

export type Windows = {
  take(id: string, at: number): Taken;
  /** At most `max` ids that the store has not heard of; they count as told. */
  due(max: number, at: number): readonly Report[];
  /** Renews the view of an id by the store's answer. Without an answer, nothing needs to be done: own counts stay. */
  acknowledge(report: Report, counted: Counted, at: number): void;
  /** Whether `due` has something to give. */
  readonly isDue: boolean;
};

export type WindowsOptions = {
  readonly quota: number;
  readonly windowMs: number;
  /** Whether a store is to be told; without one, `due` stays empty. */
  readonly isShared: boolean;
};

export type Window = {
  readonly id: string;
  endsAt: number;
  /** Taken in this process. */
  own: number;
  /** Of `own`, what the store has not been told. */
  unreported: number;
  /** Of `own`, what the store has answered to. */
  reported: number;
  /** Taken in other processes, as far as the store has said. */
  others: number;
};

/**
 * Our choice: at a few hundred octets each (docs/decisions/0006-rate-limits.md) some megabytes, whoever attacks with
 * however many addresses. The id that was quiet for longest is forgotten; the store still knows it.
 */
const MAX_WINDOWS = 20_000;
/** Our choice: an id with this share of the quota unsaid is told before all others, so that no flood of ids hides it. */
const URGENT_SHARE = 0.01;

/** A window begins with the first request of an id and lasts `windowMs`, or as long as the store's does. */
export function createWindows({ quota, windowMs, isShared }: WindowsOptions): Windows {
  const urgentAt = Math.max(1, Math.floor(quota * URGENT_SHARE));
  const urgent = new Set<Window>();
  const waiting = new Set<Window>();
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
      // A store that knows less than it was told has lost its window, and ours goes on.
      if (used >= window.reported) window.endsAt = at + Math.min(msLeft, windowMs);
    },
    get isDue() {
      return waiting.size > 0;
    },
  };
}

export type Limit = {
  readonly name: 'key' | 'address';
  /** Requests in a window. */
  readonly quota: number;
  readonly windowSeconds: number;
};

/** Adds to what is counted for an id, and says what that came to. Rejects within seconds where the store is away. */
export type Ledger = (id: string, points: number) => Promise<Counted>;

export type RateLimitStore = {
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

function countedBy(answer: { readonly consumedPoints: number; readonly msBeforeNext: number }) {
  return { used: answer.consumedPoints, msLeft: Math.max(0, answer.msBeforeNext) };
}
