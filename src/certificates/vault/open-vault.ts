/** Opens the vault over the keys of the environment, where they fit what is stored. */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { KeyEncryptionKeys } from '../../config/values.ts';
import type { Database } from '../../db/engine/client.ts';
import { createDerivedSecretStore } from '../../db/issuance/authority-keys.ts';
import { createSealedStore, inWords, type SealedCount } from '../../db/issuance/sealed-columns.ts';
import { type DerivedSecrets, loadDerivedSecrets } from './derived-secrets.ts';
import { createVault, type Vault } from './vault.ts';

/** A vault that opens everything that is stored. */
export type OpenedVault = {
  readonly vault: Vault;
  /** How many items are stored, by column and key, as counted a moment ago. */
  readonly stored: readonly SealedCount[];
  /** Resolves with the derived secrets, and makes those that are missing. */
  readonly loadSecrets: () => Promise<DerivedSecrets>;
};

/**
 * Opens the vault. Throws where something stored was sealed with none of the keys: better not to start than to fail
 * later, at its order or its handshake. Makes a key on embedded storage that has none.
 */
export async function openVault(
  config: Pick<Config, 'keyEncryptionKeys' | 'storage'>,
  { prisma, pool }: Pick<Database, 'prisma' | 'pool'>,
): Promise<OpenedVault> {
  const vault = createVault(...(await loadKeyEncryptionKeys(config)));
  const stored = await createSealedStore(pool).count();
  refuseForeignKeys(vault, stored);
  const like = sealedByOther(vault, stored);
  const loadSecrets = () => loadDerivedSecrets(createDerivedSecretStore(prisma), vault, like);
  return { vault, stored, loadSecrets };
}

function refuseForeignKeys(vault: Vault, stored: readonly SealedCount[]): void {
  const foreign = stored.filter(({ header }) => !vault.knows(header));
  if (foreign.length === 0) return;
  throw new Error(
    `no key of KEY_ENCRYPTION_KEY opens ${inWords(foreign)} of the database. ` +
      'Add the key of before behind the others, after a comma (docs/operations.md, “A new key encryption key”)',
  );
}

/**
 * Until the secrets are stored there was one key, and they were derived from it: not always the first of those given, where
 * somebody upgrades and changes the key together.
 */
function sealedByOther(vault: Vault, stored: readonly SealedCount[]): Uint8Array | null {
  const isByFirst = ({ header }: SealedCount) => Buffer.from(header).equals(vault.header);
  return stored.some(isByFirst) ? null : (stored[0]?.header ?? null);
}

const FILE = 'key-encryption-key';

/**
 * Resolves with the keys of 32 bytes each; the first one seals. On embedded storage without KEY_ENCRYPTION_KEY one is
 * made once, in a file that only the owner can read; for storage in memory it is new each time. Throws where that file
 * holds anything else, and without the variable on any other storage.
 */
export async function loadKeyEncryptionKeys({
  keyEncryptionKeys,
  storage,
}: Pick<Config, 'keyEncryptionKeys' | 'storage'>): Promise<KeyEncryptionKeys> {
  if (keyEncryptionKeys !== undefined) return keyEncryptionKeys;
  // src/config/config.ts requires the variable on any other storage.
  if (storage.kind !== 'embedded') throw new Error('KEY_ENCRYPTION_KEY is missing');
  if (storage.dataDir.startsWith('memory://')) return [randomBytes(32)];
  await mkdir(storage.dataDir, { recursive: true });
  const path = join(storage.dataDir, FILE);
  // `wx`: never over one that exists, which would make every stored key unreadable.
  await writeFile(path, randomBytes(32).toString('base64'), { flag: 'wx', mode: 0o600 }).catch(
    (fault: NodeJS.ErrnoException) => {
      if (fault.code !== 'EEXIST') throw fault;
    },
  );
  const key = Buffer.from(await readFile(path, 'utf8'), 'base64');
  if (key.length !== 32) throw new Error(`${path} does not hold 32 bytes in base64`);
  return [key];
}
