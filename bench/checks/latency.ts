/** API latency while thousands of checks are due at once, beside the same API at rest. */
import { jobId } from '../../src/core/operations/jobs.ts';
import { numberFrom, percentile } from '../support/figures.ts';
import { sleep, stop } from '../support/processes.ts';
import { addProject, startService } from '../support/service.ts';
import { type Answer, operations, startRequests } from './requests.ts';
import { checksSoFar, fill, PROJECT_ID, queueOfChecks, type Servers } from './servers.ts';

const CALM_MS = 10_000;
const GIVE_UP_MS = 120_000;

const casts = [
  { title: 'API and worker in one process', roles: ['all'] },
  { title: 'API and worker apart', roles: ['api', 'worker'] },
] as const;

export async function latency(servers: Servers): Promise<readonly string[]> {
  const count = numberFrom('DOMAINS', 10_000);
  const lines: string[] = [];
  for (const { title, roles } of casts)
    lines.push(...(await measure(servers, title, roles, count)));
  return [
    `| ${count} checks due at once | operation | p50 at rest | p99 at rest | p50 | p99 | longest | answers |`,
    '|---|---|---|---|---|---|---|---|',
    ...lines,
  ];
}

async function measure(
  servers: Servers,
  title: string,
  roles: readonly string[],
  count: number,
): Promise<readonly string[]> {
  await fill(servers, count, 0);
  const dueIn = 2 * CALM_MS;
  await servers.pool.query(`UPDATE domain SET next_check_at = now() + interval '10 minutes'`);
  const services = await Promise.all(roles.map((ROLE) => startService(servers, { ROLE })));
  const url = services[0]?.url ?? '';
  const projectId = await addProject(url, 'shop');
  const due = Date.now() + dueIn;
  await enqueue(servers, count, due);
  await sleep(due - CALM_MS - Date.now());
  const requests = startRequests(url, projectId);
  await sleep(due - Date.now());
  await untilChecked(servers, due);
  const took = (Date.now() - due) / 1_000;
  const answers = await requests.stop();
  for (const { child } of services) await stop(child);
  process.stderr.write(`${title}: checked within ${took.toFixed(1)} s\n`);
  return operations.map((name) => {
    const of = answers.filter(({ operation }) => operation === name);
    const calm = of.filter(({ at }) => at < due);
    const busy = of.filter(({ at }) => at >= due);
    return `| ${title}, done in ${took.toFixed(1)} s | ${name} | ${figures(calm)} | ${figures(busy)} | ${longest(busy)} | ${of.length} |`;
  });
}

/** Jobs that are due at once. The rows have the same due time, so the reconciler finds nothing to repair. */
async function enqueue(servers: Servers, count: number, due: number): Promise<void> {
  await servers.pool.query('UPDATE domain SET next_check_at = $1 WHERE project_id = $2', [
    new Date(due),
    PROJECT_ID,
  ]);
  const { rows } = await servers.pool.query<{ id: string }>(
    'SELECT id FROM domain WHERE project_id = $1',
    [PROJECT_ID],
  );
  const queue = queueOfChecks(servers);
  await queue.addBulk(
    rows.map(({ id }) => {
      const job = { domainId: id, epoch: 1 };
      return { name: 'check-dns', data: job, opts: { jobId: jobId(job), delay: due - Date.now() } };
    }),
  );
  await queue.close();
  if (rows.length !== count) throw new Error('not every domain has its job');
}

async function untilChecked(servers: Servers, due: number): Promise<void> {
  while ((await checksSoFar(servers, PROJECT_ID)).zeros > 0) {
    if (Date.now() - due > GIVE_UP_MS) throw new Error('the checks have not come to their end');
    await sleep(250);
  }
}

function figures(answers: readonly Answer[]): string {
  const times = answers.map(({ ms }) => ms);
  if (times.length < 100) throw new Error('too few answers to speak of a p99');
  return [0.5, 0.99].map((share) => `${percentile(times, share).toFixed(1)} ms`).join(' | ');
}

function longest(answers: readonly Answer[]): string {
  return `${Math.max(...answers.map(({ ms }) => ms)).toFixed(0)} ms`;
}
