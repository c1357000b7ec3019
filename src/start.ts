/** Opens the storage, brings it up to date and starts the roles that the configuration names. */
import type { Logger } from 'pino';
import type { Served } from './api.ts';
import { sealOf } from './certificates/keys.ts';
import { createProofCertificates } from './certificates/proof-certificate.ts';
import { type Clock, compose, type Parts } from './compose.ts';
import type { Config, Storage } from './config.ts';
import { createApiKeyStore } from './db/api-keys.ts';
import { openDatabase, requireUtc } from './db/client.ts';
import { migrate } from './db/migrate.ts';
import { listenForRouteNews } from './db/route-news.ts';
import { createAwayProbe, isUnavailable } from './db/unavailable.ts';
import { keepCertificates } from './edge/secure-contexts.ts';
import { upstreamReach } from './edge/upstream.ts';
import type { Api } from './http/api.ts';
import { ensureApiKey } from './http/keys/first-key.ts';
import { listen } from './http/socket/server.ts';
import { trustedProxies as membersOf } from './net/client-address.ts';
import { openVault } from './open-vault.ts';
import { type Ops, openOps } from './ops/open.ts';
import type { ReadReadiness } from './ops/readiness.ts';
import { openQueueBackend } from './queue/backend.ts';

export type Addresses = {
  /** The API's base, without a trailing slash. */
  readonly http: string | null;
  readonly edge: { readonly httpPort: number; readonly httpsPort: number } | null;
  /** Of METRICS_PORT; null where there is none. */
  readonly metricsPort: number | null;
};

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

type Closing = (deadlineMs: number) => Promise<void>;

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
    const { api, addresses: played } = await startRoles(parts, ops.readiness, closings);
    // Last: a key made by a start that fails would never be shown.
    const firstKey = played.http === null ? null : await makeFirstKey(parts);
    ops.opened.isStarted = true;
    const close = (deadlineMs: number) => closeAll(closings, deadlineMs);
    const addresses = { ...played, metricsPort: ops.port };
    return { addresses, firstKey, api, parts, close };
  } catch (fault) {
    await closeAll(closings, FAILED_START_DEADLINE_MS);
    throw fault;
  }
}

/** What a role alone needs is loaded where it is played: a process of one role loads up to a quarter less. */
async function startRoles(
  parts: Parts,
  readiness: ReadReadiness,
  closings: Closing[],
): Promise<{ api: Api | null; addresses: Omit<Addresses, 'metricsPort'> }> {
  const { certificates, role } = parts.config;
  const plays = (one: Config['role']) => role === 'all' || role === one;
  // The edge first, so that no challenge is published before somebody answers it.
  const isOwn = certificates.source === 'own';
  const edge = isOwn && plays('edge') ? await startEdge(parts, closings) : null;
  const dropTraffic = (hostname: string) => edge?.hear({ kind: 'gone', hostname });
  const http = plays('api') ? await startApi({ parts, readiness, dropTraffic }, closings) : null;
  if (plays('worker')) await startWork(parts, closings);
  const addresses = { http: http?.address ?? null, edge: edge?.ports ?? null };
  return { api: http?.api ?? null, addresses };
}

/** In the opposite order, all within one deadline. */
async function closeAll(closings: readonly Closing[], deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  for (const closing of closings.toReversed()) await closing(Math.max(0, end - Date.now()));
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
  await untilUp(config.storage, log, () => requireUtc(database.pool));
  await untilUp(config.storage, log, () => migrate(database.pool));
  const { vault, loadSecrets } = await openVault(config, database);
  const secrets = await loadSecrets();
  const backend = await openQueueBackend(config.storage, database, log);
  closings.push(() => backend.close());
  opened.backend = backend;
  const parts = compose({ config, database, backend, vault, secrets, log, now, metrics });
  closings.push(() => parts.close());
  return parts;
}

/**
 * A database server may start after us, and one that is busy may take long to answer; an embedded one that fails is broken
 * for good.
 */
async function untilUp(storage: Storage, log: Logger, act: () => Promise<unknown>): Promise<void> {
  for (let waitMs = 500; ; waitMs = Math.min(10_000, 2 * waitMs)) {
    try {
      await act();
      return;
    } catch (err) {
      if (storage.kind === 'embedded' || !isUnavailable(err)) throw err;
      log.warn({ err, waitMs }, 'the database server does not answer yet');
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

async function startWork(parts: Parts, closings: Closing[]): Promise<void> {
  const { composeWorkers } = await import('./compose-workers.ts');
  const { startWorkers } = await import('../workers/start.ts');
  const workers = startWorkers(composeWorkers(parts));
  closings.push((deadlineMs) => workers.close(deadlineMs));
}

async function startApi(
  served: Served,
  closings: Closing[],
): Promise<{ api: Api; address: string }> {
  const { createSignpostApi } = await import('./api.ts');
  const { api, close } = createSignpostApi(served);
  closings.push(close);
  const { host, port } = served.parts.config.http;
  const { trustedProxies } = served.parts.config.api;
  const server = await listen(api, { host, port, trustedProxies });
  closings.push((deadlineMs) => server.close(deadlineMs));
  const name = host.includes(':') ? `[${host}]` : host;
  return { api, address: `http://${name}:${server.address.port}` };
}

async function startEdge(parts: Parts, closings: Closing[]) {
  const { createEdge } = await import('./edge/edge.ts');
  const { config, database, lookups, vault, log, metrics, now } = parts;
  const loadSealed = keepCertificates(lookups.loadCertificate);
  const edge = createEdge({
    log,
    ...(metrics && { count: metrics.edge }),
    reach: upstreamReach(config, parts.ownAddresses),
    visitors: {
      perAddress: config.edge.connectionsPerAddress,
      isTrusted: membersOf(config.api.trustedProxies),
    },
    findChallenge: lookups.findChallenge,
    findChallengeCertificate:
      config.acme.challenge === 'tls-alpn-01'
        ? createProofCertificates(lookups.findProof, now)
        : null,
    findRoute: lookups.findRoute,
    isDatabaseAway: createAwayProbe(database),
    async loadCertificate(id) {
      const stored = await loadSealed(id);
      if (stored === null) return null;
      return { chain: stored.chain, key: vault.open(stored.sealedKey, sealOf(id)) };
    },
  });
  closings.push((deadlineMs) => edge.close(deadlineMs));
  const ports = await edge.listen({ host: config.http.host, ...config.edge });
  const beating = { pool: parts.edgePool, openPool: database.openPool };
  const news = listenForRouteNews({ database: beating, log, hear: edge.hear });
  closings.push(() => news.close());
  return { ports, hear: edge.hear };
}
