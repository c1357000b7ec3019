/** The producers' side of the queues: what is to happen when. Workers are made in workers/start.ts. */
import { type Job, type JobType, Queue } from 'bullmq';
import { type AnyJob, type JobOf, jobId, type QueueName } from '../core/operations/jobs.ts';
import type { QueueBackend } from './backend.ts';
import type { JobOwner, TakePriority } from './priorities.ts';
import { type AnyQueue, dueOf, type SeenJob, seeJob } from './seen-job.ts';

/** A job that is to be added, with the time from which it may run. */
export type QueuedJob<N extends QueueName> = {
  readonly job: JobOf<N>;
  /** In the past: at once. */
  readonly runAt: Date;
  /** With whose jobs it takes turns; missing: it runs before all that do. */
  readonly owner?: JobOwner;
};

/** A job that must be in its queue, by the state of the database. */
export type WantedJob = {
  readonly job: AnyJob;
  readonly runAt: Date;
  /** With whose jobs it takes turns; missing: it runs before all that do. */
  readonly owner?: JobOwner;
  /** It was set aside before: its next fault sets it aside again. */
  readonly probation?: true;
};

/** Jobs of a queue by state. `delayed`: asleep until their time. `failed`: for good; kept for a week. */
export type JobCounts = {
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly failed: number;
  readonly prioritized: number;
};

/** `waiting` counts those of a paused queue, too. */
export type QueueCounts = JobCounts & { readonly isPaused: boolean };

/** What had to be done about jobs that must be there: `added` were not, `woken` slept beyond their time. */
export type Ensured = { readonly added: number; readonly woken: number };

/** Every call rejects within some seconds while the server behind it is down, and works again afterwards. */
export type Queues = {
  /** Adds what is not there; a job that exists, in whatever state, is left as it is. */
  enqueue<N extends QueueName>(name: N, jobs: readonly QueuedJob<N>[]): Promise<void>;
  /** Those that are not there, have ended, or would sleep far beyond `runAt`. Changes nothing. */
  astray(name: QueueName, jobs: readonly WantedJob[]): Promise<readonly WantedJob[]>;
  /** Adds those that are not there or have ended, failed or not; wakes those that would sleep far beyond `runAt`. */
  ensure(name: QueueName, jobs: readonly WantedJob[]): Promise<Ensured>;
  /** Runs a delayed job at once. Nothing happens where it is not there or not waiting for its time. */
  promote<N extends QueueName>(name: N, job: JobOf<N>): Promise<void>;
  /** Takes a job out. Nothing happens where it is not there, or a worker has it. */
  remove<N extends QueueName>(name: N, job: JobOf<N>): Promise<void>;
  /** Takes out jobs that wait, by id; returns how many were there. A job that a worker has stays. */
  removeIdle(name: QueueName, ids: readonly string[]): Promise<number>;
  /** The ids of those that will run, or run now. What moves meanwhile may be missing, or have just ended. */
  aliveIds(name: QueueName): Promise<Set<string>>;
  counts(name: QueueName): Promise<QueueCounts>;
  /** Closes what was opened; a later call opens its queue again. */
  close(): Promise<void>;
};

/** The same, with what an operator sees. */
export type SeenQueues = Queues & {
  /** Null where there is no such job. */
  see<N extends QueueName>(name: N, job: JobOf<N>): Promise<SeenJob | null>;
  /** BullMQ's own queue, once it answers; another one after its first connection failed. */
  opened(name: QueueName): Promise<AnyQueue>;
};

const countedStates = ['waiting', 'delayed', 'active', 'failed', 'prioritized'] as const;
/** Where those that wait are counted while their queue is paused, on PostgreSQL; BullMQ's types have lost it. */
const pausedState = 'paused' as JobType;

const aliveStates = ['active', 'waiting', 'prioritized', 'delayed'] as const;

/** One command to the server carries this many jobs. */
const BATCH = 500;
/** One command lists this many ids; Redis does nothing else meanwhile. */
const LIST = 10_000;
/** A job that sleeps for longer than this after its `runAt` is not waiting, but has been scheduled by mistake. */
const OVERSLEPT_MS = 20_000;

/**
 * Opens nothing yet: each queue connects when it is first used. `takePriority`: what a job with an owner is given; missing:
 * none has a priority, and jobs run in the order in which they fall due.
 */
export function openQueues(
  backend: QueueBackend,
  takePriority: TakePriority = async () => 0,
): SeenQueues {
  const open = new Map<QueueName, AnyQueue>();

  /** A queue that answers. One whose first connection failed stays broken for ever, so it is thrown away. */
  async function queueOf(name: QueueName): Promise<AnyQueue> {
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

  return {
    async enqueue(name, jobs) {
      const queue = await queueOf(name);
      for (const batch of batches(jobs)) await add(queue, batch, takePriority);
    },
    async astray(name, jobs) {
      const queue = await queueOf(name);
      const astray: WantedJob[] = [];
      for (const batch of batches(jobs)) {
        const found = await Promise.all(batch.map((wanted) => inspect(queue, wanted)));
        astray.push(...batch.filter((_, index) => found[index] !== 'there'));
      }
      return astray;
    },
    ensure: async (name, jobs) => ensure(await queueOf(name), jobs, takePriority),
    promote: async (name, job) => void (await promote(await queueOf(name), jobId(job))),
    async remove(name, job) {
      await (await queueOf(name)).remove(jobId(job));
    },
    removeIdle: async (name, ids) => removeIdle(await queueOf(name), ids),
    aliveIds: async (name) => aliveIds(await queueOf(name)),
    counts: async (name) => counts(await queueOf(name)),
    see: async (name, job) => seeJob(await queueOf(name), jobId(job)),
    opened: queueOf,
    async close() {
      const queues = [...open.values()];
      open.clear();
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}

function newQueue(backend: QueueBackend, name: QueueName): AnyQueue {
  const queue: AnyQueue = new Queue(name, backend.queueOptions, backend.factory);
  queue.on('error', backend.reportError);
  return queue;
}

async function add(
  queue: AnyQueue,
  jobs: readonly WantedJob[],
  takePriority: TakePriority,
): Promise<void> {
  const priorities = await Promise.all(
    jobs.map(({ owner, runAt }) => (owner === undefined ? 0 : takePriority(owner, runAt))),
  );
  const now = Date.now();
  await queue.addBulk(
    jobs.map(({ job, runAt, probation }, index) => ({
      name: queue.name,
      data: probation === true ? { ...job, probation } : job,
      opts: {
        jobId: jobId(job),
        delay: Math.max(0, runAt.getTime() - now),
        ...(priorities[index] && { priority: priorities[index] }),
      },
    })),
  );
}

async function counts(queue: AnyQueue): Promise<QueueCounts> {
  const [found, isPaused] = await Promise.all([
    queue.getJobCounts(...countedStates, pausedState),
    queue.isPaused(),
  ]);
  const count = (state: (typeof countedStates)[number]) => found[state] ?? 0;
  return {
    waiting: count('waiting') + (found[pausedState] ?? 0),
    delayed: count('delayed'),
    active: count('active'),
    failed: count('failed'),
    prioritized: count('prioritized'),
    isPaused,
  };
}

async function aliveIds(queue: AnyQueue): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const state of aliveStates) {
    for (let from = 0; ; from += LIST) {
      const page = await queue.getRanges([state], from, from + LIST - 1, true);
      for (const id of page) ids.add(id);
      if (page.length < LIST) break;
    }
  }
  return ids;
}

async function removeIdle(queue: AnyQueue, ids: readonly string[]): Promise<number> {
  let removed = 0;
  for (const batch of batches(ids)) {
    const found = await Promise.all(batch.map((id) => removeIfIdle(queue, id)));
    removed += found.filter(Boolean).length;
  }
  return removed;
}

/** BullMQ on Redis answers 1 for a job that is not there, and 0 for one that a worker has locked. */
async function removeIfIdle(queue: AnyQueue, id: string): Promise<boolean> {
  return (await queue.getJob(id)) !== undefined && (await queue.remove(id)) === 1;
}

async function ensure(
  queue: AnyQueue,
  jobs: readonly WantedJob[],
  takePriority: TakePriority,
): Promise<Ensured> {
  let [added, woken] = [0, 0];
  for (const batch of batches(jobs)) {
    const found = await Promise.all(batch.map((wanted) => makeWay(queue, wanted)));
    const missing = batch.filter((_, index) => found[index] === 'missing');
    if (missing.length > 0) await add(queue, missing, takePriority);
    added += missing.length;
    woken += found.filter((one) => one === 'woken').length;
  }
  return { added, woken };
}

/** Removes a job that has ended, so that its id is free, and wakes one that sleeps too long. */
async function makeWay(queue: AnyQueue, wanted: WantedJob): Promise<'missing' | 'woken' | 'there'> {
  const id = jobId(wanted.job);
  switch (await inspect(queue, wanted)) {
    case 'missing':
      return 'missing';
    case 'ended':
      await queue.remove(id);
      return 'missing';
    case 'asleep':
      return (await promote(queue, id)) ? 'woken' : 'there';
    case 'there':
      return 'there';
  }
}

/**
 * One command for a job that is as it should be. Not by `getJobState`, which reads the whole list of waiting
 * jobs on Redis: thousands of calls would stall a queue that is merely late.
 */
async function inspect(
  queue: AnyQueue,
  wanted: WantedJob,
): Promise<'missing' | 'ended' | 'asleep' | 'there'> {
  const job = await queue.getJob(jobId(wanted.job));
  if (job === undefined) return 'missing';
  const ended =
    job.finishedOn !== undefined && ((await job.isFailed()) || (await job.isCompleted()));
  if (ended) return 'ended';
  return oversleeps(job, wanted) && (await job.isDelayed()) ? 'asleep' : 'there';
}

/** One that met faults or an outage sleeps on purpose. */
function oversleeps(job: Job, { runAt }: WantedJob): boolean {
  const { data } = job;
  if (typeof data === 'object' && data !== null && ('faults' in data || 'outages' in data)) {
    return false;
  }
  return dueOf(job) > Math.max(Date.now(), runAt.getTime()) + OVERSLEPT_MS;
}

async function promote(queue: AnyQueue, id: string): Promise<boolean> {
  const job = await queue.getJob(id);
  if (job === undefined || !(await job.isDelayed())) return false;
  try {
    await job.promote();
    return true;
  } catch (error) {
    if (await job.isDelayed()) throw error; // otherwise its time came in between
    return false;
  }
}

function batches<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / BATCH) }, (_, index) =>
    items.slice(index * BATCH, (index + 1) * BATCH),
  );
}
