/** Time from the start of a worker with an empty Redis until every pending domain has its job again. */
import { numberFrom } from '../support/figures.ts';
import { peakBytesOf, sleep, stop } from '../support/processes.ts';
import { startService } from '../support/service.ts';
import { fill, jobsIn, queueOfChecks, type Servers } from './servers.ts';

const GIVE_UP_MS = 300_000;
/** Due times of domains that have waited for hours: spread over the longest wait between checks. */
const SPREAD_MS = 300_000;

export async function reconcile(servers: Servers): Promise<readonly string[]> {
  const count = numberFrom('DOMAINS', 100_000);
  await fill(servers, count, SPREAD_MS);
  const queue = queueOfChecks(servers);
  const start = performance.now();
  const { child } = await startService(servers, { ROLE: 'worker' });
  const ready = performance.now() - start;
  const first = await secondsUntil(async () => (await jobsIn(queue)) > 0, start);
  const all = await secondsUntil(async () => (await jobsIn(queue)) >= count, start);
  await sleep(1_000); // its count is written after the last job
  const repaired = await repairs(servers);
  const [process, redis] = [peakBytesOf(child.pid), await redisBytes(servers)];
  await queue.close();
  await stop(child);
  return [
    '| domains | ready | first job | every job | repairs counted | process at its peak | Redis |',
    '|---|---|---|---|---|---|---|',
    `| ${count} | ${(ready / 1_000).toFixed(1)} s | ${first.toFixed(1)} s | ${all.toFixed(1)} s | ${repaired} | ${megabytes(process)} | ${megabytes(redis)} |`,
  ];
}

async function secondsUntil(done: () => Promise<boolean>, start: number): Promise<number> {
  while (!(await done())) {
    if (performance.now() - start > GIVE_UP_MS) throw new Error('the jobs have not come back');
    await sleep(50);
  }
  return (performance.now() - start) / 1_000;
}

async function repairs({ pool }: Servers): Promise<string> {
  const { rows } = await pool.query<{ kind: string; count: string }>(
    'SELECT kind, count FROM repair ORDER BY kind',
  );
  return rows.map(({ kind, count }) => `${kind} ${count}`).join(', ') || 'none';
}

async function redisBytes({ redis }: Servers): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}

function megabytes(size: number): string {
  return `${Math.round(size / 1e6)} MB`;
}
