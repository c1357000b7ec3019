import type { Logger } from 'pino';
import { openVault } from './certificates/vault/open-vault.ts';
import { type Config, rolesOf, type Storage } from './config/config.ts';
import { openDatabase, requireUtc } from './db/engine/client.ts';
import { migrate } from './db/engine/migrate.ts';
import { transact } from './db/engine/transaction.ts';
import { isUnavailable } from './db/engine/unavailable.ts';
import type { EdgePorts } from './edge/edge.ts';
import { ensureApiKey } from './http/keys/first-key.ts';
import type { Api } from './http/pipeline/api.ts';
import type { ReadReadiness } from './ops/readiness.ts';
import { joinFleet } from './process/join-fleet.ts';
import { type Ops, openOps } from './process/ops.ts';
import { openQueueBackend } from './queue/backend.ts';
import { type Clock, type Closing, closeAll } from './service/opened.ts';
import { buildService, type Service } from './service/service.ts';

/** Null for each role that the process does not have. */
type Addresses = {
  /** The API's base URL, without a trailing slash. */
  readonly http: string | null;
  readonly edge: EdgePorts | null;
  readonly metricsPort: number | null;
};

export type Signpost = {
  readonly addresses: Addresses;
  /** Created because there was none; shown once. */
  readonly firstKey: string | null;
  /** Callable without a socket. */
  readonly api: Api | null;
  readonly service: Service;
  readonly readiness: ReadReadiness;
  /** Lets running work finish for at most `deadlineMs`. */
  close(deadlineMs: number): Promise<void>;
};

const FAILED_START_DEADLINE_MS = 1_000;

/** All roles or none. Waits for a database server that is not up yet. */
export async function startSignpost(
  config: Config,
  log: Logger,
  now: Clock = () => new Date(),
): Promise<Signpost> {
  const closings: Closing[] = [];
  try {
    const ops = await openOps(config, log);
    closings.push((deadlineMs) => ops.close(deadlineMs));
    const service = await openParts({ config, log, now, ops }, closings);
    if (ops.port !== null) service.ownPorts.inside.add(ops.port);
    ops.watch(service);
    const { api, addresses: played } = await startRoles(service, ops.readiness, closings);
    // Last, because a failed start would never show the key.
    const firstKey = played.http === null ? null : await makeFirstKey(service);
    ops.opened.isStarted = true;
    closings.push(() => ops.endWatch()); // the first to run
    const close = (deadlineMs: number) => closeAll(closings, deadlineMs);
    const addresses = { ...played, metricsPort: ops.port };
    return { addresses, firstKey, api, service, readiness: ops.readiness, close };
  } catch (fault) {
    await closeAll(closings, FAILED_START_DEADLINE_MS).catch(() => {}); // the original error matters more
    throw fault;
  }
}

/** Loaded on demand: a process with one role loads up to a quarter less code. */
async function startRoles(
  service: Service,
  readiness: ReadReadiness,
  closings: Closing[],
): Promise<{ api: Api | null; addresses: Omit<Addresses, 'metricsPort'> }> {
  const roles = rolesOf(service.config);
  // The edge first, so that it can answer challenges before any is published.
  const edge = roles.includes('edge')
    ? await (await import('./roles/edge.ts')).startEdge(service, closings)
    : null;
  const dropTraffic = (hostname: string) => edge?.notify({ kind: 'gone', hostname });
  const http = roles.includes('api')
    ? await (await import('./roles/api.ts')).startApi(service, { readiness, dropTraffic, closings })
    : null;
  if (roles.includes('worker')) {
    await (await import('./roles/worker.ts')).startWork(service, closings);
  }
  const addresses = { http: http?.address ?? null, edge: edge?.ports ?? null };
  return { api: http?.api ?? null, addresses };
}

async function makeFirstKey({ apiKeys, audit, config, database, now }: Service) {
  const { apiKey: configured } = config;
  const operation = configured === undefined ? 'createFirstKey' : 'setConfiguredKey';
  const record = (id: string) =>
    audit.record({ operation, object: `/v1/keys/${id}`, keyId: null, status: 201, at: now() });
  const { created } = await transact(database.prisma, () =>
    ensureApiKey(apiKeys, { configured, now: now(), record }),
  );
  return created;
}

/** On a laptop the local CA is intended, so only servers log this. */
function warnOfLocalAuthority({ acme, certificates, storage }: Config, log: Logger): void {
  const isLocal = certificates.source === 'own' && acme.directoryUrl === undefined;
  if (!isLocal || storage.kind === 'embedded') return;
  log.warn('ACME_DIRECTORY_URL is local: browsers do not trust the certificates');
}

type Starting = {
  readonly config: Config;
  readonly log: Logger;
  readonly now: Clock;
  readonly ops: Ops;
};

async function openParts(starting: Starting, closings: Closing[]): Promise<Service> {
  const { config, log, now, ops } = starting;
  const { metrics, opened } = ops;
  warnOfLocalAuthority(config, log);
  const database = await openDatabase(config.storage, log, metrics.process.poolWait);
  closings.push(() => database.close());
  opened.database = database;
  await untilUp(config.storage, log, () => requireUtc(database.pool));
  await untilUp(config.storage, log, () => migrate(database.pool));
  const { vault, loadSecrets } = await openVault(config, database);
  const secrets = await loadSecrets();
  // An edge has no queue, so its errors do not matter there.
  const queueLog = config.role === 'edge' ? log.child({}, { level: 'error' }) : log;
  const backend = await openQueueBackend(config.storage, database, queueLog);
  closings.push(() => backend.close());
  opened.backend = backend;
  closings.push(await joinFleet({ config, database, backend, secrets, log, metrics }));
  const service = buildService({ config, database, backend, vault, secrets, log, now, metrics });
  closings.push(() => service.close());
  return service;
}

/**
 * A server can start later. A failing embedded database does not recover, so its error is thrown.
 */
async function untilUp(storage: Storage, log: Logger, act: () => Promise<unknown>): Promise<void> {
  for (let waitMs = 500; ; waitMs = Math.min(10_000, 2 * waitMs)) {
    try {
      await act();
      return;
    } catch (err) {
      if (storage.kind === 'embedded' || !isUnavailable(err)) throw err;
      log.debug({ err, waitMs }, 'the database server does not answer yet');
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}
