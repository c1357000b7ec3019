/**
 * Compares a queue with the waiting rows. The two cannot be read at the same time, and a row is
 * committed before its job is added. So a first check only suspects, and a second one, some seconds
 * later, repairs.
 */
import { chunksOf } from '../../src/core/chunks.ts';
import { jobId, type QueueName, rowIdIn } from '../../src/core/operations/jobs.ts';
import type { WaitingJob, WaitingQueue } from '../../src/db/domains/waiting.ts';
import type { WantedJob } from '../../src/queue/queues.ts';
import type { Service } from '../../src/service/service.ts';

type Comparing = Pick<Service, 'now' | 'quarantine' | 'queues' | 'waiting'>;

const PAGE = 1_000;

/** Can resolve without a repair. */
export type Suspects = {
  /** Keys of rows without a job at their time. */
  readonly missing: readonly string[];
  /** Ids of jobs without a row. */
  readonly orphaned: readonly string[];
};

export const unsuspicious: Suspects = { missing: [], orphaned: [] };

/** Jobs that were missing, slept past their time, or had no row. */
export type Confirmed = {
  readonly added: number;
  readonly woken: number;
  readonly removed: number;
};

/**
 * Changes nothing. Holds all ids of the queue in memory: some hundred megabytes for a million.
 * Suspects nothing after `stop` is aborted, since rows not read yet would look like orphans.
 */
export async function compare(
  service: Comparing,
  queue: WaitingQueue,
  stop: AbortSignal,
): Promise<Suspects> {
  if (stop.aborted) return unsuspicious;
  const ids = await service.queues.aliveIds(queue);
  const missing: string[] = [];
  let afterKey: string | null = null;
  while (!stop.aborted) {
    const page: readonly WaitingJob[] = await service.waiting.page(queue, afterKey, PAGE);
    missing.push(...page.filter(({ job }) => !ids.delete(jobId(job))).map(({ key }) => key));
    afterKey = page.at(-1)?.key ?? null;
    if (afterKey === null) return { missing, orphaned: [...ids] };
  }
  return unsuspicious;
}

/** Repairs what is still wrong. Starts no page after `stop` is aborted. */
export async function confirm(
  service: Comparing,
  queue: WaitingQueue,
  { missing, orphaned }: Suspects,
  stop: AbortSignal,
): Promise<Confirmed> {
  let [added, woken, removed] = [0, 0, 0];
  for (const keys of chunksOf(missing, PAGE)) {
    if (stop.aborted) break;
    const ensured = await addMissing(service, queue, keys);
    added += ensured.added;
    woken += ensured.woken;
  }
  for (const ids of chunksOf(orphaned, PAGE)) {
    if (stop.aborted) break;
    removed += await removeOrphans(service, queue, ids);
  }
  return { added, woken, removed };
}

async function addMissing(service: Comparing, queue: WaitingQueue, keys: readonly string[]) {
  const wanted = await withoutQuarantined(service, queue, await service.waiting.among(queue, keys));
  const astray = await service.queues.astray(queue, wanted);
  if (astray.length === 0) return { added: 0, woken: 0 };
  // Read again after the queue, since a job can have finished and its row no longer waits.
  const rows = await service.waiting.among(queue, keys);
  const waits = new Map(rows.map(({ job, runAt }) => [jobId(job), runAt.getTime()]));
  const lost = astray.filter(({ job, runAt }) => waits.get(jobId(job)) === runAt.getTime());
  return service.queues.ensure(queue, lost);
}

async function removeOrphans(
  { waiting, queues }: Comparing,
  queue: WaitingQueue,
  ids: readonly string[],
): Promise<number> {
  const keys = ids.map(rowIdIn).filter((key) => key !== null);
  const wanted = new Set((await waiting.among(queue, keys)).map(({ job }) => jobId(job)));
  return queues.removeIdle(
    queue,
    ids.filter((id) => !wanted.has(id)),
  );
}

/** Quarantined jobs are left out until their time is over, then return on probation. */
async function withoutQuarantined(
  { quarantine, now }: Comparing,
  queue: QueueName,
  jobs: readonly WaitingJob[],
): Promise<readonly WantedJob[]> {
  const untils = await quarantine.untils(
    queue,
    jobs.map(({ job }) => jobId(job)),
  );
  return jobs.flatMap(({ job, runAt, projectId }) => {
    const until = untils.get(jobId(job));
    if (until === undefined) return [{ job, runAt, projectId }];
    return until > now() ? [] : [{ job, runAt, projectId, probation: true }];
  });
}
