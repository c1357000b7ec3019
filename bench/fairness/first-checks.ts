/**
 * How long a new domain of a small account waits for its first check: at rest, and while ten thousand first checks of
 * another account are due. Beside it, under the same load, a project of the large account itself: it waits as everybody
 * would if accounts took no turns.
 */
import { sleep, stop } from '../support/processes.ts';
import { type Service, startService } from '../support/service.ts';
import {
  type Acknowledged,
  addCustomer,
  addMany,
  addProjectOf,
  addSteadily,
  type Customer,
  nameOfLarge,
  nameOfSmall,
} from './customers.ts';
import { openChecks, type QueueStorage } from './queue.ts';
import type { Servers } from './servers.ts';
import { DOMAINS, LEAST, REST_SECONDS } from './settings.ts';

/** Milliseconds from the acknowledgement to the commit of the first check. */
export type FirstChecks = {
  readonly rest: readonly number[];
  readonly load: readonly number[];
  /** Of the large account's own later domains. */
  readonly behind: readonly number[];
  /** How long the large account's first checks took, all together. */
  readonly drainedMs: number;
};

const GIVE_UP_MS = 300_000;
const WARM_UP_SECONDS = 5;

/** One round, on services of its own that begin with no domain. */
export async function firstChecks(servers: Servers, kept: QueueStorage): Promise<FirstChecks> {
  await servers.empty();
  const env = kept === 'redis' ? {} : { REDIS_URL: '' };
  const services: Service[] = [];
  for (const ROLE of ['api', 'worker'])
    services.push(await startService(servers, { ROLE, ...env }));
  const checks = await openChecks(servers, kept);
  try {
    const url = services[0]?.url ?? '';
    // An account each: what one has added in these ten minutes counts for its turns.
    await addFor(await addCustomer(url, 'first'), WARM_UP_SECONDS);
    const rest = await waits(servers, await addFor(await addCustomer(url, 'calm'), REST_SECONDS));
    const [large, small] = [await addCustomer(url, 'large'), await addCustomer(url, 'small')];
    await checks.hold();
    await addMany(large, DOMAINS);
    await checks.release();
    return { rest, ...(await underLoad(servers, large, small)) };
  } finally {
    await checks.close();
    for (const { child } of services) await stop(child);
  }
}

/** From the moment when the large account's first checks may begin, until the last of them is saved. */
async function underLoad(servers: Servers, large: Customer, small: Customer) {
  const start = Date.now();
  const late = await addProjectOf(large, 'late');
  let isOver = false;
  const over = () => isOver;
  const [added, behind] = await Promise.all([
    addSteadily(small, nameOfSmall, over),
    addSteadily(late, nameOfLarge, over),
    untilChecked(servers, large).then(() => {
      isOver = true;
    }),
  ]);
  const drainedMs = Date.now() - start;
  return { load: await waits(servers, added), behind: await waits(servers, behind), drainedMs };
}

async function addFor(customer: Customer, seconds: number): Promise<Acknowledged> {
  const end = performance.now() + 1_000 * seconds;
  return addSteadily(customer, nameOfSmall, () => performance.now() >= end);
}

async function untilChecked({ pool }: Servers, { projectId }: Customer): Promise<void> {
  const deadline = Date.now() + GIVE_UP_MS;
  const ask = () =>
    pool.query('SELECT FROM domain WHERE project_id = $1 AND attempts = 0 LIMIT 1', [projectId]);
  while ((await ask()).rowCount !== 0) {
    if (Date.now() > deadline) throw new Error('the first checks have not come to their end');
    await sleep(250);
  }
}

/** Waits for the first check of each. Its findings are an event, which is never written again. */
async function waits({ pool }: Servers, added: Acknowledged): Promise<readonly number[]> {
  if (added.size < LEAST) throw new Error(`${added.size} domains are too few to speak of a p95`);
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    const { rows } = await pool.query<{ hostname: string; at: Date }>(
      `SELECT hostname, min(pg_xact_commit_timestamp(event.xmin)) AS at
       FROM domain JOIN event ON event.domain_id = domain.id AND event.type = 'domain.findings_changed'
       WHERE hostname = ANY ($1) GROUP BY hostname`,
      [[...added.keys()]],
    );
    if (rows.length === added.size) {
      return rows.map(({ hostname, at }) => at.getTime() - (added.get(hostname) ?? Number.NaN));
    }
    if (Date.now() > deadline) throw new Error('some domains were never checked');
    await sleep(250);
  }
}
