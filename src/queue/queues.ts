/** The producers' side of the queues: what is to happen when. Workers are made in workers/start.ts. */
import { type IQueueBackend, Queue } from 'bullmq';
import type { NoConnection, QueueBackend } from './backend.ts';
import { type DomainJob, jobId, type QueueName, queueNames } from './names.ts';

export type QueuedJob = {
  readonly job: DomainJob;
  /** In the past: at once. */
  readonly runAt: Date;
};

export type JobCounts = {
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly failed: number;
  readonly prioritized: number;
};

/** Every call rejects within some seconds while the server behind it is down, and works again afterwards. */
export type Queues = {
  /** Adds what is not there; a job that exists, in whatever state, is left as it is. */
  enqueue(name: QueueName, jobs: readonly QueuedJob[]): Promise<void>;
  /** Adds those that are not there or have ended, failed or not; answers how many that were. */
  ensure(name: QueueName, jobs: readonly QueuedJob[]): Promise<number>;
  /** Runs a delayed job at once. Nothing happens where it is not there or not waiting for its time. */
  promote(name: QueueName, job: DomainJob): Promise<void>;
  /** Takes a job out. Nothing happens where it is not there, or a worker has it. */
  remove(name: QueueName, job: DomainJob): Promise<void>;
  counts(name: QueueName): Promise<JobCounts>;
  close(): Promise<void>;
};

type DomainQueue = Queue<
  DomainJob,
  unknown,
  string,
  DomainJob,
  unknown,
  string,
  IQueueBackend,
  NoConnection
>;

const countedStates = ['waiting', 'delayed', 'active', 'failed', 'prioritized'] as const;

/** One command to the server carries this many jobs. */
const BATCH = 500;

/** Opens nothing yet: each queue connects when it is first used. */
export function openQueues(backend: QueueBackend): Queues {
  const open = new Map<QueueName, DomainQueue>();

  /** A queue that answers. One whose first connection failed stays broken for ever, so it is thrown away. */
  async function queueOf(name: QueueName): Promise<DomainQueue> {
    const queue = open.get(name) ?? newQueue(backend, name);
    open.set(name, queue);
    try {
      await queue.waitUntilReady();
      return queue;
    } catch (error) {
      if (open.get(name) === queue) open.delete(name);
      queue.close().catch(backend.reportError);
      throw error;
    }
  }

  async function enqueue(name: QueueName, jobs: readonly QueuedJob[]): Promise<void> {
    const queue = await queueOf(name);
    for (const batch of batches(jobs)) {
      const now = Date.now();
      await queue.addBulk(
        batch.map(({ job, runAt }) => ({
          name,
          data: job,
          opts: { jobId: jobId(job), delay: Math.max(0, runAt.getTime() - now) },
        })),
      );
    }
  }

  return {
    enqueue,
    async ensure(name, jobs) {
      const queue = await queueOf(name);
      let added = 0;
      for (const batch of batches(jobs)) {
        const missing = await Promise.all(batch.map(({ job }) => makeWay(queue, jobId(job))));
        const lost = batch.filter((_, index) => missing[index]);
        await enqueue(name, lost);
        added += lost.length;
      }
      return added;
    },
    promote: async (name, job) => promote(await queueOf(name), jobId(job)),
    async remove(name, job) {
      await (await queueOf(name)).remove(jobId(job));
    },
    counts: async (name) => counts(await queueOf(name)),
    async close() {
      const queues = [...open.values()];
      open.clear();
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}

function newQueue(backend: QueueBackend, name: QueueName): DomainQueue {
  const queue: DomainQueue = new Queue(name, backend.queueOptions, backend.factory);
  queue.on('error', backend.reportError);
  return queue;
}

async function counts(queue: DomainQueue): Promise<JobCounts> {
  const found = await queue.getJobCounts(...countedStates);
  const count = (state: (typeof countedStates)[number]) => found[state] ?? 0;
  return {
    waiting: count('waiting'),
    delayed: count('delayed'),
    active: count('active'),
    failed: count('failed'),
    prioritized: count('prioritized'),
  };
}

/**
 * Whether there is place for a new job with this id; one that has ended is removed. Not by `getJobState`, which
 * reads the whole list of waiting jobs on Redis: thousands of calls would stall a queue that is merely late.
 */
async function makeWay(queue: DomainQueue, id: string): Promise<boolean> {
  const job = await queue.getJob(id);
  if (job === undefined) return true;
  if (!(await job.isFailed()) && !(await job.isCompleted())) return false;
  await queue.remove(id);
  return true;
}

async function promote(queue: DomainQueue, id: string): Promise<void> {
  const job = await queue.getJob(id);
  if (job === undefined || !(await job.isDelayed())) return;
  try {
    await job.promote();
  } catch (error) {
    if (await job.isDelayed()) throw error; // otherwise its time came in between
  }
}

function batches(jobs: readonly QueuedJob[]): QueuedJob[][] {
  return Array.from({ length: Math.ceil(jobs.length / BATCH) }, (_, index) =>
    jobs.slice(index * BATCH, (index + 1) * BATCH),
  );
}

/** Takes a life's jobs out of every queue; those that a worker has end by themselves, fenced by their epoch. */
export async function forgetJobs(queues: Queues, job: DomainJob): Promise<void> {
  for (const name of queueNames) await queues.remove(name, job);
}
