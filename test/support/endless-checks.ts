/** Checks without rows or DNS, for queue tests: each next check is due in the past. */
import { randomUUID } from 'node:crypto';
import { jobId } from '../../src/core/operations/jobs.ts';
import type { Service } from '../../src/service/service.ts';
import type { CheckDnsDeps } from '../../workers/check-dns.ts';
import { aDomain, anObservation, missing } from './builders.ts';

/** With this clock the window has always just started, and every next check is overdue. */
export const longAgo = new Date('2020-01-01T12:00:00Z');

/** A check-dns that never succeeds and is due again at once; calls `begin` for each check. */
export function endlessChecks(composed: CheckDnsDeps, begin: () => void): CheckDnsDeps {
  return {
    ...composed,
    load: async (id) => aDomain({ id, state: { status: 'pending', pendingSince: longAgo } }),
    async observeAgain() {
      begin();
      return { kind: 'observed', observation: anObservation() };
    },
    diagnose: async () => missing,
    save: async ({ domain }) => ({ kind: 'saved', epoch: domain.epoch }),
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
