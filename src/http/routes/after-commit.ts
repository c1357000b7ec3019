/**
 * Changes to jobs once a request is committed. They never reject: committed work is safe without the
 * queue, and the reconciler adds missing jobs and removes old ones within a minute.
 */
import type { DomainJob, DomainQueue } from '../../core/operations/jobs.ts';
import type { DomainDetails } from '../../db/domains/domain-list.ts';
import type { EndedEpoch } from '../../db/domains/domains.ts';
import { addFollowUps, forgetJobs } from '../../queue/queues.ts';
import type { Service } from '../../service/service.ts';

type CommittedChange = {
  readonly what: string;
  readonly domainId: string;
  readonly requestId: string;
};

export function wakeDomain(
  service: Service,
  domain: DomainDetails,
  requestId: string,
): Promise<void> {
  const about = { what: 'wake', domainId: domain.id, requestId };
  return warnIfQueueFails(service, about, () => addFollowUps(service.queues, domain));
}

/** Wakes the job, or adds a missing one. */
export function runNow(
  service: Service,
  queue: DomainQueue,
  job: DomainJob,
  requestId: string,
): Promise<void> {
  const about = { what: 'wake', domainId: job.domainId, requestId };
  return warnIfQueueFails(service, about, () => service.bringNow(queue, job));
}

/** Removes the jobs of an ended epoch. Jobs already running no longer change anything. */
export function forgetEpoch(
  service: Service,
  { id, epoch }: EndedEpoch,
  requestId: string,
): Promise<void> {
  const about = { what: 'forget', domainId: id, requestId };
  return warnIfQueueFails(service, about, () =>
    forgetJobs(service.queues, { domainId: id, epoch }),
  );
}

async function warnIfQueueFails(
  { log }: Service,
  about: CommittedChange,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (err) {
    log.warn({ err, ...about }, 'the queue is unavailable; the reconciler will repair it');
  }
}
