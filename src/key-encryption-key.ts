/** The keys that encrypt private keys at rest: the operator's, or on embedded storage one of our own making. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { KeyEncryptionKeys } from './config-values.ts';

const FILE = 'key-encryption-key';

/** Of 32 bytes each; the first one seals. On embedded storage one is made once, readable by the owner alone. */
export async function loadKeyEncryptionKeys({
  keyEncryptionKeys,
  storage,
}: Pick<Config, 'keyEncryptionKeys' | 'storage'>): Promise<KeyEncryptionKeys> {
  if (keyEncryptionKeys !== undefined) return keyEncryptionKeys;
  // src/config.ts requires the variable on any other storage.
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
