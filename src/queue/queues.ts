/** The producers' side of the queues. Workers are created in workers/start.ts. */
import { type IQueueBackend, type Job, type JobState, type JobType, Queue } from 'bullmq';
import { chunksOf } from '../core/chunks.ts';
import {
  type DomainJob,
  type DomainQueue,
  domainQueues,
  type FollowUpState,
  followUps,
  type JobOf,
  jobId,
  type QueueName,
} from '../core/operations/jobs.ts';
import type { AccountOf } from '../db/accounts.ts';
import type { QuarantineStore } from '../db/domains/quarantine.ts';
import { createAccountTurns, laterTurn } from './account-turns.ts';
import type { NoConnection, QueueBackend } from './backend.ts';

export type WantedJob<N extends QueueName = QueueName> = {
  readonly job: JobOf<N>;
  /** In the past: at once. */
  readonly runAt: Date;
  /** Its account takes turns with others. Missing: runs before all that do. */
  readonly projectId?: string | undefined;
  /** It was quarantined before: its next fault quarantines it again. */
  readonly probation?: true;
};

/** `waiting`: due, also in a paused queue. `delayed`: until their time. `failed`: kept for a week. */
export type QueueCounts = {
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly failed: number;
  readonly isPaused: boolean;
};

/** `added`: jobs that were missing. `woken`: jobs that were delayed past their time. */
export type Ensured = { readonly added: number; readonly woken: number };

/** Every call rejects within seconds while the server is down, and works again afterwards. */
export type Queues = {
  /** Adds missing jobs; existing ones stay unchanged in any state. */
  enqueue<N extends QueueName>(name: N, jobs: readonly WantedJob<N>[]): Promise<void>;
  /** Jobs that are missing, ended, or delayed far past `runAt`. Changes nothing. */
  astray(name: QueueName, jobs: readonly WantedJob[]): Promise<readonly WantedJob[]>;
  /** Adds jobs that are missing or have ended; runs those that are delayed far past `runAt`. */
  ensure(name: QueueName, jobs: readonly WantedJob[]): Promise<Ensured>;
  /** Runs a delayed job at once. Does nothing if it is missing or not delayed. */
  promote<N extends QueueName>(name: N, job: JobOf<N>): Promise<void>;
  /** Does nothing if the job is missing or active. */
  remove<N extends QueueName>(name: N, job: JobOf<N>): Promise<void>;
  /** Removes waiting jobs; returns how many existed. Active jobs stay. */
  removeIdle(name: QueueName, ids: readonly string[]): Promise<number>;
  /** Jobs that change state during the call may be missing, or have just ended. */
  aliveIds(name: QueueName): Promise<Set<string>>;
  counts(name: QueueName): Promise<QueueCounts>;
  /** A later call reopens its queue. */
  close(): Promise<void>;
};

export type SeenQueues = Queues & {
  see<N extends QueueName>(name: N, job: JobOf<N>): Promise<SeenJob | null>;
  /** BullMQ's queue, once it answers; a new one after its first connection failed. */
  opened(name: QueueName): Promise<AnyQueue>;
};

/** `paused`: of waiting jobs in a paused queue on PostgreSQL; missing in BullMQ's types. */
const waitingStates = ['waiting', 'prioritized', 'paused' as JobType] as const;

const aliveStates = ['active', 'waiting', 'prioritized', 'delayed'] as const;

/** Jobs per command to the server. */
const BATCH = 500;
/** Ids per command; Redis blocks while it lists them. */
const LIST = 10_000;
/** A job that is delayed this long past its `runAt` was scheduled by mistake. */
const OVERSLEPT_MS = 20_000;

/** Each queue connects at its first use. */
export function openQueues(backend: QueueBackend, accountOf: AccountOf): SeenQueues {
  const open = new Map<QueueName, AnyQueue>();
  const turns = createAccountTurns(accountOf);

  /** Discards a queue whose first connection failed: it never recovers. */
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
      for (const batch of chunksOf(jobs, BATCH))
        await add(queue, batch, await turns.next(name, batch));
    },
    async astray(name, jobs) {
      const queue = await queueOf(name);
      const astray: WantedJob[] = [];
      for (const batch of chunksOf(jobs, BATCH)) {
        const found = await Promise.all(batch.map((wanted) => inspect(queue, wanted)));
        astray.push(...batch.filter((_, index) => found[index] !== 'there'));
      }
      return astray;
    },
    ensure: async (name, jobs) =>
      ensure(await queueOf(name), jobs, async (queue, missing) => {
        const places = await turns.next(name, missing);
        await add(
          queue,
          missing,
          places.map((place) => (place === 0 ? 0 : (laterTurn(place) ?? place))),
        );
      }),
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
  priorities: readonly number[],
): Promise<void> {
  const now = Date.now();
  await queue.addBulk(
    jobs.map(({ job, runAt, probation }, index) => ({
      name: queue.name,
      data: probation === true ? { ...job, probation } : job,
      opts: {
        jobId: jobId(job),
        delay: Math.max(0, runAt.getTime() - now),
        priority: priorities[index] ?? 0,
      },
    })),
  );
}

async function counts(queue: AnyQueue): Promise<QueueCounts> {
  const [found, isPaused] = await Promise.all([
    queue.getJobCounts(...waitingStates, 'delayed', 'active', 'failed'),
    queue.isPaused(),
  ]);
  const { delayed = 0, active = 0, failed = 0 } = found;
  const waiting = waitingStates.reduce((sum, state) => sum + (found[state] ?? 0), 0);
  return { waiting, delayed, active, failed, isPaused };
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
  for (const batch of chunksOf(ids, BATCH)) {
    const found = await Promise.all(batch.map((id) => removeIfIdle(queue, id)));
    removed += found.filter(Boolean).length;
  }
  return removed;
}

/** BullMQ on Redis returns 1 for a missing job and 0 for a locked one. */
async function removeIfIdle(queue: AnyQueue, id: string): Promise<boolean> {
  return (await queue.getJob(id)) !== undefined && (await queue.remove(id)) === 1;
}

async function ensure(
  queue: AnyQueue,
  jobs: readonly WantedJob[],
  addMissing: (queue: AnyQueue, missing: readonly WantedJob[]) => Promise<void>,
): Promise<Ensured> {
  let [added, woken] = [0, 0];
  for (const batch of chunksOf(jobs, BATCH)) {
    const found = await Promise.all(batch.map((wanted) => makeWay(queue, wanted)));
    const missing = batch.filter((_, index) => found[index] === 'missing');
    if (missing.length > 0) await addMissing(queue, missing);
    added += missing.length;
    woken += found.filter((one) => one === 'woken').length;
  }
  return { added, woken };
}

/** Removes an ended job, so that its id is free, and runs one that is delayed too long. */
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
 * One command for a correct job. Not `getJobState`, which reads Redis' whole list of waiting jobs:
 * thousands of calls would stall a queue that is only late.
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

/** A job with faults or outages is delayed on purpose. */
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
    if (await job.isDelayed()) throw error; // otherwise it became due in between
    return false;
  }
}

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
async function seeJob(queue: AnyQueue, id: string): Promise<SeenJob | null> {
  const job = await queue.getJob(id);
  if (job === undefined) return null;
  const state = shownStates[await job.getState()] ?? 'unknown'; // it changed in between
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
function dueOf({ delay, processedOn, timestamp }: Job): number {
  return (processedOn ?? timestamp) + delay;
}

const shownStates: Partial<Record<JobState | 'unknown', SeenJob['state']>> = {
  active: 'active',
  delayed: 'delayed',
  completed: 'completed',
  failed: 'failed',
  waiting: 'waiting',
  prioritized: 'waiting',
  'waiting-children': 'waiting',
};

// The jobs of one domain.

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
