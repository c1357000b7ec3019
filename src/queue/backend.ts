/** The storage of BullMQ: Redis, a PostgreSQL server, or the embedded PostgreSQL. */

import { once } from 'node:events';
import {
  type BackendFactory,
  type ConnectionOptions,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  type QueueOptions,
  runMigrations,
  type WorkerOptions,
} from 'bullmq';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Storage } from '../config/config.ts';
import { SECOND } from '../core/time.ts';
import type { Database } from '../db/engine/client.ts';
import { answersInTime } from '../net/deadline.ts';
import { jobTelemetry } from '../net/tracing.ts';

/** The factory has the connection; BullMQ's options require an object in its place. */
export type NoConnection = Record<string, never>;

/** Arguments of `new Queue(…)` and `new Worker(…)`. */
export type QueueBackend = {
  readonly queueOptions: QueueOptions<NoConnection>;
  /** Locks and retention of jobs; the caller sets the concurrency. */
  readonly workerOptions: WorkerOptions<NoConnection>;
  readonly factory: BackendFactory<IQueueBackend, NoConnection>;
  /** Whether Redis or PostgreSQL answers within two seconds. Never rejects. */
  probe(): Promise<boolean>;
  /** What says whose queue it is; null: nothing; undefined: Redis does not answer. Never rejects. */
  readMark(): Promise<string | null | undefined>;
  writeMark(mark: string): Promise<void>;
  /** Null if the queue is not in Redis, or its limit is unknown. Rejects if it does not answer. */
  readMemory(): Promise<QueueMemory | null>;
  /** For the `error` events of queues. Logs at most one error per ten seconds. */
  reportError(error: Error): void;
  /** Closes the producers' shared connection. Close the queues and workers first. */
  close(): Promise<void>;
};

/** In bytes. `max`: maxmemory, or the memory of its machine if none is set. */
export type QueueMemory = { readonly used: number; readonly max: number };

const WEEK_SECONDS = 7 * 24 * 3_600;

/** Beside other applications' keys. Installations need a Redis or a database index each. */
const PREFIX = 'signpost';
const MARK = `${PREFIX}:installation`;

/**
 * A killed worker's job runs again within lock + 2 × interval = 20 s. Retention is set here:
 * setting it per job would double a delayed job's size in Redis.
 */
const workerDefaults = {
  lockDuration: 10 * SECOND,
  stalledInterval: 5 * SECOND,
  // A killed worker's job is seldom the cause; the default of 1 fails it at the second deploy.
  // BullMQ counts over a job's whole life, so workers/running/run-job.ts counts crashes in a row.
  maxStalledCount: 1_000_000,
  removeOnComplete: { count: 0 },
  removeOnFail: { age: WEEK_SECONDS },
  // The wait before retrying an unreachable server; the default is 15 s.
  runRetryDelay: 2 * SECOND,
} as const;

/** BullMQ waits up to an hour for a PostgreSQL notification, which can be lost. */
const LONGEST_WAIT_SECONDS = 30;

/** Rejects if PostgreSQL does not answer (it migrates BullMQ's tables); Redis may be down. */
export function openQueueBackend(
  storage: Storage,
  database: Database,
  log: Logger,
): Promise<QueueBackend> {
  const reportError = errorReporter(log);
  return storage.kind === 'postgres_redis'
    ? openRedis(storage.redisUrl, reportError)
    : openPostgres(database, reportError);
}

async function openRedis(
  url: string,
  reportError: QueueBackend['reportError'],
): Promise<QueueBackend> {
  const shared = {
    connectTimeout: 5 * SECOND,
    retryStrategy: (attempt: number) => Math.min(attempt * 200, 2 * SECOND),
  };
  // Shared by all producers. Fails fast while Redis is down: callers have the jobs in the database.
  const producer = new Redis(url, {
    ...shared,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 5 * SECOND,
  });
  producer.on('error', reportError);
  await firstAttempt(producer).catch((fault: unknown) => {
    producer.disconnect();
    throw fault;
  });
  const worker: ConnectionOptions = { ...shared, url, maxRetriesPerRequest: null };
  const factory: QueueBackend['factory'] = (name, opts, options = {}) => {
    const works = options.withBlockingConnection === true || options.blocking === true;
    // Otherwise a producer could hang or stay broken.
    const given = works
      ? { ...opts, connection: worker }
      : { ...opts, connection: producer, skipWaitingForReady: true, skipVersionCheck: true };
    return createRedisBackend(name, given, options);
  };
  return {
    queueOptions: { connection: {}, prefix: PREFIX, ...jobTelemetry() },
    workerOptions: { connection: {}, prefix: PREFIX, ...workerDefaults, ...jobTelemetry() },
    factory,
    probe: () => answersInTime(producer.ping()),
    readMark: () => producer.get(MARK).catch(() => undefined),
    writeMark: async (mark) => {
      await producer.set(MARK, mark);
    },
    readMemory: () => readMemory(producer),
    reportError,
    close: async () => producer.disconnect(),
  };
}

async function readMemory(client: Redis): Promise<QueueMemory | null> {
  const info = await client.info('memory');
  const bytes = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const max = bytes('maxmemory') || bytes('total_system_memory');
  return max === 0 ? null : { used: bytes('used_memory'), max };
}

/** Redis answers, and waiting does not help: wrong credentials, or no such database. */
export class QueueRefused extends Error {}

const refusals = /^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password|ERR DB index is out of range)\b/;

/** At most two seconds, so that the first job does not fail. Rejects only with QueueRefused. */
async function firstAttempt(client: Redis): Promise<void> {
  const refused = new AbortController();
  client.on('error', (error: Error) => {
    if (refusals.test(error.message)) refused.abort(new QueueRefused(error.message));
  });
  const signal = AbortSignal.any([refused.signal, AbortSignal.timeout(2 * SECOND)]);
  await once(client, 'ready', { signal }).catch(() => {});
  if (refused.signal.aborted) throw refused.signal.reason;
}

async function openPostgres(
  database: Database,
  reportError: QueueBackend['reportError'],
): Promise<QueueBackend> {
  // Every worker holds one connection for LISTEN, and BullMQ's statements can be slow.
  const pool = database.openPool({
    max: 12,
    statementTimeoutMs: 0,
    searchPath: 'public,bullmq',
  });
  pool.setMaxListeners(0); // every queue and worker listens on it
  const client = await pool.connect();
  try {
    await runMigrations(client); // one transaction, under an advisory lock
  } finally {
    client.release();
  }
  // BullMQ's own types for pools don't quite match those of `pg`.
  const connection = pool as unknown as Parameters<typeof createPostgresBackend>[1]['connection'];
  const factory: QueueBackend['factory'] = (name, opts, options) =>
    Object.defineProperty(
      createPostgresBackend(name, { ...opts, connection }, options),
      'maximumBlockTimeout',
      { value: LONGEST_WAIT_SECONDS },
    );
  return {
    queueOptions: { connection: {}, ...jobTelemetry() },
    workerOptions: { connection: {}, ...workerDefaults, ...jobTelemetry() },
    factory,
    probe: () => answersInTime(pool.query('SELECT 1')),
    // Its database is the installation's.
    readMark: async () => null,
    writeMark: async () => {},
    readMemory: async () => null,
    reportError,
    close: async () => {
      if (!pool.ended) await pool.end();
    },
  };
}

/** BullMQ repeats an error at every reconnection attempt, so only one per ten seconds is logged. */
function errorReporter(log: Logger): (error: Error) => void {
  let quietUntil = 0;
  return (error) => {
    if (Date.now() < quietUntil) return;
    quietUntil = Date.now() + 10 * SECOND;
    log.warn({ err: error }, 'the queue reports an error');
  };
}
