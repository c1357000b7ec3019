/** What a measurement runs on: a Redis and a PostgreSQL (fsync on) of its own, and the name servers of bench/checks. */
import { Redis } from 'ioredis';
import pg from 'pg';
import { migrate } from '../../src/db/engine/migrate.ts';
import { startPostgres, startRedis } from '../../test/support/servers.ts';
import { rememberCommits } from '../support/commits.ts';
import { run, saidUntil, stop } from '../support/processes.ts';

export type Servers = Awaited<ReturnType<typeof openServers>>;

/** `dnsMs`: how many ms each answer of a name server takes. */
export async function openServers(dnsMs: number) {
  const [redisServer, postgres] = await Promise.all([
    startRedis(),
    startPostgres({ durable: true }),
  ]);
  await rememberCommits(postgres);
  const nameServer = run('../checks/name-server.js', import.meta.url, {
    env: { DNS_MS: String(dnsMs) },
  });
  const dnsPort = (await saidUntil(nameServer, /\n/)).trim();
  const pool = new pg.Pool({ connectionString: postgres.url });
  const redis = new Redis(redisServer.url);
  await migrate(pool);
  return {
    pool,
    redisUrl: redisServer.url,
    databaseUrl: postgres.url,
    dnsPort,
    /** Every round begins with nothing, and no dead rows. */
    async empty() {
      await redis.flushall();
      await pool.query('DROP SCHEMA IF EXISTS bullmq CASCADE');
      await pool.query('TRUNCATE project, repair, turn, api_key CASCADE');
      await pool.query('VACUUM FULL ANALYZE');
      await pool.query('CHECKPOINT');
    },
    async close() {
      redis.disconnect();
      await pool.end();
      await stop(nameServer);
      await Promise.all([redisServer.close(), postgres.close()]);
    },
  };
}
