/**
 * Compares a queue with the rows that wait, both ways: jobs that are missing, and jobs that nobody wants. The two cannot
 * be read at one moment, and a row is committed before its job is added; so a first check only suspects, and what a
 * second one some seconds later still finds wrong is repaired.
 */
import { jobId, type QueueName, rowIdIn, type SweepQueue } from '../../src/core/operations/jobs.ts';
import type { ApiKeyStore } from '../../src/db/api-keys.ts';
import type { AuditStore } from '../../src/db/audit.ts';
import type { QuarantineStore } from '../../src/db/domains/quarantine.ts';
import type {
  RepairStore,
  WaitingJob,
  WaitingQueue,
  WaitingStore,
} from '../../src/db/domains/waiting.ts';
import type { SessionStore } from '../../src/db/sessions.ts';
import type { Queues, WantedJob } from '../../src/queue/queues.ts';

const PAGE = 1_000;

/** What a first check found wrong; it may pass by itself. */
export type Suspects = {
  /** Keys of rows without a job that runs at its time. */
  readonly missing: readonly string[];
  /** Ids of jobs without a row. */
  readonly orphaned: readonly string[];
};

/** The suspects of a queue that is as it should be. */
export const unsuspicious: Suspects = { missing: [], orphaned: [] };

/** What a second check repaired: jobs that were missing, jobs that slept beyond their time, and jobs without a row. */
export type Confirmed = {
  readonly added: number;
  readonly woken: number;
  readonly removed: number;
};

/**
 * Makes the first check and changes nothing. All ids of the queue are held at once: a million take some hundred
 * megabytes for a moment. Suspects nothing once `stop` is aborted, because what was not read yet would count as an
 * orphan.
 */
export async function compare(
  deps: ReconcileDeps,
  queue: WaitingQueue,
  stop: AbortSignal,
): Promise<Suspects> {
  if (stop.aborted) return unsuspicious;
  const ids = await deps.queues.aliveIds(queue);
  const missing: string[] = [];
  let afterKey: string | null = null;
  while (!stop.aborted) {
    const page: readonly WaitingJob[] = await deps.waiting.page(queue, afterKey, PAGE);
    missing.push(...page.filter(({ job }) => !ids.delete(jobId(job))).map(({ key }) => key));
    afterKey = page.at(-1)?.key ?? null;
    if (afterKey === null) return { missing, orphaned: [...ids] };
  }
  return unsuspicious;
}

/** Makes the second check, some seconds later, and repairs what is still wrong. Begins no page once `stop` is aborted. */
export async function confirm(
  deps: ReconcileDeps,
  queue: WaitingQueue,
  { missing, orphaned }: Suspects,
  stop: AbortSignal,
): Promise<Confirmed> {
  let [added, woken, removed] = [0, 0, 0];
  for (const keys of pages(missing)) {
    if (stop.aborted) break;
    const ensured = await addMissing(deps, queue, keys);
    added += ensured.added;
    woken += ensured.woken;
  }
  for (const ids of pages(orphaned)) {
    if (stop.aborted) break;
    removed += await removeOrphans(deps, queue, ids);
  }
  return { added, woken, removed };
}

async function addMissing(deps: ReconcileDeps, queue: WaitingQueue, keys: readonly string[]) {
  const wanted = await withoutSetAside(deps, queue, await deps.waiting.among(queue, keys));
  const astray = await deps.queues.astray(queue, wanted);
  if (astray.length === 0) return { added: 0, woken: 0 };
  // Read again after the queue, not before: a job may have ended meanwhile because its row no longer waits.
  const rows = await deps.waiting.among(queue, keys);
  const waits = new Map(rows.map(({ job, runAt }) => [jobId(job), runAt.getTime()]));
  const lost = astray.filter(({ job, runAt }) => waits.get(jobId(job)) === runAt.getTime());
  return deps.queues.ensure(queue, lost);
}

async function removeOrphans(
  { waiting, queues }: ReconcileDeps,
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

function pages<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / PAGE) }, (_, index) =>
    items.slice(index * PAGE, (index + 1) * PAGE),
  );
}

/** What the reconciler needs of the process that it runs in. */
export type ReconcileDeps = {
  readonly waiting: WaitingStore;
  readonly queues: Pick<Queues, 'astray' | 'ensure' | 'removeIdle' | 'aliveIds' | 'counts'>;
  readonly quarantine: Pick<QuarantineStore, 'untils' | 'dropBefore'>;
  readonly repairs: RepairStore;
  readonly sessions: Pick<SessionStore, 'dropExpired'>;
  readonly audit: Pick<AuditStore, 'prune'>;
  readonly keys: Pick<ApiKeyStore, 'dropEnded'>;
  /** How many ms after a sweep the next one begins. */
  readonly sweepEveryMs: { readonly [N in SweepQueue]: number };
  now(): Date;
  /** Waits between a first check and the one that confirms it. */
  pause(ms: number): Promise<void>;
};

/**
 * Returns the jobs that may run now: those that are set aside are left out until their time is over, and come back on
 * probation.
 */
export async function withoutSetAside(
  { quarantine, now }: Pick<ReconcileDeps, 'quarantine' | 'now'>,
  queue: QueueName,
  jobs: readonly WaitingJob[],
): Promise<readonly WantedJob[]> {
  const untils = await quarantine.untils(
    queue,
    jobs.map(({ job }) => jobId(job)),
  );
  return jobs.flatMap(({ job, runAt, owner }) => {
    const until = untils.get(jobId(job));
    if (until === undefined) return [{ job, runAt, owner }];
    return until > now() ? [] : [{ job, runAt, owner, probation: true }];
  });
}
