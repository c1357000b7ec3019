/**
 * `npm run bench:lists`: pages of 100,000 domains over HTTP: the first page repeatedly, and every later page,
 * in turns. DOMAINS and LIMIT change the size. `-- floods`: see floods.ts.
 */
import pg from 'pg';
import { migrate } from '../../src/db/engine/migrate.ts';
import { freePort, startPostgres, startRedis } from '../../test/support/servers.ts';
import { machine, median, numberFrom, percentile } from '../support/figures.ts';
import { stop } from '../support/processes.ts';
import { addProject, headers, startService } from '../support/service.ts';
import { floods } from './floods.ts';

const count = numberFrom('DOMAINS', 100_000);
const limit = numberFrom('LIMIT', 100);

const head =
  '| list | pages | first page, median ms | later pages, median ms | p95 ms | p95 / first p95 |\n|---|---|---|---|---|---|';
const WARM_UP = 20;

const isFloods = process.argv[2] === 'floods';
const redis = await startRedis();
const postgres = await startPostgres({ durable: true });
const pool = new pg.Pool({ connectionString: postgres.url });
try {
  await migrate(pool);
  const backing = { databaseUrl: postgres.url, redisUrl: redis.url };
  const service = await startService(
    { ...backing, dnsPort: String(await freePort()) },
    isFloods ? { ROLE: 'api' } : {},
  );
  try {
    if (isFloods) {
      process.stdout.write(`${(await floods(service.url, pool)).join('\n')}\n`);
    } else {
      const projectId = await addProject(service.url, 'lists');
      await fill(projectId);
      await report(service.url, projectId);
    }
  } finally {
    await stop(service.child);
  }
} finally {
  await pool.end();
  await Promise.all([redis.close(), postgres.close()]);
}

/** All domains are due later, so the service runs no checks. */
async function fill(projectId: string): Promise<void> {
  await pool.query(
    `INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, metadata)
    SELECT gen_random_uuid(), $1, 'shop' || n || '.customer' || (n * 7919 % ${count}) || '.com', 'x.edge.test',
      (CASE WHEN n % 10 = 1 THEN 'failed' ELSE 'live' END)::domain_status,
      '2026-11-20T12:00:00Z'::timestamptz + n * interval '1 second', '2026-11-20T12:00:00Z',
      jsonb_build_object('customer', 'c' || n, 'tier', CASE WHEN n % 2 = 0 THEN 'gold' ELSE 'tin' END)
    FROM generate_series(1, ${count}) AS n`,
    [projectId],
  );
  await pool.query('VACUUM ANALYZE domain');
}

type Timed = { readonly ms: number; readonly next: string | undefined };

async function getPage(url: string): Promise<Timed> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
  const ms = performance.now() - startedAt;
  const path = /^<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
  return { ms, next: path && new URL(path, url).href };
}

async function report(origin: string, projectId: string): Promise<void> {
  const path = `/v1/projects/${projectId}/domains?limit=${limit}`;
  const lists: readonly (readonly [string, string])[] = [
    ['every domain', path],
    ['status=failed', `${path}&status=failed`],
    ['metadata[tier]=gold', `${path}&metadata[tier]=gold`],
    ['search=customer', `${path}&search=customer`],
    ['search=shop77777.', `${path}&search=shop77777.`],
    ['metadata[customer]=c77777', `${path}&metadata[customer]=c77777`],
    ['all projects', `/v1/domains?limit=${limit}`],
  ];
  const lines = [`${machine()}; ${count} domains, pages of ${limit}`, '', head];
  for (const [name, list] of lists) lines.push(await lineOf(name, origin + list));
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function lineOf(name: string, url: string): Promise<string> {
  for (let turn = 0; turn < WARM_UP; turn += 1) await getPage(url);
  const first: number[] = [];
  const later: number[] = [];
  for (let next: string | undefined = url; next !== undefined; ) {
    first.push((await getPage(url)).ms);
    const page: Timed = await getPage(next);
    later.push(page.ms);
    next = page.next;
  }
  const ratio = percentile(later, 0.95) / percentile(first, 0.95);
  const figures = [median(first), median(later), percentile(later, 0.95)];
  return `| ${name} | ${later.length} | ${figures.map((ms) => ms.toFixed(1)).join(' | ')} | ${ratio.toFixed(2)} |`;
}
