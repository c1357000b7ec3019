import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Beside } from '../support/beside.ts';
import { type FreshStorage, freshStorage, type StorageName } from '../support/storage.ts';

/** Any free ports; the process prints them. */
export const anyPorts = { PORT: '0', EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' } as const;

/** For DATA_DIR. */
export function dataDirOf({ storage }: FreshStorage): string {
  if (storage.kind !== 'embedded') throw new Error(`${storage.kind} has no data directory`);
  return storage.dataDir;
}

/** The variables of a fresh storage. */
export async function storageOf(name?: StorageName) {
  const { storage, close } = await freshStorage(name);
  const env: Readonly<Record<string, string>> =
    storage.kind === 'embedded'
      ? { DATA_DIR: storage.dataDir }
      : {
          DATABASE_URL: storage.databaseUrl,
          ACME_DIRECTORY_URL: 'local',
          ...(storage.kind === 'postgres_redis' && { REDIS_URL: storage.redisUrl }),
          KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
        };
  return { env, close };
}

/** A port that another program listens on until `close`. */
export async function takenPort(): Promise<{ port: string; close: () => Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port: String(port),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The line that a process without a terminal prints when it is ready. */
export function readyLine({ stdout }: Pick<Beside, 'stdout'>): Readonly<Record<string, string>> {
  return JSON.parse(stdout());
}
