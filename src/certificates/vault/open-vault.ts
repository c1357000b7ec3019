/** Opens the vault over the keys of the environment, where they fit what is stored. */

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { KeyEncryptionKeys } from '../../config/values.ts';
import type { Database } from '../../db/engine/client.ts';
import { openDataDir } from '../../db/engine/embedded/data-dir.ts';
import { createDerivedSecretStore } from '../../db/issuance/authority-keys.ts';
import {
  createSealedStore,
  inWords,
  type SealedColumn,
  type SealedCount,
  sealedColumns,
} from '../../db/issuance/sealed-columns.ts';
import { type DerivedSecrets, loadDerivedSecrets, loadEdgeSecrets } from './derived-secrets.ts';
import { createSplitVault, createVault, type Vault } from './vault.ts';

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
 * later, at its order or its handshake. Makes a key on embedded storage that has none. `split`: what edges open is sealed with
 * their key from now on, whatever it was sealed with before.
 */
export async function openVault(
  config: Pick<Config, 'keyEncryptionKeys' | 'storage'> & Partial<Pick<Config, 'role'>>,
  { prisma, pool }: Pick<Database, 'prisma' | 'pool'>,
  { split = false }: { readonly split?: boolean } = {},
): Promise<OpenedVault> {
  const isEdge = config.role === 'edge';
  const keys = await loadKeyEncryptionKeys(config);
  const isRead = ({ isOfEdges }: SealedColumn) => !isEdge || isOfEdges;
  const stored = await createSealedStore(pool).count(sealedColumns.filter(isRead));
  const whole = createVault(...keys);
  // From the start of an installation, or since `rotate-keys --edges`: processes of an earlier version open nothing of it.
  const isSplit = stored.length === 0 || stored.some(({ header }) => whole.isOfEdges(header));
  const vault = split || isSplit ? createSplitVault(...keys) : whole;
  refuseForeignKeys(vault, stored);
  const like = sealedByOther(vault, stored);
  const store = createDerivedSecretStore(prisma);
  const loadSecrets = () =>
    isEdge ? loadEdgeSecrets(store, vault) : loadDerivedSecrets(store, vault, like);
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
  const own = [vault.header, vault.edgeHeader];
  const isByFirst = ({ header }: SealedCount) => own.some((one) => Buffer.from(header).equals(one));
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
  await openDataDir(storage.dataDir);
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
