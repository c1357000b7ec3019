/** Opens the storage, brings it up to date and starts the roles that the configuration names. */
import type { Logger } from 'pino';
import { startWorkers } from '../workers/start.ts';
import { createSignpostApi } from './api.ts';
import { type Clock, compose, composeWorkers, type Opened, type Parts, sealOf } from './compose.ts';
import type { Config } from './config.ts';
import { createApiKeyStore } from './db/api-keys.ts';
import { openDatabase } from './db/client.ts';
import { migrate } from './db/migrate.ts';
import { createEdge } from './edge/edge.ts';
import type { Api } from './http/api.ts';
import { ensureApiKey } from './http/first-key.ts';
import { listen } from './http/server.ts';
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
  /** Callable without a socket, whatever the role. */
  readonly api: Api;
  readonly parts: Parts;
  /** Stops taking work, lets what is under way finish for at most `deadlineMs`, and lets go of everything. */
  close(deadlineMs: number): Promise<void>;
};

type Closing = (deadlineMs: number) => Promise<void>;

/** Starts one process. Waits for a database server that is not up yet. */
export async function startSignpost(
  config: Config,
  log: Logger,
  now: Clock = () => new Date(),
): Promise<Signpost> {
  const opened = await open(config, log, now);
  const parts = compose(opened);
  const closings: Closing[] = [];
  const plays = (role: Config['role']) => config.role === 'all' || config.role === role;
  const api = createSignpostApi(parts);
  const firstKey = plays('api') ? await makeFirstKey(opened) : null;
  // The edge first, so that no challenge is published before somebody answers it.
  const edge = plays('edge') ? await startEdge(parts, closings) : null;
  if (plays('worker')) {
    const workers = startWorkers(composeWorkers(parts));
    closings.push((deadlineMs) => workers.close(deadlineMs));
  }
  const http = plays('api') ? await startApi(parts, api, closings) : null;
  return {
    addresses: { http, edge },
    firstKey,
    api,
    parts,
    async close(deadlineMs) {
      const end = Date.now() + deadlineMs;
      for (const closing of closings.reverse()) await closing(Math.max(0, end - Date.now()));
      await parts.close();
      await opened.backend.close();
      await opened.database.close();
    },
  };
}

async function makeFirstKey({ config, database, now }: Opened): Promise<string | null> {
  const keys = createApiKeyStore(database.prisma);
  const { created } = await ensureApiKey(keys, { configured: config.apiKey, now: now() });
  return created;
}

async function open(config: Config, log: Logger, now: Clock): Promise<Opened> {
  const keyEncryptionKey = await loadKeyEncryptionKey(config);
  const database = await openDatabase(config.storage, log);
  await untilUp(log, () => migrate(database.pool));
  const backend = await openQueueBackend(config.storage, database, log);
  return { config, database, backend, keyEncryptionKey, log, now };
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

async function startApi(parts: Parts, api: Api, closings: Closing[]): Promise<string> {
  const { host, port } = parts.config.http;
  const server = await listen(api, { host, port });
  closings.push((deadlineMs) => server.close(deadlineMs));
  return `http://${host.includes(':') ? `[${host}]` : host}:${server.address.port}`;
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
  return edge.listen({ host: config.http.host, ...config.edge });
}
