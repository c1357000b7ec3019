/** Bytes of a pending domain in PostgreSQL (rows, TOAST, indexes) and Redis: when added, and after checks. */
import { numberFrom } from '../support/figures.ts';
import { sleep, stop } from '../support/processes.ts';
import { startService } from '../support/service.ts';
import { addDomains } from './customers.ts';
import { checksSoFar, fill, type Servers } from './servers.ts';

type Sizes = { readonly tables: ReadonlyMap<string, number>; readonly redis: number };

/** Job logs keep fifty lines (workers/start.ts), so after as many checks nothing grows. */
const CHECKS = 60;

export async function bytes(servers: Servers): Promise<readonly string[]> {
  const count = numberFrom('DOMAINS', 2_000);
  await fill(servers, 0, 0);
  const api = await startService(servers, { ROLE: 'api' });
  const empty = await sizes(servers);
  await addDomains(api.url, count);
  await stop(api.child);
  const added = await sizes(servers);
  // A window in which every wait has its minimum.
  const worker = await startService(servers, {
    ROLE: 'worker',
    VERIFY_WINDOW: '10m',
    TIME_SCALE: '288',
  });
  await untilChecks(servers, 1);
  const afterOne = await sizes(servers);
  await untilChecks(servers, CHECKS);
  await stop(worker.child);
  const settled = await sizes(servers);
  const row = (title: string, now: Sizes) => report(title, empty, now, count);
  return [
    `| bytes a domain, of ${count} | Redis | PostgreSQL | of it |`,
    '|---|---|---|---|',
    row('added', added),
    row('after the first check', afterOne),
    row(`after ${CHECKS} checks, the job's log full`, settled),
  ];
}

async function untilChecks(servers: Servers, checks: number): Promise<void> {
  while ((await checksSoFar(servers)).least < checks) await sleep(200);
}

async function sizes({ pool, redis }: Servers): Promise<Sizes> {
  // As autovacuum does later; the space of dead rows is free for new rows.
  await pool.query('VACUUM ANALYZE');
  const { rows } = await pool.query<{ name: string; bytes: string }>(
    `SELECT relname AS name, pg_total_relation_size(relid) AS bytes FROM pg_stat_user_tables`,
  );
  const used = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1];
  return {
    tables: new Map(rows.map(({ name, bytes: size }) => [name, Number(size)])),
    redis: Number(used),
  };
}

function report(title: string, before: Sizes, { tables, redis }: Sizes, count: number): string {
  const grown = [...tables]
    .map(([name, size]) => ({ name, size: (size - (before.tables.get(name) ?? 0)) / count }))
    .filter(({ size }) => size >= 1)
    .toSorted((one, other) => other.size - one.size);
  const all = grown.reduce((sum, { size }) => sum + size, 0);
  const inRedis = (redis - before.redis) / count;
  if (!(all > 0 && inRedis > 0)) throw new Error(`${title}: measured nothing`);
  const parts = grown.map(({ name, size }) => `${name} ${Math.round(size)}`).join(', ');
  return `| ${title} | ${Math.round(inRedis)} | ${Math.round(all)} | ${parts} |`;
}
