/** Which jobs there must be, for workers/reconcile.ts and workers/repair/compare-queue.ts: what waits, less what is set aside. */

import { jobId, type QueueName, type SweepQueue } from '../../src/core/jobs.ts';
import type { QuarantineStore } from '../../src/db/quarantine.ts';
import type { RepairStore } from '../../src/db/repairs.ts';
import type { WaitingJob, WaitingStore } from '../../src/db/waiting.ts';
import type { Queues, WantedJob } from '../../src/queue/queues.ts';

export type ReconcileDeps = {
  readonly waiting: WaitingStore;
  readonly queues: Pick<Queues, 'astray' | 'ensure' | 'removeIdle' | 'aliveIds' | 'counts'>;
  readonly quarantine: Pick<QuarantineStore, 'untils' | 'dropBefore'>;
  readonly repairs: RepairStore;
  /** How long after a sweep the next one begins. */
  readonly sweepEveryMs: { readonly [N in SweepQueue]: number };
  now(): Date;
  /** Between a first look and the one that confirms it. */
  pause(ms: number): Promise<void>;
};

/** Of the jobs that there must be those that may run; the ones whose time aside is over on probation. */
export async function withoutSetAside(
  { quarantine, now }: Pick<ReconcileDeps, 'quarantine' | 'now'>,
  queue: QueueName,
  jobs: readonly WaitingJob[],
): Promise<readonly WantedJob[]> {
  const untils = await quarantine.untils(
    queue,
    jobs.map(({ job }) => jobId(job)),
  );
  return jobs.flatMap(({ job, runAt }) => {
    const until = untils.get(jobId(job));
    if (until === undefined) return [{ job, runAt }];
    return until > now() ? [] : [{ job, runAt, probation: true }];
  });
}
