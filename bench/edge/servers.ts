/** What the sections run on: PostgreSQL (fsync on) and Redis of their own, a name server, and a folder, all gone at the end. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { openVault } from '../../src/certificates/vault/open-vault.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { migrate } from '../../src/db/engine/migrate.ts';
import { startPostgres, startRedis } from '../../test/support/servers.ts';
import { rememberCommits } from '../support/commits.ts';
import { run, saidUntil, stop } from '../support/processes.ts';
import { KEY_ENCRYPTION_KEY } from '../support/service.ts';

export type Servers = Awaited<ReturnType<typeof openServers>>;

export async function openServers() {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-bench-edge-'));
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres({ durable: true })]);
  await rememberCommits(postgres);
  await prepare(postgres.url);
  const pool = new pg.Pool({ connectionString: postgres.url });
  const nameServer = run('./name-server.js', import.meta.url, { env: {} });
  const dnsPort = (await saidUntil(nameServer, /\n/)).trim();
  return {
    folder,
    pool,
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    dnsPort,
    nameServer,
    postgresPid: await postmasterOf(pool),
    async close() {
      await stop(nameServer);
      await pool.end();
      await Promise.all([redis.close(), postgres.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What an edge waits for: the tables, and the secrets that are derived once. */
async function prepare(databaseUrl: string): Promise<void> {
  const storage = { kind: 'postgres', databaseUrl } as const;
  const database = await openDatabase(storage, pino({ level: 'silent' }));
  await migrate(database.pool);
  const keyEncryptionKeys = [KEY_ENCRYPTION_KEY] as const;
  const { loadSecrets } = await openVault({ keyEncryptionKeys, storage }, database);
  await loadSecrets();
  await database.close();
}

/** The process that all of PostgreSQL's others come from. */
async function postmasterOf(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ data_directory: string }>('SHOW data_directory');
  const file = join(rows[0]?.data_directory ?? '', 'postmaster.pid');
  return Number.parseInt(await readFile(file, 'utf8'), 10);
}
