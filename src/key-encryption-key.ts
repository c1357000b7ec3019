/** The key that encrypts private keys at rest: the operator's, or on embedded storage one of our own making. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';

const FILE = 'key-encryption-key';

/** 32 bytes. On embedded storage they are made once, readable by the owner alone. */
export async function loadKeyEncryptionKey({
  keyEncryptionKey,
  storage,
}: Config): Promise<Uint8Array> {
  if (keyEncryptionKey !== undefined) return keyEncryptionKey;
  // src/config.ts requires the variable on any other storage.
  if (storage.kind !== 'embedded') throw new Error('KEY_ENCRYPTION_KEY is missing');
  if (storage.dataDir.startsWith('memory://')) return randomBytes(32);
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
  return key;
}
