/** The store that combines the counts of all processes: Redis or PostgreSQL. */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { RateLimiterPostgres, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Storage } from '../../config/config.ts';
import { SECOND } from '../../core/time.ts';
import type { Database } from '../../db/engine/client.ts';
import type { Counted } from './windows.ts';

/** `name` is shown to clients and separates the limits in the store. */
export type Limit = {
  readonly name: 'key' | 'address' | 'account';
  readonly quota: number;
  readonly windowSeconds: number;
};

/** Returns the sum over all processes. Rejects within seconds if the store is unavailable. */
export type Ledger = (id: string, points: number) => Promise<Counted>;

export type RateLimitStore = {
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
