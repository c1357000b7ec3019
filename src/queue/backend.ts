/** What BullMQ keeps its jobs in: Redis, a PostgreSQL server, or the embedded PostgreSQL. */
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
import { answersInTime } from '../net/answers-in-time.ts';
import { jobTelemetry } from '../net/tracing.ts';

/** The factory has the connection; BullMQ's options require some object in its place. */
export type NoConnection = Record<string, never>;

/** The arguments of `new Queue(name, queueOptions, factory)` and `new Worker(name, processor, workerOptions, factory)`. */
export type QueueBackend = {
  readonly queueOptions: QueueOptions<NoConnection>;
  /** How jobs are locked and kept; concurrency is the caller's. */
  readonly workerOptions: WorkerOptions<NoConnection>;
  readonly factory: BackendFactory<IQueueBackend, NoConnection>;
  /** Whether Redis or PostgreSQL answers within two seconds. Never rejects. */
  probe(): Promise<boolean>;
  /** For the `error` events of queues. Logs one error in ten seconds at most. */
  reportError(error: Error): void;
  /** Ends the connection that the producers share. Close the queues and workers first. */
  close(): Promise<void>;
};

const WEEK_SECONDS = 7 * 24 * 3_600;

/** Several installations may share a Redis; their keys begin with this. */
const PREFIX = 'signpost';

/**
 * A killed worker's job runs again within lock + 2 × interval = 20 s. Retention stands here and not with each
 * job, where it would double what a delayed job takes in Redis.
 */
const workerDefaults = {
  lockDuration: 10 * SECOND,
  stalledInterval: 5 * SECOND,
  // A job whose worker is killed is seldom at fault; the default of 1 fails it at the second deploy. BullMQ counts over
  // a job's whole life, and ours live for days; so workers/running/run-job.ts decides by deaths in a row instead.
  maxStalledCount: 1_000_000,
  removeOnComplete: { count: 0 },
  removeOnFail: { age: WEEK_SECONDS },
  // The wait before the next try while the server cannot be reached; the default is 15 s.
  runRetryDelay: 2 * SECOND,
} as const;

/** BullMQ waits up to an hour for a notification of PostgreSQL, and one that is lost must not cost that. */
const LONGEST_WAIT_SECONDS = 30;

/**
 * Opens the queues' storage. On PostgreSQL it brings BullMQ's own tables up to date, so the server must answer, or it
 * rejects; Redis may be down.
 */
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

/** For a process that has no jobs and asks no queue, an edge: opens nothing, and every queue of it throws. */
export function noQueueBackend(): QueueBackend {
  return {
    queueOptions: { connection: {} },
    workerOptions: { connection: {} },
    factory() {
      throw new Error('a process with the role edge has no queue');
    },
    probe: async () => true,
    reportError() {},
    close: async () => {},
  };
}

async function openRedis(
  url: string,
  reportError: QueueBackend['reportError'],
): Promise<QueueBackend> {
  const shared = {
    connectTimeout: 5 * SECOND,
    retryStrategy: (attempt: number) => Math.min(attempt * 200, 2 * SECOND),
  };
  // All producers share one connection. It fails at once while Redis is down: whoever enqueues has the
  // database to fall back on.
  const producer = new Redis(url, {
    ...shared,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 5 * SECOND,
  });
  producer.on('error', reportError);
  await firstAttempt(producer);
  const worker: ConnectionOptions = { ...shared, url, maxRetriesPerRequest: null };
  const factory: QueueBackend['factory'] = (name, opts, options = {}) => {
    const works = options.withBlockingConnection === true || options.blocking === true;
    // A producer that waited for the connection, or asked for the version over it, would hang or stay broken.
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
    reportError,
    close: async () => producer.disconnect(),
  };
}

/** Until the connection is made or refused, two seconds at most: the first job should not fail for being early. */
async function firstAttempt(client: Redis): Promise<void> {
  await once(client, 'ready', { signal: AbortSignal.timeout(2 * SECOND) }).catch(() => {});
}

async function openPostgres(
  database: Database,
  reportError: QueueBackend['reportError'],
): Promise<QueueBackend> {
  // A pool of its own: every worker holds one connection for LISTEN, and what BullMQ does may take its time.
  const pool = database.openPool({
    max: 12,
    statementTimeoutMs: 0,
    searchPath: 'public,bullmq',
  });
  pool.setMaxListeners(0); // every queue and worker listens on it
  const client = await pool.connect();
  try {
    await runMigrations(client); // one transaction, under an advisory lock of its own
  } finally {
    client.release();
  }
  // BullMQ describes the part of a pool it uses in types of its own, which the types of `pg` do not quite match.
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
    reportError,
    close: async () => {
      if (!pool.ended) await pool.end();
    },
  };
}

/** BullMQ repeats an error with every attempt to reconnect; one line in ten seconds says as much. */
function errorReporter(log: Logger): (error: Error) => void {
  let quietUntil = 0;
  return (error) => {
    if (Date.now() < quietUntil) return;
    quietUntil = Date.now() + 10 * SECOND;
    log.warn({ err: error }, 'the queue reports an error');
  };
}

/** ioredis (6.0) gives these no code, so its words are the only sign there is; test/queue/outages.test.ts provokes them. */
const unavailableMessages: ReadonlySet<string> = new Set([
  'Connection is closed.',
  'Command timed out',
  "Stream isn't writeable and enableOfflineQueue options is false",
]);

/** Answers of a Redis that starts, follows another or has lost its cluster. */
const notReady = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/;

/** Whether a fault of ioredis or BullMQ means that Redis cannot be reached, or is not ready, just now. */
export function isQueueUnavailable(fault: unknown): boolean {
  if (!(fault instanceof Error)) return false;
  return (
    fault.name === 'MaxRetriesPerRequestError' ||
    unavailableMessages.has(fault.message) ||
    notReady.test(fault.message)
  );
}
