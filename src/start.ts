/** Opens the storage, brings it up to date and starts the roles that the configuration names. */
import type { Logger } from 'pino';
import { startWorkers } from '../workers/start.ts';
import { createSignpostApi } from './api.ts';
import { type Clock, compose, composeWorkers, type Parts, sealOf } from './compose.ts';
import type { Config } from './config.ts';
import { createApiKeyStore } from './db/api-keys.ts';
import { openDatabase } from './db/client.ts';
import { migrate } from './db/migrate.ts';
import { createEdge } from './edge/edge.ts';
import type { Api } from './http/api.ts';
import { ensureApiKey } from './http/keys/first-key.ts';
import { listen } from './http/socket/server.ts';
import { loadKeyEncryptionKey } from './key-encryption-key.ts';
import { openQueueBackend } from './queue/backend.ts';

export type Addresses = {
  /** The API's base, without a trailing slash. */
  readonly http: string | null;
  readonly edge: { readonly httpPort: number; readonly httpsPort: number } | null;
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
    const parts = await openParts(config, log, now, closings);
    const { api, addresses } = await startRoles(parts, closings);
    // Last: a key made by a start that fails would never be shown.
    const firstKey = addresses.http === null ? null : await makeFirstKey(parts);
    const close = (deadlineMs: number) => closeAll(closings, deadlineMs);
    return { addresses, firstKey, api, parts, close };
  } catch (fault) {
    await closeAll(closings, FAILED_START_DEADLINE_MS);
    throw fault;
  }
}

async function startRoles(
  parts: Parts,
  closings: Closing[],
): Promise<{ api: Api | null; addresses: Addresses }> {
  const { role } = parts.config;
  const plays = (one: Config['role']) => role === 'all' || role === one;
  // The edge first, so that no challenge is published before somebody answers it.
  const edge = plays('edge') ? await startEdge(parts, closings) : null;
  const dropTraffic = (hostname: string) => edge?.drop(hostname);
  const http = plays('api') ? await startApi(parts, dropTraffic, closings) : null;
  if (plays('worker')) {
    const workers = startWorkers(composeWorkers(parts));
    closings.push((deadlineMs) => workers.close(deadlineMs));
  }
  const addresses = { http: http?.address ?? null, edge: edge?.ports ?? null };
  return { api: http?.api ?? null, addresses };
}

/** In the opposite order, all within one deadline. */
async function closeAll(closings: readonly Closing[], deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  for (const closing of closings.toReversed()) await closing(Math.max(0, end - Date.now()));
}

/** With another key nothing stored could be opened; better not to start than to fail at every order and handshake. */
async function refuseForeignKey({ keys, vault }: Parts): Promise<void> {
  const sealed = await keys.anySealedKey();
  if (sealed === null || vault.knows(sealed)) return;
  throw new Error(
    'KEY_ENCRYPTION_KEY is not the one that the stored private keys were encrypted with',
  );
}

async function makeFirstKey({ config, database, now }: Parts): Promise<string | null> {
  const keys = createApiKeyStore(database.prisma);
  const { created } = await ensureApiKey(keys, { configured: config.apiKey, now: now() });
  return created;
}

async function openParts(
  config: Config,
  log: Logger,
  now: Clock,
  closings: Closing[],
): Promise<Parts> {
  const keyEncryptionKey = await loadKeyEncryptionKey(config);
  const database = await openDatabase(config.storage, log);
  closings.push(() => database.close());
  await untilUp(log, () => migrate(database.pool));
  const backend = await openQueueBackend(config.storage, database, log);
  closings.push(() => backend.close());
  const parts = compose({ config, database, backend, keyEncryptionKey, log, now });
  closings.push(() => parts.close());
  await refuseForeignKey(parts);
  return parts;
}

/** A database server may start after us; an embedded one that fails is broken for good. */
async function untilUp(log: Logger, act: () => Promise<unknown>): Promise<void> {
  for (let waitMs = 500; ; waitMs = Math.min(10_000, 2 * waitMs)) {
    try {
      await act();
      return;
    } catch (err) {
      if (!isConnectionFault(err)) throw err;
      log.warn({ err, waitMs }, 'the database server does not answer yet');
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

function isConnectionFault(fault: unknown): boolean {
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  // 57P03: the server is starting up (PostgreSQL, appendix A).
  return ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', '57P03'].includes(
    code,
  );
}

async function startApi(
  parts: Parts,
  dropTraffic: (hostname: string) => void,
  closings: Closing[],
): Promise<{ api: Api; address: string }> {
  const { api, close } = createSignpostApi(parts, dropTraffic);
  closings.push(close);
  const { host, port } = parts.config.http;
  const { trustedProxies } = parts.config.api;
  const server = await listen(api, { host, port, trustedProxies });
  closings.push((deadlineMs) => server.close(deadlineMs));
  const name = host.includes(':') ? `[${host}]` : host;
  return { api, address: `http://${name}:${server.address.port}` };
}

async function startEdge(parts: Parts, closings: Closing[]) {
  const { config, lookups, vault, log } = parts;
  const edge = createEdge({
    log,
    findChallenge: lookups.findChallenge,
    findRoute: lookups.findRoute,
    async loadCertificate(id) {
      const stored = await lookups.loadCertificate(id);
      if (stored === null) return null;
      const key = Buffer.from(vault.open(stored.sealedKey, sealOf(id))).toString();
      return { chain: stored.chain, key };
    },
  });
  closings.push((deadlineMs) => edge.close(deadlineMs));
  const ports = await edge.listen({ host: config.http.host, ...config.edge });
  return { ports, drop: edge.drop };
}
