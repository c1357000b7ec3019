/** Opens the database of any storage: a pool of `pg` connections, and Prisma over it. */

import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Storage } from '../../config/config.ts';
import { answersInTime } from '../../net/answers-in-time.ts';
import { PrismaClient } from '../generated/client.ts';
import { openEmbedded } from './embedded/stream.ts';
import { joinTransactions } from './transaction.ts';

/** What differs from pool to pool. */
export type PoolOptions = {
  /** Connections at most. */
  readonly max: number;
  /** The server ends a longer statement; 0 lets it run. Embedded storage knows no such limit. */
  readonly statementTimeoutMs: number;
  /** Schemas that names are resolved in, comma separated; the server's own setting where it is missing. */
  readonly searchPath?: string;
};

/** An open database; the same on embedded storage and on a server. */
export type Database = {
  /** Joins the transaction of its caller (src/db/engine/transaction.ts). */
  readonly prisma: PrismaClient;
  /** The pool that `prisma` uses: 10 connections, and statements of 10 s at most. */
  readonly pool: pg.Pool;
  /** Another pool on the same database. Whoever opens it may end it; `close` ends it otherwise. */
  openPool(options: PoolOptions): pg.Pool;
  /** Whether the database answers within two seconds. Never throws. */
  probe(): Promise<boolean>;
  /** Ends every pool, then the embedded database. Idempotent. */
  close(): Promise<void>;
};

/** `pg` waits for ever by default, also for a free connection of the pool. */
const CONNECT_MS = 5_000;
/** There, a new connection waits behind the statements of all others. */
const CONNECT_EMBEDDED_MS = 30_000;
/** A connection that nobody has used for so long is closed. */
const IDLE_MS = 30_000;
/** How much longer than the server's own limit we wait for an answer. */
const SILENCE_MS = 2_000;
/** Embedded transactions run one after the other: a burst of fifty takes longer than Prisma's 2 s. */
const TRANSACTION_WAIT_MS = 10_000;
const TRANSACTION_MS = 10_000;
/** Longer than a transaction may live. */
const IDLE_IN_TRANSACTION_MS = 30_000;

/**
 * Opens the database; a server is not contacted yet, and may be down. Rejects where the embedded directory is in use. An
 * outage later fails the statements of its time, never the process. `waited` is called with the seconds that each request
 * for a connection of the main pool took.
 */
export async function openDatabase(
  storage: Storage,
  log: Logger,
  waited?: (seconds: number) => void,
): Promise<Database> {
  const { connection, closeHost } = await connectionTo(storage, log);
  const pools: pg.Pool[] = [];
  function openPool(options: PoolOptions): pg.Pool {
    const pool = new pg.Pool({ ...limits(options), ...connection });
    // Without a listener, a connection lost while idle would end the process.
    pool.on('error', (error) => log.warn({ err: error }, 'a database connection was lost'));
    pools.push(pool);
    return pool;
  }
  const pool = openPool({ max: 10, statementTimeoutMs: 10_000 });
  if (waited !== undefined) reportWaits(pool, waited);
  const prisma = joinTransactions(
    new PrismaClient({
      adapter: new PrismaPg(pool, { disposeExternalPool: false }),
      transactionOptions: { maxWait: TRANSACTION_WAIT_MS, timeout: TRANSACTION_MS },
    }),
  );
  let closing: Promise<void> | undefined;

  return {
    prisma,
    pool,
    openPool,
    probe: () => answersInTime(pool.query('SELECT 1')),
    close() {
      closing ??= (async () => {
        await prisma.$disconnect();
        await Promise.all(pools.map((each) => (each.ended ? undefined : each.end())));
        await closeHost();
      })();
      return closing;
    },
  };
}

async function connectionTo(
  storage: Storage,
  log: Logger,
): Promise<{ connection: pg.PoolConfig; closeHost: () => Promise<void> }> {
  if (storage.kind !== 'embedded') {
    return { connection: { connectionString: storage.databaseUrl }, closeHost: async () => {} };
  }
  const embedded = await openEmbedded(storage.dataDir, (reason) =>
    log.fatal({ err: reason }, 'the embedded database has stopped; restart the process'),
  );
  return {
    // Everything named, so that no PG* variable of the environment has a say.
    connection: {
      stream: () => embedded.connect(),
      host: 'embedded',
      user: 'postgres',
      database: 'postgres',
      ssl: false,
      connectionTimeoutMillis: CONNECT_EMBEDDED_MS,
    },
    closeHost: () => embedded.close(),
  };
}

function limits({ max, statementTimeoutMs, searchPath }: PoolOptions): pg.PoolConfig {
  return {
    max,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    statement_timeout: statementTimeoutMs,
    // A server that is cut off cannot end its statement; `pg` itself would wait for ever.
    ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + SILENCE_MS }),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'signpost',
    // adapter-pg sends times without an offset, so the session's zone must be the one that they are in.
    options: `-c TimeZone=UTC${searchPath === undefined ? '' : ` -c search_path=${searchPath}`}`,
  };
}

type Got = Parameters<Parameters<pg.Pool['connect']>[0]>;

/** Calls `waited` for every request for a connection of the pool, also a failed one; `pool.query` makes one, too. */
export function reportWaits(pool: pg.Pool, waited: (seconds: number) => void): void {
  const connect = pool.connect.bind(pool);
  function timed(callback?: (...got: Got) => void): Promise<pg.PoolClient> | undefined {
    const began = performance.now();
    const report = () => waited((performance.now() - began) / 1_000);
    if (callback === undefined) return connect().finally(report);
    connect((...got) => {
      report();
      callback(...got);
    });
    return undefined;
  }
  // One function for both of its overloads, which the type of the property does not let a function be.
  pool.connect = timed as typeof pool.connect;
}

/** Rejects, with what to do, where a connection's time zone is not UTC all year round. */
export async function requireUtc(pool: Pick<pg.Pool, 'query'>): Promise<void> {
  const { rows } = await pool.query<{ zone: string; isUtc: boolean }>(
    `SELECT current_setting('TimeZone') AS zone,
       extract(timezone FROM timestamptz '2026-01-01 00:00Z') = 0
         AND extract(timezone FROM timestamptz '2026-07-01 00:00Z') = 0 AS "isUtc"`,
  );
  const [session] = rows;
  if (session?.isUtc === true) return;
  throw new Error(
    `connections to the database have the time zone ${session?.zone}: a pooler drops the one that they ask for. ` +
      "Run ALTER ROLE … SET timezone = 'UTC' for the role of DATABASE_URL, and start the pooler again.",
  );
}

/**
 * Our clock minus the database's, in ms; 0 where they agree as far as the time that the query took can show. Rejects where
 * the database does not answer.
 */
export async function clockSkewMs(
  pool: Pick<pg.Pool, 'query'>,
  now: () => number = Date.now,
): Promise<number> {
  const before = now();
  const { rows } = await pool.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  const after = now();
  const theirs = rows[0]?.ms ?? Number.NaN;
  if (theirs < before) return before - theirs;
  return theirs > after ? after - theirs : 0;
}
