/** A domain's job at once, whatever has become of it. */

import { type DomainJob, type DomainQueue, jobId } from '../core/operations/jobs.ts';
import type { QuarantineStore } from '../db/domains/quarantine.ts';
import type { Queues } from './queues.ts';

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
    // First, or the reconciler would take the job for one that nobody wants.
    const wasSetAside = await deps.quarantine.endAt(queue, jobId(job), runAt);
    await deps.queues.ensure(queue, [{ job, runAt, ...(wasSetAside && { probation: true }) }]);
    await deps.queues.promote(queue, job);
  };
}
