import type { IQueueBackend, Job, Queue } from 'bullmq';
import type { NoConnection } from './backend.ts';

export type AnyQueue = Queue<
  unknown,
  unknown,
  string,
  unknown,
  unknown,
  string,
  IQueueBackend,
  NoConnection
>;

/** A snapshot. `unknown`: its state changed during the read. */
export type SeenJob = {
  readonly state: 'active' | 'waiting' | 'delayed' | 'completed' | 'failed' | 'unknown';
  readonly attempts: number;
  /** When a delayed job runs; null for any other. */
  readonly runAt: Date | null;
  /** Why it failed permanently; null for any other. */
  readonly failedReason: string | null;
  /** One line per recent attempt, newest first, at most LINES. */
  readonly log: readonly string[];
};

const LINES = 50;

/** Null for a missing job. Takes several commands, so use it for one job at a time. */
export async function seeJob(queue: AnyQueue, id: string): Promise<SeenJob | null> {
  const job = await queue.getJob(id);
  if (job === undefined) return null;
  const state = stateOf(await job.getState());
  const { logs } = await queue.getJobLogs(id, 0, LINES - 1, false);
  return {
    state,
    attempts: job.attemptsStarted,
    runAt: state === 'delayed' ? new Date(dueOf(job)) : null,
    failedReason: state === 'failed' ? (job.failedReason ?? null) : null,
    log: logs,
  };
}

/** When a delayed job is due, in ms since 1970 (UTC). */
export function dueOf({ delay, processedOn, timestamp }: Job): number {
  return (processedOn ?? timestamp) + delay;
}

function stateOf(state: Awaited<ReturnType<Job['getState']>>): SeenJob['state'] {
  switch (state) {
    case 'active':
    case 'delayed':
    case 'completed':
    case 'failed':
      return state;
    case 'waiting':
    case 'prioritized':
    case 'waiting-children':
      return 'waiting';
    default:
      return 'unknown'; // it changed in between
  }
}
