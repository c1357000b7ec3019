import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createVault } from '../src/certificates/vault/vault.ts';
import { loadConfig } from '../src/config/config.ts';
import { openDatabase } from '../src/db/engine/client.ts';
import { createAuthorityKeyStore } from '../src/db/issuance/authority-keys.ts';
import { startSignpost } from '../src/start.ts';
import { freshStorage } from './support/storage.ts';

const log = pino({ level: 'silent' });

describe('The start of the service', () => {
  it('fails if the stored private keys were encrypted with another key', async () => {
    const { storage, close } = await freshStorage('embedded');
    if (storage.kind !== 'embedded') throw new Error('freshStorage gave another storage');
    const before = await openDatabase(storage, log);
    const vault = createVault(Buffer.alloc(32, 1));
    const sealedKey = vault.seal(Buffer.from('a private key'), 'acme_account/https://ca.test');
    await createAuthorityKeyStore(before.prisma).keepAccountKey('https://ca.test', sealedKey);
    await before.close();

    const result = loadConfig({
      DATA_DIR: storage.dataDir,
      PORT: '0',
      EDGE_HTTP_PORT: '0',
      EDGE_HTTPS_PORT: '0',
      KEY_ENCRYPTION_KEY: Buffer.alloc(32, 2).toString('base64'),
    });
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    await expect(startSignpost(result.config, log)).rejects.toThrow(
      'no key in KEY_ENCRYPTION_KEY opens 1 account key of the database. Append the previous key after a comma',
    );
    await close();
  });
});
