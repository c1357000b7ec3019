/** Where processes share what they counted: Redis or PostgreSQL, by rate-limiter-flexible. */

import { once } from 'node:events';
import { Redis } from 'ioredis';
import { RateLimiterPostgres, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Storage } from '../../config/config.ts';
import { SECOND } from '../../core/time.ts';
import type { Database } from '../../db/engine/client.ts';
import type { Counted } from './windows.ts';

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
