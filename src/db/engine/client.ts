/** A pool of `pg` connections, and Prisma on top, for any storage. */

import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Storage } from '../../config/config.ts';
import { answersInTime } from '../../net/deadline.ts';
import { PrismaClient } from '../generated/client.ts';
import { openEmbedded } from './embedded/stream.ts';
import { joinTransactions } from './transaction.ts';

export type PoolOptions = {
  readonly max: number;
  /** The server cancels longer statements; 0: no limit. Ignored on embedded storage. */
  readonly statementTimeoutMs: number;
  /** Comma-separated; default: the server's setting. */
  readonly searchPath?: string;
};

/** The same API on embedded storage and on a server. */
export type Database = {
  /** Joins the caller's transaction (src/db/engine/transaction.ts). */
  readonly prisma: PrismaClient;
  /** POOL_MAX, statements of at most 10 s. `prisma` uses it, too. */
  readonly pool: pg.Pool;
  /** `close` ends it, unless the caller did. */
  openPool(options: PoolOptions): pg.Pool;
  /** Whether the database answers within two seconds. Never throws. */
  probe(): Promise<boolean>;
  /** Ends every pool, then the embedded database. Idempotent. */
  close(): Promise<void>;
};

/** Of the main pool. */
export const POOL_MAX = 10;
/** By default, `pg` waits forever, also for a free connection of the pool. */
const CONNECT_MS = 5_000;
/** On embedded storage, a new connection waits for the statements of all others. */
const CONNECT_EMBEDDED_MS = 30_000;
const IDLE_MS = 30_000;
/** How much longer than the server's limit to wait for an answer. */
const SILENCE_MS = 2_000;
/** Embedded transactions are serialized: a burst of fifty exceeds Prisma's 2 s. */
const TRANSACTION_WAIT_MS = 10_000;
const TRANSACTION_MS = 10_000;
/** Longer than any transaction. */
const IDLE_IN_TRANSACTION_MS = 30_000;

/**
 * Does not contact the server, so it can be down. Rejects if the embedded directory is in use.
 * Later outages fail statements, never the process. `waited`: gets the seconds that each request
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
    // Without listeners, losing a connection would end the process: an idle one, or one that the
    // server ends before its first statement.
    const lost = (error: Error) => log.debug({ err: error }, 'a database connection was lost');
    pool.on('error', lost).on('connect', (client) => void client.on('error', lost));
    pools.push(pool);
    return pool;
  }
  const pool = openPool({ max: POOL_MAX, statementTimeoutMs: 10_000 });
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
    // Everything is set explicitly, so that PG* environment variables have no effect.
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
    // An unreachable server cannot cancel its statement, and `pg` would wait forever.
    ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + SILENCE_MS }),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'signpost',
    // adapter-pg sends times without an offset, so the session's zone must match.
    options: `-c TimeZone=UTC${searchPath === undefined ? '' : ` -c search_path=${searchPath}`}`,
  };
}

type ConnectArguments = Parameters<Parameters<pg.Pool['connect']>[0]>;

/** Includes failed requests and those of `pool.query`. */
function reportWaits(pool: pg.Pool, waited: (seconds: number) => void): void {
  const connect = pool.connect.bind(pool);
  function timed(
    callback?: (...got: ConnectArguments) => void,
  ): Promise<pg.PoolClient> | undefined {
    const began = performance.now();
    const report = () => waited((performance.now() - began) / 1_000);
    if (callback === undefined) return connect().finally(report);
    connect((...got) => {
      report();
      callback(...got);
    });
    return undefined;
  }
  // One function for both overloads, which the property's type does not allow.
  pool.connect = timed as typeof pool.connect;
}

/** Rejects, with instructions, if a connection's time zone is not UTC all year. */
export async function requireUtc(pool: Pick<pg.Pool, 'query'>): Promise<void> {
  const { rows } = await pool.query<{ zone: string; isUtc: boolean }>(
    `SELECT current_setting('TimeZone') AS zone,
       extract(timezone FROM timestamptz '2026-01-01 00:00Z') = 0
         AND extract(timezone FROM timestamptz '2026-07-01 00:00Z') = 0 AS "isUtc"`,
  );
  const [session] = rows;
  if (session?.isUtc === true) return;
  throw new Error(
    `database connections have the time zone ${session?.zone}: a pooler drops the requested one. ` +
      "Run ALTER ROLE … SET timezone = 'UTC' for the role of DATABASE_URL, then restart the pooler.",
  );
}

/** This clock minus the database's; 0 if the difference is within the query's duration. */
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
