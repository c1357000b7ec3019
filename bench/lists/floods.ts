/**
 * Requests of a quiet account, at rest and while another account floods the same API process. The flood has
 * its own thread, but shares the machine's CPU with the service and PostgreSQL.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type pg from 'pg';
import { machine, numberFrom, percentile } from '../support/figures.ts';
import { addProject, headers, post } from '../support/service.ts';

const SECONDS = numberFrom('SECONDS', 10);
const CLIENTS = numberFrom('CLIENTS', 40);
const STRANGERS = numberFrom('STRANGERS', 200_000);
const EVERY_MS = 20;
const METADATA_BYTES = 8_000;
const LISTED = 100;

type Account = {
  readonly headers: Readonly<Record<string, string>>;
  readonly projectId: string;
  readonly hostname: string;
};

async function anAccount(
  url: string,
  pool: pg.Pool,
  name: string,
  bytes: number,
): Promise<Account> {
  const { id } = await post(`${url}/v1/accounts`, {
    name,
    limits: { requestsPerMinute: 999_999_999 },
  });
  const accountId = String(id);
  const projectId = await addProject(url, name, undefined, accountId);
  const scopes = ['domains:read', 'domains:write', 'projects:write'];
  const { key } = await post(`${url}/v1/keys`, { name, scopes, accountId });
  await pool.query(
    `INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, metadata)
    SELECT gen_random_uuid(), $1, 'shop' || n || '.' || $2 || '.com', 'x.edge.test', 'failed',
      now() - n * interval '1 minute', now(), jsonb_build_object('text', repeat('x', $3))
    FROM generate_series(1, ${LISTED}) AS n`,
    [projectId, name, bytes],
  );
  const hostname = `shop1.${name}.com`;
  return { headers: { ...headers, authorization: `Bearer ${key}` }, projectId, hostname };
}

/** The method, and the path below `/v1`. */
type Call = readonly ['GET' | 'POST', string];

async function send(url: string, account: Account, [method, path]: Call): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1${path}`, { method, headers: account.headers });
  await response.arrayBuffer();
  if (response.status >= 500) throw new Error(`${path}: ${response.status}`);
  return performance.now() - startedAt;
}

/** What customers do: their own pages and changes. */
const calls = ({ projectId, hostname }: Account): readonly Call[] => [
  ['GET', `/projects/${projectId}`],
  ['GET', `/projects/${projectId}/domains?limit=20`],
  ['GET', `/projects/${projectId}/domains/${hostname}`],
  ['POST', `/projects/${projectId}/domains/${hostname}/verify`],
];

async function quietFor(url: string, account: Account): Promise<readonly number[]> {
  const times: number[] = [];
  const until = performance.now() + SECONDS * 1_000;
  const list = calls(account);
  for (let turn = 0; performance.now() < until; turn += 1) {
    times.push(await send(url, account, list[turn % list.length] ?? list[0] ?? ['GET', '/']));
    await sleep(EVERY_MS);
  }
  return times;
}

type Flood = { readonly url: string; readonly noisy: Account; readonly call: Call };

/** In a separate thread. Ends at the first message, with the number of answers. */
async function flood({ url, noisy, call }: Flood): Promise<void> {
  let isOver = false;
  let answered = 0;
  parentPort?.once('message', () => {
    isOver = true;
    parentPort?.postMessage(answered);
  });
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver) {
      await send(url, noisy, call).catch(() => sleep(EVERY_MS));
      answered += 1;
    }
  });
  await Promise.all(clients);
}

if (!isMainThread) await flood(workerData);

/** The quiet account's times, and how many requests of the flood were answered in a second. */
async function during(given: Flood, quiet: Account) {
  const worker = new Worker(new URL(import.meta.url), { workerData: given });
  const startedAt = performance.now();
  await sleep(1_000);
  const times = await quietFor(given.url, quiet);
  worker.postMessage('stop');
  const [answered] = await once(worker, 'message');
  const rate = Number(answered) / ((performance.now() - startedAt) / 1_000);
  await once(worker, 'exit');
  return { times, rate };
}

const inMs = (times: readonly number[], share: number) => percentile(times, share).toFixed(1);

/** A table with one line for each flood. */
export async function floods(url: string, pool: pg.Pool): Promise<readonly string[]> {
  const noisy = await anAccount(url, pool, 'noisy', METADATA_BYTES);
  const quiet = await anAccount(url, pool, 'quiet', 100);
  const others = await addProject(url, 'others');
  await pool.query(
    `INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since)
    SELECT gen_random_uuid(), $1, 'shop' || n || '.stranger' || (n % 977) || '.com', 'x.edge.test', 'failed', now(), now()
    FROM generate_series(1, ${STRANGERS}) AS n`,
    [others],
  );
  await pool.query('VACUUM ANALYZE domain');
  const own = `/projects/${noisy.projectId}/domains`;
  const kinds: readonly (readonly [string, Call])[] = [
    ['lists of 100 domains with full metadata', ['GET', `${own}?limit=100`]],
    ['search of its domains', ['GET', '/domains?search=shop']],
    ['verify of a pending domain', ['POST', `${own}/${noisy.hostname}/verify`]],
    ['one project', ['GET', `/projects/${noisy.projectId}`]],
  ];
  await quietFor(url, quiet);
  const lines: string[] = [];
  for (const [name, call] of kinds) {
    const rest = await quietFor(url, quiet);
    const { times, rate } = await during({ url, noisy, call }, quiet);
    const ratio = percentile(times, 0.95) / percentile(rest, 0.95);
    const cells = [rest, times].flatMap((some) => [inMs(some, 0.5), inMs(some, 0.95)]);
    lines.push(`| ${name} | ${cells.join(' | ')} | ${ratio.toFixed(2)} | ${Math.round(rate)} |`);
    process.stderr.write(`${lines.at(-1)}\n`);
  }
  return [
    `${machine()}; ${CLIENTS} clients of one account, ${STRANGERS} domains of others`,
    '',
    '| flood | p50 ms at rest | p95 | p50 ms in the flood | p95 | p95 / at rest | flood a second |',
    '|---|---|---|---|---|---|---|',
    ...lines,
  ];
}
