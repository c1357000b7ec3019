/** What the sections use: a private PostgreSQL (fsync on) and Redis, a name server, and a folder; all removed at the end. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/db/engine/migrate.ts';
import { startPostgres, startRedis } from '../../test/support/servers.ts';
import { run, saidUntil, stop } from '../support/processes.ts';

export type Servers = Awaited<ReturnType<typeof openServers>>;

export async function openServers() {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-bench-edge-'));
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres({ durable: true })]);
  await rememberCommits(postgres);
  const pool = new pg.Pool({ connectionString: postgres.url });
  await migrate(pool);
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

/** From then on, PostgreSQL stores when a row's last writer committed. */
async function rememberCommits(postgres: Awaited<ReturnType<typeof startPostgres>>): Promise<void> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  await client.query('ALTER SYSTEM SET track_commit_timestamp = on');
  await client.end();
  await postgres.stop();
  await postgres.restart();
}

/** Parent of all processes of PostgreSQL. */
async function postmasterOf(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ data_directory: string }>('SHOW data_directory');
  const file = join(rows[0]?.data_directory ?? '', 'postmaster.pid');
  return Number.parseInt(await readFile(file, 'utf8'), 10);
}
