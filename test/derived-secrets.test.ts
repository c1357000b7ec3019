import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import {
  type DerivedSecrets,
  derivedSecretNames,
  deriveSecrets,
  loadDerivedSecrets,
} from '../src/certificates/vault/derived-secrets.ts';
import { createVault } from '../src/certificates/vault/vault.ts';
import { openDatabase } from '../src/db/engine/client.ts';
import {
  createDerivedSecretStore,
  type DerivedSecretStore,
} from '../src/db/issuance/authority-keys.ts';
import { freshStorage, type StorageName, storagesOfRun } from './support/storage.ts';

/** Several processes: tens of seconds on a busy machine. */
vi.setConfig({ testTimeout: 300_000 });

const inHex = (secrets: DerivedSecrets) =>
  Object.fromEntries(
    Object.entries(secrets).map(([name, secret]) => [name, Buffer.from(secret).toString('hex')]),
  );

const databases = storagesOfRun().filter(({ name }) => name !== 'postgres_redis');

async function withStore(name: StorageName, act: (store: DerivedSecretStore) => Promise<void>) {
  const fresh = await freshStorage(name);
  const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  try {
    await act(createDerivedSecretStore(database.prisma));
  } finally {
    await database.close();
    await fresh.close();
  }
}

describe('Derived secrets', () => {
  it('match the versions that stored none', () => {
    // HKDF-SHA-256 without a salt, over 32 bytes of zero, with the texts of those versions.
    expect(inHex(deriveSecrets(createVault(new Uint8Array(32))))).toMatchObject({
      target: 'd8de81fd387f2163162dc804f44e18b17e21178b0bb90114395ae4118db8574e',
      proof: 'bf45a01455b49dba7ee85ec3c6b20307944ea847432f29882bbdf203b7e518e3',
      probe: '8090d8af05c1fb1889ed7bdecb57ab074ec7056725fbba5cd2a65706ab1c2c64',
      session: '5a38885ce905405aa20623a0cf72777becb25c305aa68cbd9feb83b35499ba1a',
      signing: 'fe2fc7737c4deb7f198c2d7f524507b0736708eed3cf048450343cc7bf8f8efb',
    });
  });
});

for (const { name, available } of databases) {
  describe.skipIf(!available)(`Derived secrets on ${name}`, () => {
    const [old, newer] = [randomBytes(32), randomBytes(32)];

    it('survive a change of the key encryption key', () =>
      withStore(name, async (store) => {
        const first = await loadDerivedSecrets(store, createVault(old));
        expect(inHex(first)).toEqual(inHex(deriveSecrets(createVault(old))));
        const later = await loadDerivedSecrets(store, createVault(newer, old));
        expect(inHex(later)).toEqual(inHex(first));
      }));

    it('are the same for processes that start together with different first keys', () =>
      withStore(name, async (store) => {
        const vaults = [createVault(old, newer), createVault(newer, old), createVault(old, newer)];
        const all = await Promise.all(vaults.map((vault) => loadDerivedSecrets(store, vault)));
        expect(new Set(all.map((one) => JSON.stringify(inHex(one)))).size).toBe(1);
      }));

    it('are stored encrypted', () =>
      withStore(name, async (store) => {
        const secrets = await loadDerivedSecrets(store, createVault(old));
        const stored = (await store.load()).map(({ sealedValue }) => Buffer.from(sealedValue));
        expect(stored).toHaveLength(derivedSecretNames.length);
        for (const secret of Object.values(secrets)) {
          expect(stored.some((sealed) => sealed.includes(Buffer.from(secret)))).toBe(false);
        }
      }));
  });
}
