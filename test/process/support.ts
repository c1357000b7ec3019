/** What the tests of whole processes share. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';

/** Any free ports; the process prints which. */
export const anyPorts = { PORT: '0', EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' } as const;

/** For DATA_DIR. */
export function dataDirOf({ storage }: FreshStorage): string {
  if (storage.kind !== 'embedded') throw new Error(`${storage.kind} has no data directory`);
  return storage.dataDir;
}

/** PostgreSQL where it is installed, because a process starts on it sooner, and the embedded storage elsewhere. */
export async function quickStorage() {
  const installed = storages.some(({ name, available }) => name === 'postgres' && available);
  const fresh = await freshStorage(installed ? 'postgres' : 'embedded');
  const env: Readonly<Record<string, string>> =
    fresh.storage.kind === 'embedded'
      ? { DATA_DIR: fresh.storage.dataDir }
      : {
          DATABASE_URL: fresh.storage.databaseUrl,
          KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
        };
  return { env, close: fresh.close };
}

/** A port that another program listens on until `close`. */
export async function takenPort(): Promise<{ port: string; close: () => Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    port: String(port),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
