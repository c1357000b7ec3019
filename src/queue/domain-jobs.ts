/** The jobs of one domain. */

import { type FollowUpState, followUps } from '../core/life/follow-ups.ts';
import { type DomainJob, type DomainQueue, domainQueues, jobId } from '../core/operations/jobs.ts';
import type { QuarantineStore } from '../db/domains/quarantine.ts';
import type { Queues } from './queues.ts';

/** The jobs of a domain in its state. Idempotent. Rejects while the queue is unavailable. */
export async function addFollowUps(
  queues: Pick<Queues, 'enqueue'>,
  domain: FollowUpState & {
    readonly id: string;
    readonly epoch: number;
    readonly projectId: string;
  },
): Promise<void> {
  const job = { domainId: domain.id, epoch: domain.epoch };
  const { projectId } = domain;
  for (const { queue, runAt } of followUps(domain)) {
    await queues.enqueue(queue, [{ job, runAt, projectId }]);
  }
}

/** An active job changes nothing, since its epoch is over. */
export async function forgetJobs(queues: Queues, job: DomainJob): Promise<void> {
  for (const name of domainQueues) await queues.remove(name, job);
}

/** Resolves once the job is due. Rejects if the queue or the database is down. Idempotent. */
export type BringNow = (queue: DomainQueue, job: DomainJob) => Promise<void>;

/** A quarantined job runs once more; its next fault quarantines it again, for longer. */
export function createBringNow(deps: {
  readonly queues: Pick<Queues, 'ensure' | 'promote'>;
  readonly quarantine: Pick<QuarantineStore, 'endAt'>;
  now(): Date;
}): BringNow {
  return async (queue, job) => {
    const runAt = deps.now();
    // First, since otherwise the reconciler would remove the job as quarantined.
    const wasQuarantined = await deps.quarantine.endAt(queue, jobId(job), runAt);
    await deps.queues.ensure(queue, [{ job, runAt, ...(wasQuarantined && { probation: true }) }]);
    await deps.queues.promote(queue, job);
  };
}
