/**
 * Puts right what the queue has lost: the database is the truth, the queue only the alarm clock.
 * On a timer in every worker process, not in the queue, because it is the queue that it repairs; a turn in
 * the database lets one process do it. Overdue domains get their job again; where a queue holds fewer jobs
 * than domains wait, all of them do. Adding a job that exists changes nothing.
 */
import { type FollowUp, followUps } from '../src/core/follow-ups.ts';
import type { WaitingDomain, WaitingStore } from '../src/db/waiting.ts';
import type { QueueName } from '../src/queue/names.ts';
import type { QueuedJob } from '../src/queue/queues.ts';

export type ReconcileDeps = {
  readonly waiting: WaitingStore;
  /** Jobs that will still run, in any state before their end. */
  jobsAlive(name: QueueName): Promise<number>;
  /** Adds the jobs that are not there; answers how many that were. */
  ensure(name: QueueName, jobs: readonly QueuedJob[]): Promise<number>;
  now(): Date;
};

/** `repaired`: jobs that had been lost. Stays 0 while nothing goes wrong, however late a busy queue is. */
export type Reconciled = { readonly repaired: number; readonly walked: boolean };

/** How often one of the worker processes reconciles. */
export const RECONCILE_EVERY_MS = 20_000;
/** A job may be this late (a busy queue, a worker's stalled job) before it counts as lost. */
const GRACE_MS = 20_000;
const PAGE = 1_000;

/** One turn; null where it is another process's. */
export async function reconcile(deps: ReconcileDeps, everyMs: number): Promise<Reconciled | null> {
  const now = deps.now();
  // A tenth of slack, so that a timer that fires a moment early does not lose its turn.
  if (!(await deps.waiting.takeTurn('reconcile', everyMs * 0.9))) return null;
  const grace = Math.min(GRACE_MS, everyMs);
  const overdue = await deps.waiting.overdue(new Date(now.getTime() - grace), PAGE);
  const repaired = await ensureJobs(deps, overdue);
  const walked = await jobsAreMissing(deps);
  return { repaired: repaired + (walked ? await walk(deps) : 0), walked };
}

async function jobsAreMissing({ waiting, jobsAlive }: ReconcileDeps): Promise<boolean> {
  const { pending, verified, toEscalate } = await waiting.count();
  return (
    (await jobsAlive('check-dns')) < pending ||
    (await jobsAlive('issue-certificate')) < verified ||
    (await jobsAlive('escalate-certificate')) < toEscalate
  );
}

async function walk(deps: ReconcileDeps): Promise<number> {
  let repaired = 0;
  let page = await deps.waiting.page(null, PAGE);
  while (page.length > 0) {
    repaired += await ensureJobs(deps, page);
    page = await deps.waiting.page(page.at(-1)?.id ?? null, PAGE);
  }
  return repaired;
}

async function ensureJobs(deps: ReconcileDeps, domains: readonly WaitingDomain[]): Promise<number> {
  const byQueue = new Map<FollowUp['queue'], QueuedJob[]>();
  for (const domain of domains) {
    for (const { queue, runAt } of followUps(domain)) {
      const job = { domainId: domain.id, epoch: domain.epoch };
      const jobs = byQueue.get(queue) ?? [];
      jobs.push({ job, runAt });
      byQueue.set(queue, jobs);
    }
  }
  let repaired = 0;
  for (const [queue, jobs] of byQueue) repaired += await deps.ensure(queue, jobs);
  return repaired;
}
