/** Checks without rows or DNS, for queue tests: each next check is due in the past. */
import { randomUUID } from 'node:crypto';
import { jobId } from '../../src/core/operations/jobs.ts';
import type { Service } from '../../src/service/service.ts';
import type { WorkTimes } from '../../workers/running/work-times.ts';
import { aDomain } from './builders.ts';
import { seenAs } from './seen-as.ts';

const CENTURY = 100 * 365 * 24 * 3_600_000;

/** With this clock the window has always just started, and every next check is overdue. */
export const longAgo = new Date('2020-01-01T12:00:00Z');

/** Neither sweeps nor a second run of the reconciler, also by a clock of long ago. */
export const noOtherWork: WorkTimes = {
  sweepEveryMs: { 'recheck-live': CENTURY, 'renew-certificate': CENTURY },
  reconcileEveryMs: 3_600_000,
};

/** Checks that never succeed and are due again at once; calls `begin` for each, and waits for it. */
export function endlessChecks(service: Service, begin: () => void | Promise<void>): Service {
  return {
    ...service,
    checks: {
      ...service.checks,
      load: async (id) => aDomain({ id, state: { status: 'pending', pendingSince: longAgo } }),
      save: async ({ domain }) => ({ kind: 'saved', epoch: domain.epoch }),
    },
    observer: {
      ...service.observer,
      async observe() {
        await begin();
        return seenAs('missing');
      },
    },
    // Without a query, so that a job that has started is counted at once.
    accountOf: async (projectId) => projectId,
    now: () => longAgo,
  };
}

/** Adds `count` jobs to the queue; returns their ids. */
export async function enqueueChecks(
  { queues }: Service,
  count: number,
): Promise<readonly string[]> {
  const runAt = new Date();
  const jobs = Array.from({ length: count }, () => ({ domainId: randomUUID(), epoch: 1 }));
  await queues.enqueue(
    'check-dns',
    jobs.map((job) => ({ job, runAt })),
  );
  return jobs.map(jobId);
}
