import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { KeyEncryptionKeys } from '../../config/values.ts';
import type { Database } from '../../db/engine/client.ts';
import { createDerivedSecretStore } from '../../db/issuance/authority-keys.ts';
import {
  countsInWords,
  createSealedStore,
  type SealedCount,
} from '../../db/issuance/sealed-columns.ts';
import { type DerivedSecrets, loadDerivedSecrets } from './derived-secrets.ts';
import { createVault, type Vault } from './vault.ts';

export type OpenedVault = {
  readonly vault: Vault;
  /** By column and key, counted at opening. */
  readonly stored: readonly SealedCount[];
  /** Creates missing secrets. */
  readonly loadSecrets: () => Promise<DerivedSecrets>;
};

/** Throws if a stored item needs a missing key, rather than at an order or a handshake. */
export async function openVault(
  config: Pick<Config, 'keyEncryptionKeys' | 'storage'>,
  { prisma, pool }: Pick<Database, 'prisma' | 'pool'>,
): Promise<OpenedVault> {
  const vault = createVault(...(await loadKeyEncryptionKeys(config)));
  const stored = await createSealedStore(pool).count();
  refuseForeignKeys(vault, stored);
  const loadSecrets = () => loadDerivedSecrets(createDerivedSecretStore(prisma), vault);
  return { vault, stored, loadSecrets };
}

function refuseForeignKeys(vault: Vault, stored: readonly SealedCount[]): void {
  const foreign = stored.filter(({ header }) => !vault.knows(header));
  if (foreign.length === 0) return;
  throw new Error(
    `no key in KEY_ENCRYPTION_KEY opens ${countsInWords(foreign)} of the database. ` +
      'Append the previous key after a comma (docs/run/key-rotation.md)',
  );
}

const FILE = 'key-encryption-key';

/**
 * 32 bytes each; the first one seals. Embedded storage without KEY_ENCRYPTION_KEY creates one in a
 * file that only the owner can read. Throws if the file is invalid, and without the variable on any
 * other storage.
 */
async function loadKeyEncryptionKeys({
  keyEncryptionKeys,
  storage,
}: Pick<Config, 'keyEncryptionKeys' | 'storage'>): Promise<KeyEncryptionKeys> {
  if (keyEncryptionKeys !== undefined) return keyEncryptionKeys;
  // src/config/config.ts requires the variable on any other storage.
  if (storage.kind !== 'embedded') throw new Error('KEY_ENCRYPTION_KEY is missing');
  if (storage.dataDir.startsWith('memory://')) return [randomBytes(32)];
  await mkdir(storage.dataDir, { recursive: true, mode: 0o700 });
  const path = join(storage.dataDir, FILE);
  // `wx`: never overwrites, since that would make every stored key unreadable.
  await writeFile(path, randomBytes(32).toString('base64'), { flag: 'wx', mode: 0o600 }).catch(
    (fault: NodeJS.ErrnoException) => {
      if (fault.code !== 'EEXIST') throw fault;
    },
  );
  const key = Buffer.from(await readFile(path, 'utf8'), 'base64');
  if (key.length !== 32) throw new Error(`${path} does not hold 32 bytes in base64`);
  return [key];
}
