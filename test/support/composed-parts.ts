/** The parts of a process on a fresh storage, and no role that plays: tests start what they are about. */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { deriveSecrets } from '../../src/certificates/vault/derived-secrets.ts';
import { createVault } from '../../src/certificates/vault/vault.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { openQueueBackend } from '../../src/queue/backend.ts';
import { compose, type Parts } from '../../src/roles/parts.ts';
import { freshStorage, type StorageName } from './storage.ts';

export type ComposedParts = { readonly parts: Parts; close(): Promise<void> };

export async function composedParts(name: StorageName): Promise<ComposedParts> {
  const fresh = await freshStorage(name);
  const result = loadConfig({});
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const config = { ...result.config, storage: fresh.storage };
  const log = pino({ level: 'silent' });
  const database = await openDatabase(fresh.storage, log);
  const backend = await openQueueBackend(fresh.storage, database, log);
  const vault = createVault(randomBytes(32));
  const sealing = { vault, secrets: deriveSecrets(vault) };
  const parts = compose({ config, database, backend, ...sealing, log, now: () => new Date() });
  return {
    parts,
    async close() {
      await parts.close();
      await backend.close();
      await database.close();
      await fresh.close();
    },
  };
}
