/** What every section uses: a private Redis and PostgreSQL (fsync on), the customers' name servers, and rows. */
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { migrate } from '../../src/db/engine/migrate.ts';
import { startPostgres, startRedis } from '../../test/support/servers.ts';
import { run, saidUntil, stop } from '../support/processes.ts';
import { hostnameOf } from './settings.ts';

export const PROJECT_ID = '00000000-0000-4000-8000-00000000000a';

export type Servers = Awaited<ReturnType<typeof openServers>>;

export async function openServers() {
  const [redisServer, postgres] = await Promise.all([
    startRedis(),
    startPostgres({ durable: true }),
  ]);
  const nameServer = run('./name-server.js', import.meta.url, { env: {} });
  const dnsPort = (await saidUntil(nameServer, /\n/)).trim();
  const pool = new pg.Pool({ connectionString: postgres.url });
  const redis = new Redis(redisServer.url);
  await migrate(pool);
  return {
    pool,
    redis,
    redisUrl: redisServer.url,
    databaseUrl: postgres.url,
    dnsPort,
    async close() {
      redis.disconnect();
      await pool.end();
      await stop(nameServer);
      await Promise.all([redisServer.close(), postgres.close()]);
    },
  };
}

/** Every section and contender starts with only these pending domains, and without dead rows. */
export async function fill(
  { pool, redis }: Servers,
  count: number,
  dueInMs: number,
): Promise<void> {
  await redis.flushall();
  await pool.query('TRUNCATE project, repair, turn, api_key CASCADE');
  await pool.query('INSERT INTO project (id, name, slug) VALUES ($1, $2, $2)', [
    PROJECT_ID,
    'bench',
  ]);
  const hostnames = Array.from({ length: count }, (_, index) => hostnameOf(index));
  await pool.query(
    `INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, next_check_at)
     SELECT ('00000000-0000-4000-8000-' || lpad((place - 1)::text, 12, '0'))::uuid, $1, hostname,
       'x.edge.signpost.test', 'pending', now(), now(), now() + make_interval(secs => $3::float8 * place / $4)
     FROM unnest($2::text[]) WITH ORDINALITY AS domain (hostname, place)`,
    [PROJECT_ID, hostnames, dueInMs / 1_000, count],
  );
  await pool.query('VACUUM FULL ANALYZE');
  await pool.query('CHECKPOINT');
}

/** Unfinished jobs of the queue of checks. */
export async function jobsIn(queue: Queue): Promise<number> {
  const counts = await queue.getJobCounts('waiting', 'delayed', 'active', 'prioritized');
  return Object.values(counts).reduce((sum, some) => sum + some, 0);
}

/** The service's name of the queue; src/queue/backend.ts has the prefix. */
export function queueOfChecks({ redisUrl }: Servers): Queue {
  return new Queue('check-dns', { connection: { url: redisUrl }, prefix: 'signpost' });
}

/** The smallest number of checks of a domain, and the number of unchecked domains; of one project, or of all. */
export async function checksSoFar(
  { pool }: Servers,
  projectId: string | null = null,
): Promise<{ least: number; zeros: number }> {
  const { rows } = await pool.query<{ least: number; zeros: number }>(
    `SELECT min(attempts) AS least, count(*) FILTER (WHERE attempts = 0)::int AS zeros
     FROM domain WHERE $1::uuid IS NULL OR project_id = $1`,
    [projectId],
  );
  return rows[0] ?? { least: 0, zeros: 0 };
}
