/** What is done to the jobs of one domain: run now, and taken out. */
import { type DomainJob, type DomainQueue, domainQueues, jobId } from '../core/operations/jobs.ts';
import type { QuarantineStore } from '../db/domains/quarantine.ts';
import type { Queues } from './queues.ts';

/** Removes an epoch's jobs from every queue. A job that a worker has changes nothing any more: its epoch is over. */
export async function forgetJobs(queues: Queues, job: DomainJob): Promise<void> {
  for (const name of domainQueues) await queues.remove(name, job);
}

/** Resolves once the job is due. Rejects where the queue or the database is away; calling it again does no harm. */
export type BringNow = (queue: DomainQueue, job: DomainJob) => Promise<void>;

/**
 * Runs a job now: one that waits for its time is woken, one that is missing is added, and one that was set aside is
 * tried once more before its time; its next fault sets it aside again, for longer.
 */
export function createBringNow(deps: {
  readonly queues: Pick<Queues, 'ensure' | 'promote'>;
  readonly quarantine: Pick<QuarantineStore, 'endAt'>;
  now(): Date;
}): BringNow {
  return async (queue, job) => {
    const runAt = deps.now();
    // First, or the reconciler would remove the job as one that is set aside.
    const wasSetAside = await deps.quarantine.endAt(queue, jobId(job), runAt);
    await deps.queues.ensure(queue, [{ job, runAt, ...(wasSetAside && { probation: true }) }]);
    await deps.queues.promote(queue, job);
  };
}
