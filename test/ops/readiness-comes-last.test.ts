/** A client may send its first request after /readyz succeeds, so API_KEY must work by then. */
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { startSignpost } from '../../src/start.ts';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';

const log = pino({ level: 'silent' });
const closings = closeAfterEach();

it.skipIf(lacks('postgres', 'readiness while the API key cannot be stored'))(
  'A process is not ready before it accepts API_KEY',
  async () => {
    const fresh = await freshStorage('postgres');
    closings.push(fresh.close);
    if (fresh.storage.kind !== 'postgres') throw new Error('this is about PostgreSQL');
    const database = await openDatabase(fresh.storage, log);
    closings.push(() => database.close());
    const holder = await database.pool.connect();
    closings.push(() => holder.release());
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE');

    const [port, apiKey] = [String(await freePort()), 'a-key-of-sixteen-letters'];
    const starting = startSignpost(config(fresh.storage.databaseUrl, port, apiKey), log);
    const ask = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
    const refused = await until('the API listens', () => ask('/readyz').catch(() => null));
    expect([refused.status, await refused.json()]).toEqual([
      503,
      expect.objectContaining({ message: 'Not ready: the process is still starting.' }),
    ]);

    await holder.query('ROLLBACK');
    await until('ready', async () => (await ask('/readyz')).status === 200);
    expect((await ask('/v1/pets')).status).toBe(200);
    await (await starting).close(5_000);
  },
);

function config(databaseUrl: string, port: string, apiKey: string) {
  const loaded = loadConfig({
    ROLE: 'api',
    PORT: port,
    DATABASE_URL: databaseUrl,
    ACME_DIRECTORY_URL: 'local',
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    API_KEY: apiKey,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}
