/**
 * Repairs the queue from the database, which is the source of truth. Runs on a timer in every
 * worker process, since the queue itself can be broken; a lease in the database lets one process do
 * it. Overdue jobs are looked up one by one. If one is lost, and in every second run anyway, the queue is
 * compared with all waiting rows. Suspects are checked again some seconds later before they are repaired.
 */

import { chunksOf } from '../src/core/chunks.ts';
import {
  domainQueues,
  jobId,
  type QueueName,
  rowIdIn,
  sweepQueues,
} from '../src/core/operations/jobs.ts';
import { DAY } from '../src/core/time.ts';
import {
  countRepairs,
  type RepairKind,
  repairKinds,
  type WaitingJob,
  type WaitingQueue,
} from '../src/db/domains/waiting.ts';
import { beforeAbort } from '../src/net/deadline.ts';
import type { Ensured, WantedJob } from '../src/queue/queues.ts';
import type { Service } from '../src/service/service.ts';
import type { WorkTimes } from './running/work-times.ts';

/** All 0 in normal operation, even if a busy queue is late. */
export type Reconciled = { readonly [K in RepairKind]: number };

/** A job can be this late (busy queue, stalled job) before it counts as lost. */
const GRACE_MS = 20_000;
/** For test labs, where runs are more frequent but machines can be just as busy. */
const GRACE_MS_MIN = 5_000;
/** The next run takes more. */
const PAGE = 1_000;
/** A suspect is checked again after this fraction of the interval: by then, work in progress is saved. */
const CONFIRM_SHARE = 4;
const CONFIRM_MS_MIN = 1_000;
/** Reads every job ID and every waiting row, so not in each run; a lost job that is not due is back within a minute. */
const COMPARE_EVERY_TURNS = 2;
/** Deletes a quarantine record that was not read for this long. */
const FORGET_AFTER_MS = 30 * DAY;

const waitingQueues: readonly WaitingQueue[] = [...domainQueues, 'deliver-webhook'];

/**
 * Null if another process has the lease. After `stop` is aborted it starts nothing more and returns
 * what it has repaired. Rejects if the queue or the database is down.
 */
export async function reconcile(
  service: Service,
  times: WorkTimes,
  stop = new AbortController().signal,
): Promise<Reconciled | null> {
  const everyMs = times.reconcileEveryMs;
  if (stop.aborted) return null;
  // A tenth of slack, in case a timer fires early.
  if (!(await service.waiting.takeTurn('reconcile', everyMs * 0.9))) return null;
  // A third of an interval of slack, since runs don't follow this clock.
  const all = await service.waiting.takeTurn('compare', everyMs * (COMPARE_EVERY_TURNS - 0.3));
  if (stop.aborted) return null;
  const done = { missing_job: 0, overdue_job: 0, orphaned_job: 0, missing_sweep: 0 };
  const sweeps = await ensureSweeps(service, times);
  done.missing_sweep = sweeps.added;
  done.overdue_job = sweeps.woken;
  const suspected = new Map<WaitingQueue, Suspects>();
  for (const queue of waitingQueues) {
    if (stop.aborted) break;
    const suspects = await suspectsIn(service, queue, { all, everyMs, stop });
    if (suspects.missing.length + suspects.orphaned.length > 0) suspected.set(queue, suspects);
  }
  if (suspected.size > 0) {
    const waited = service.pause(Math.max(CONFIRM_MS_MIN, everyMs / CONFIRM_SHARE));
    await beforeAbort(stop, waited, undefined);
  }
  for (const [queue, suspects] of suspected) {
    const { added, woken, removed } = await confirm(service, queue, suspects, stop);
    done.missing_job += added;
    done.overdue_job += woken;
    done.orphaned_job += removed;
  }
  for (const kind of repairKinds) {
    await countRepairs(service.database.prisma, kind, done[kind]);
  }
  if (!stop.aborted)
    await service.quarantine.dropBefore(new Date(service.now().getTime() - FORGET_AFTER_MS));
  return done;
}

export function repairedAny(done: Reconciled): boolean {
  return repairKinds.some((kind) => done[kind] > 0);
}

/** Each is due within its interval. Returns how many were added or woken. Idempotent. */
export async function ensureSweeps(
  { queues, now }: Service,
  { sweepEveryMs }: WorkTimes,
): Promise<Ensured> {
  let [added, woken] = [0, 0];
  for (const name of sweepQueues) {
    const runAt = new Date(now().getTime() + sweepEveryMs[name]);
    const ensured = await queues.ensure(name, [{ job: {}, runAt }]);
    added += ensured.added;
    woken += ensured.woken;
  }
  return { added, woken };
}

type Turn = { readonly all: boolean; readonly everyMs: number; readonly stop: AbortSignal };

async function suspectsIn(
  service: Service,
  queue: WaitingQueue,
  { all, everyMs, stop }: Turn,
): Promise<Suspects> {
  const now = service.now();
  const graceMs = Math.max(GRACE_MS_MIN, Math.min(GRACE_MS, everyMs));
  const dueBefore = new Date(now.getTime() - graceMs);
  const overdue = await service.waiting.overdue(queue, dueBefore, now, PAGE);
  const lost = await service.queues.astray(queue, overdue);
  const suspects = all || lost.length > 0 ? await compare(service, queue, stop) : unsuspicious;
  const keys = new Set(overdue.filter((job) => lost.includes(job)).map(({ key }) => key));
  const missing = [...keys, ...suspects.missing.filter((key) => !keys.has(key))];
  return { missing, orphaned: suspects.orphaned };
}

// Compares a queue with the waiting rows. The two cannot be read at the same time, and a row is
// committed before its job is added. So a first check only suspects, and a second one, some seconds
// later, repairs.

type Comparing = Pick<Service, 'now' | 'quarantine' | 'queues' | 'waiting'>;

const JOBS_PER_PAGE = 1_000;

/** Can resolve without a repair. */
type Suspects = {
  /** Keys of rows without a job at their time. */
  readonly missing: readonly string[];
  /** Ids of jobs without a row. */
  readonly orphaned: readonly string[];
};

const unsuspicious: Suspects = { missing: [], orphaned: [] };

/** Jobs that were missing, slept past their time, or had no row. */
type Confirmed = {
  readonly added: number;
  readonly woken: number;
  readonly removed: number;
};

/**
 * Changes nothing. Holds all ids of the queue in memory: some hundred megabytes for a million.
 * Suspects nothing after `stop` is aborted, since rows not read yet would look like orphans.
 */
async function compare(
  service: Comparing,
  queue: WaitingQueue,
  stop: AbortSignal,
): Promise<Suspects> {
  if (stop.aborted) return unsuspicious;
  const ids = await service.queues.aliveIds(queue);
  const missing: string[] = [];
  let afterKey: string | null = null;
  while (!stop.aborted) {
    const page: readonly WaitingJob[] = await service.waiting.page(queue, afterKey, JOBS_PER_PAGE);
    missing.push(...page.filter(({ job }) => !ids.delete(jobId(job))).map(({ key }) => key));
    afterKey = page.at(-1)?.key ?? null;
    if (afterKey === null) return { missing, orphaned: [...ids] };
  }
  return unsuspicious;
}

/** Repairs what is still wrong. Starts no page after `stop` is aborted. */
async function confirm(
  service: Comparing,
  queue: WaitingQueue,
  { missing, orphaned }: Suspects,
  stop: AbortSignal,
): Promise<Confirmed> {
  let [added, woken, removed] = [0, 0, 0];
  for (const keys of chunksOf(missing, JOBS_PER_PAGE)) {
    if (stop.aborted) break;
    const ensured = await addMissing(service, queue, keys);
    added += ensured.added;
    woken += ensured.woken;
  }
  for (const ids of chunksOf(orphaned, JOBS_PER_PAGE)) {
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
