/**
 * How long a new domain waits for its first check, at rest and while 10,000 new domains of another account are due at
 * once. From the request until the check is committed, as another client of the database sees it.
 */
import { destination, pino } from 'pino';
import { createAccountOf } from '../../src/db/accounts.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { openQueueBackend } from '../../src/queue/backend.ts';
import { openQueues } from '../../src/queue/queues.ts';
import { numberFrom, percentile } from '../support/figures.ts';
import { sleep, stop } from '../support/processes.ts';
import { addProject, post, startService } from '../support/service.ts';
import { checksSoFar, fill, PROJECT_ID, type Servers } from './servers.ts';
import { quietNameOf } from './settings.ts';

const REST_MS = 1_000 * numberFrom('SECONDS', 15);
const EVERY_MS = 100;
const POLL_MS = 8;
/** Each adds a domain every two seconds. */
const ACCOUNTS = 20;
const GIVE_UP_MS = 120_000;

type Row = {
  readonly rest: readonly number[];
  readonly busy: readonly number[];
  readonly tookMs: number;
};

export async function fairness(servers: Servers): Promise<readonly string[]> {
  const count = numberFrom('DOMAINS', 10_000);
  const lines: string[] = [];
  for (let round = 1; round <= numberFrom('ROUNDS', 3); round += 1) {
    const { rest, busy, tookMs } = await measure(servers, count);
    const [before, during] = [percentile(rest, 0.95), percentile(busy, 0.95)];
    const cells = [rest, busy].flatMap((times) => [0.5, 0.95].map((share) => inMs(times, share)));
    lines.push(
      `| ${round} | ${cells.join(' | ')} | ${Math.round(Math.max(...busy))} ms | ${(during / before).toFixed(2)} | ${busy.length} | ${(tookMs / 1_000).toFixed(1)} s |`,
    );
    process.stderr.write(`${lines.at(-1)}\n`);
  }
  return [
    `| round | p50 at rest | p95 at rest | p50, ${count} due | p95 | longest | p95 / at rest | first checks | all checked within |`,
    '|---|---|---|---|---|---|---|---|---|',
    ...lines,
  ];
}

/** API and worker apart, as in production. */
async function measure(servers: Servers, count: number): Promise<Row> {
  await fill(servers, count, 0);
  await servers.pool.query(`UPDATE domain SET next_check_at = now() + interval '10 minutes'`);
  const services = await Promise.all(
    ['api', 'worker'].map((ROLE) => startService(servers, { ROLE })),
  );
  const url = services[0]?.url ?? '';
  const projects: string[] = [];
  for (let nth = 0; nth < ACCOUNTS; nth += 1) {
    const { id } = await post(`${url}/v1/accounts`, { name: 'Quiet' });
    projects.push(await addProject(url, 'quiet', undefined, String(id)));
  }
  const due = Date.now() + REST_MS + 3_000;
  await enqueue(servers, due);
  const adding = startAdding(servers, url, projects);
  await sleep(due - Date.now());
  while ((await checksSoFar(servers, PROJECT_ID)).zeros > 0) {
    if (Date.now() - due > GIVE_UP_MS) throw new Error('the checks have not come to their end');
    await sleep(100);
  }
  const tookMs = Date.now() - due;
  const added = await adding.stop();
  for (const { child } of services) await stop(child);
  const of = (from: number, to: number) =>
    added.flatMap(({ at, ms }) => (at >= from && at < to ? [ms] : []));
  // The first seconds warm up.
  const row = { rest: of(due - REST_MS + 4_000, due), busy: of(due, due + tookMs), tookMs };
  if (row.busy.length < 50 || row.rest.length < 50) throw new Error('too few for a p95');
  return row;
}

/** As production enqueues them: their account takes turns. */
async function enqueue({ databaseUrl, redisUrl, pool }: Servers, due: number): Promise<void> {
  const log = pino({ level: 'error' }, destination(2));
  const storage = { kind: 'postgres_redis', databaseUrl, redisUrl } as const;
  const database = await openDatabase(storage, log);
  const backend = await openQueueBackend(storage, database, log);
  const queues = openQueues(backend, createAccountOf(database.prisma));
  const runAt = new Date(due);
  const { rows } = await pool.query<{ id: string }>(
    'UPDATE domain SET next_check_at = $1 WHERE project_id = $2 RETURNING id',
    [runAt, PROJECT_ID],
  );
  const jobs = rows.map(({ id }) => ({
    job: { domainId: id, epoch: 1 },
    runAt,
    projectId: PROJECT_ID,
  }));
  await queues.enqueue('check-dns', jobs);
  await queues.close();
  await backend.close();
  await database.close();
}

type Added = { readonly at: number; readonly ms: number };

/** Adds a domain every 100 ms, whether or not the ones before were checked. */
function startAdding({ pool }: Servers, url: string, projects: readonly string[]) {
  const waiting = new Map<string, number>();
  const added: Added[] = [];
  const requests: Promise<unknown>[] = [];
  let nth = 0;
  const adder = setInterval(() => {
    const at = Date.now();
    const projectId = projects[nth % projects.length];
    const body = { hostname: quietNameOf(nth++) };
    waiting.set(body.hostname, at);
    requests.push(post(`${url}/v1/projects/${projectId}/domains`, body));
  }, EVERY_MS);
  let stopped = false;
  const watching = (async () => {
    const since = Date.now();
    while (!stopped || waiting.size > 0) {
      if (Date.now() - since > GIVE_UP_MS) throw new Error('a first check did not come');
      const { rows } = await pool.query<{ hostname: string }>(
        `SELECT hostname FROM domain WHERE hostname = ANY($1) AND last_checked_at IS NOT NULL`,
        [[...waiting.keys()]],
      );
      for (const { hostname } of rows) {
        const at = waiting.get(hostname) ?? 0;
        added.push({ at, ms: Date.now() - at });
        waiting.delete(hostname);
      }
      await sleep(POLL_MS);
    }
  })();
  watching.catch(() => undefined); // `stop` reports it
  return {
    async stop(): Promise<readonly Added[]> {
      clearInterval(adder);
      await Promise.all(requests);
      stopped = true;
      await watching;
      return added;
    },
  };
}

function inMs(times: readonly number[], share: number): string {
  return `${Math.round(percentile(times, share))} ms`;
}
