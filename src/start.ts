/** Opens the storage, brings it up to date and starts the roles that the configuration names. */
import type { Logger } from 'pino';
import { openVault } from './certificates/vault/open-vault.ts';
import type { Config, Storage } from './config/config.ts';
import { createApiKeyStore } from './db/api-keys.ts';
import { openDatabase, requireUtc } from './db/engine/client.ts';
import { migrate } from './db/engine/migrate.ts';
import { NotPrepared, requireMigrated } from './db/engine/prepared.ts';
import { isUnavailable } from './db/engine/unavailable.ts';
import type { EdgePorts } from './edge/edge.ts';
import { ensureApiKey } from './http/keys/first-key.ts';
import type { Api } from './http/pipeline/api.ts';
import type { ReadReadiness } from './ops/readiness.ts';
import { noQueueBackend, openQueueBackend } from './queue/backend.ts';
import { type Ops, openOps, rolesOf } from './roles/listeners.ts';
import { type Clock, type Closing, closeAll, compose, type Parts } from './roles/parts.ts';

/** Where a started process answers; null for each role that it does not play. */
export type Addresses = {
  /** The API's base, without a trailing slash. */
  readonly http: string | null;
  readonly edge: EdgePorts | null;
  /** Of METRICS_PORT; null where there is none. */
  readonly metricsPort: number | null;
};

/** One process at work, until it is closed. */
export type Signpost = {
  readonly addresses: Addresses;
  /** Made because there was none; shown once. */
  readonly firstKey: string | null;
  /** Callable without a socket; null in a process that does not play the role. */
  readonly api: Api | null;
  readonly parts: Parts;
  /** Stops taking work, lets what is under way finish for at most `deadlineMs`, and lets go of everything. */
  close(deadlineMs: number): Promise<void>;
};

const FAILED_START_DEADLINE_MS = 1_000;

/** Starts one process, or nothing of it. Waits for a database server that is not up yet. */
export async function startSignpost(
  config: Config,
  log: Logger,
  now: Clock = () => new Date(),
): Promise<Signpost> {
  const closings: Closing[] = [];
  try {
    const ops = await openOps(config, log);
    closings.push((deadlineMs) => ops.close(deadlineMs));
    const parts = await openParts({ config, log, now, ops }, closings);
    ops.watch(parts);
    if (ops.port !== null) parts.ownPorts.add(ops.port);
    const { api, addresses: played } = await startRoles(parts, ops.readiness, closings);
    // Last: a key made by a start that fails would never be shown.
    const firstKey = played.http === null ? null : await makeFirstKey(parts);
    ops.opened.isStarted = true;
    const close = (deadlineMs: number) => closeAll(closings, deadlineMs);
    const addresses = { ...played, metricsPort: ops.port };
    return { addresses, firstKey, api, parts, close };
  } catch (fault) {
    await closeAll(closings, FAILED_START_DEADLINE_MS).catch(() => {}); // what ended the start says more
    throw fault;
  }
}

/** What a role alone needs is loaded where it is played: a process of one role loads up to a quarter less. */
async function startRoles(
  parts: Parts,
  readiness: ReadReadiness,
  closings: Closing[],
): Promise<{ api: Api | null; addresses: Omit<Addresses, 'metricsPort'> }> {
  const roles = rolesOf(parts.config);
  // The edge first, so that no challenge is published before somebody answers it.
  const edge = roles.includes('edge')
    ? await (await import('./roles/edge.ts')).startEdge(parts, closings)
    : null;
  const dropTraffic = (hostname: string) => edge?.notify({ kind: 'gone', hostname });
  const http = roles.includes('api')
    ? await (await import('./roles/api.ts')).startApi({ parts, readiness, dropTraffic }, closings)
    : null;
  if (roles.includes('worker')) {
    await (await import('./roles/worker.ts')).startWork(parts, closings);
  }
  const addresses = { http: http?.address ?? null, edge: edge?.ports ?? null };
  return { api: http?.api ?? null, addresses };
}

async function makeFirstKey({ config, database, now }: Parts): Promise<string | null> {
  const keys = createApiKeyStore(database.prisma);
  const { created } = await ensureApiKey(keys, { configured: config.apiKey, now: now() });
  return created;
}

type Starting = {
  readonly config: Config;
  readonly log: Logger;
  readonly now: Clock;
  readonly ops: Ops;
};

async function openParts(starting: Starting, closings: Closing[]): Promise<Parts> {
  const { config, log, now, ops } = starting;
  const { metrics, opened } = ops;
  const database = await openDatabase(config.storage, log, metrics.process.poolWait);
  closings.push(() => database.close());
  opened.database = database;
  // Its role may read what it serves and nothing else; others prepare the database for it.
  const isEdge = config.role === 'edge';
  await untilUp(config.storage, log, () => requireUtc(database.pool));
  await untilUp(config.storage, log, async () => {
    await (isEdge ? requireMigrated(database.pool) : migrate(database.pool));
  });
  const { vault, loadSecrets } = await openVault(config, database);
  const secrets = await untilUp(config.storage, log, loadSecrets);
  const backend = isEdge ? noQueueBackend() : await openQueueBackend(config.storage, database, log);
  closings.push(() => backend.close());
  opened.backend = backend;
  const parts = compose({ config, database, backend, vault, secrets, log, now, metrics });
  closings.push(() => parts.close());
  return parts;
}

/**
 * A database server may start after us, and one that is busy may take long to answer; an embedded one that fails is broken
 * for good. An edge may start before those that prepare the database for it.
 */
async function untilUp<T>(storage: Storage, log: Logger, act: () => Promise<T>): Promise<T> {
  for (let waitMs = 500; ; waitMs = Math.min(10_000, 2 * waitMs)) {
    try {
      return await act();
    } catch (err) {
      const isPrepared = !(err instanceof NotPrepared);
      if (storage.kind === 'embedded' || (isPrepared && !isUnavailable(err))) throw err;
      if (isPrepared) log.warn({ err, waitMs }, 'the database server does not answer yet');
      else log.warn({ err, waitMs }, 'the edge waits for an API or a worker of its version');
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}
