/** Looks without rows or DNS, for tests of what the queue does with a domain's job: each is put off to a time in the past. */
import { randomUUID } from 'node:crypto';
import { jobId } from '../../src/core/operations/jobs.ts';
import type { Parts } from '../../src/roles/parts.ts';
import type { CheckDnsDeps } from '../../workers/check-dns.ts';
import { aDomain, anObservation, missing } from './builders.ts';

/** By this clock it is always the first moment of a window, and every next check is overdue. */
export const longAgo = new Date('2020-01-01T12:00:00Z');

/** A check-dns that never finds the record and comes again at once; `begin` is told of each check. */
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

/** Gives the queue so many jobs for them; answers their ids. */
export async function enqueueChecks({ queues }: Parts, count: number): Promise<readonly string[]> {
  const runAt = new Date();
  const jobs = Array.from({ length: count }, () => ({ domainId: randomUUID(), epoch: 1 }));
  await queues.enqueue(
    'check-dns',
    jobs.map((job) => ({ job, runAt })),
  );
  return jobs.map(jobId);
}
