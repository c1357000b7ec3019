/**
 * The queue that src/queue/queues.ts promises, in memory and on the history's clock: one job per
 * ID, each with its time. A dead worker's job comes back later, and all jobs can be lost.
 */
import {
  type AnyJob,
  isSweepQueue,
  jobId,
  type QueueName,
} from '../../src/core/operations/jobs.ts';
import type { Queues, WantedJob } from '../../src/queue/queues.ts';
import type { JobResult } from '../../workers/running/job.ts';

/** BullMQ returns a killed worker's job after lock + 2 × interval (src/queue/backend.ts). */
const STALLED_MS = 20_000;
const FAULT_WAIT_MS = 1_000;
/** A job that oversleeps by this much is woken (src/queue/queues.ts). */
const OVERSLEPT_MS = 20_000;

export type Alarm = {
  readonly name: QueueName;
  readonly job: AnyJob;
  runAt: number;
  state: 'waiting' | 'active' | 'failed';
  readonly place: number;
};

export type AlarmClock = {
  readonly queues: Queues;
  /** Takes the next job due at or before `until`, if any. */
  take(until: number): Alarm | undefined;
  /** When the next job is due, sweeps only on request. */
  nextAt(sweep?: QueueName): number | undefined;
  takeSweep(sweep: QueueName): Alarm | undefined;
  settle(alarm: Alarm, result: JobResult | 'killed' | 'fault'): void;
  empty(): void;
  holds(name: QueueName, job: AnyJob): boolean;
  /** Whether the first of these queues would run the job now. */
  isDue(names: readonly QueueName[], job: AnyJob): boolean;
};

export function createAlarmClock(now: () => number): AlarmClock {
  const alarms = new Map<string, Alarm>();
  let places = 0;
  const keyOf = (name: QueueName, job: AnyJob) => `${name} ${jobId(job)}`;

  function add(name: QueueName, job: AnyJob, runAt: Date): void {
    const key = keyOf(name, job);
    if (alarms.has(key)) return;
    places += 1;
    const at = Math.max(now(), runAt.getTime());
    alarms.set(key, { name, job, runAt: at, state: 'waiting', place: places });
  }

  const first = (which: (name: QueueName) => boolean) =>
    [...alarms.values()]
      .filter(({ name, state }) => state === 'waiting' && which(name))
      .sort((a, b) => a.runAt - b.runAt || a.place - b.place)[0];
  const isOwn = (name: QueueName) => !isSweepQueue(name);
  function handOut(alarm: Alarm | undefined): Alarm | undefined {
    if (alarm !== undefined) alarm.state = 'active';
    return alarm;
  }

  return {
    queues: queuesOver({ alarms, add, keyOf, now }),
    nextAt: (sweep) => first(sweep === undefined ? isOwn : (name) => name === sweep)?.runAt,
    take(until) {
      const alarm = first(isOwn);
      return alarm !== undefined && alarm.runAt <= until ? handOut(alarm) : undefined;
    },
    takeSweep: (sweep) => handOut(first((name) => name === sweep)),
    settle(alarm, result) {
      const key = keyOf(alarm.name, alarm.job);
      if (alarms.get(key) !== alarm) return; // lost in between
      const next = nextOf(result, now());
      if (next === 'gone') alarms.delete(key);
      else Object.assign(alarm, next);
    },
    empty: () => alarms.clear(),
    holds(name, job) {
      const alarm = alarms.get(keyOf(name, job));
      return alarm !== undefined && alarm.state !== 'failed';
    },
    isDue([name], job) {
      const alarm = name === undefined ? undefined : alarms.get(keyOf(name, job));
      return name === undefined || (alarm?.runAt ?? Infinity) <= now();
    },
  };
}

function nextOf(
  result: JobResult | 'killed' | 'fault',
  now: number,
): Pick<Alarm, 'state' | 'runAt'> | 'gone' {
  if (result === 'killed') return { state: 'waiting', runAt: now + STALLED_MS };
  if (result === 'fault') return { state: 'waiting', runAt: now + FAULT_WAIT_MS };
  if (result.kind === 'over') return { state: 'failed', runAt: now };
  if (result.kind === 'done') return 'gone';
  return { state: 'waiting', runAt: Math.max(now, result.at.getTime()) };
}

type Held = {
  readonly alarms: Map<string, Alarm>;
  readonly add: (name: QueueName, job: AnyJob, runAt: Date) => void;
  readonly keyOf: (name: QueueName, job: AnyJob) => string;
  readonly now: () => number;
};

function inspect(
  { alarms, keyOf, now }: Held,
  name: QueueName,
  { job, runAt }: WantedJob,
): 'missing' | 'asleep' | 'there' {
  const alarm = alarms.get(keyOf(name, job));
  if (alarm === undefined || alarm.state === 'failed') return 'missing';
  const due = Math.max(now(), runAt.getTime());
  return alarm.state === 'active' || alarm.runAt <= due + OVERSLEPT_MS ? 'there' : 'asleep';
}

function queuesOver(held: Held): Queues {
  const { alarms, add, keyOf, now } = held;
  return {
    async enqueue(name, jobs) {
      for (const { job, runAt } of jobs) add(name, job, runAt);
    },
    astray: async (name, jobs) => jobs.filter((wanted) => inspect(held, name, wanted) !== 'there'),
    async ensure(name, jobs) {
      let [added, woken] = [0, 0];
      for (const wanted of jobs) {
        const found = inspect(held, name, wanted);
        const key = keyOf(name, wanted.job);
        const alarm = alarms.get(key);
        if (found === 'missing') {
          alarms.delete(key);
          add(name, wanted.job, wanted.runAt);
          added += 1;
        } else if (found === 'asleep' && alarm !== undefined) {
          alarm.runAt = now();
          woken += 1;
        }
      }
      return { added, woken };
    },
    async promote(name, job) {
      const alarm = alarms.get(keyOf(name, job));
      if (alarm?.state === 'waiting') alarm.runAt = Math.min(alarm.runAt, now());
    },
    async remove(name, job) {
      const key = keyOf(name, job);
      if (alarms.get(key)?.state !== 'active') alarms.delete(key);
    },
    async removeIdle(name, ids) {
      const idle = [...alarms].filter(
        ([, alarm]) =>
          alarm.name === name && alarm.state !== 'active' && ids.includes(jobId(alarm.job)),
      );
      for (const [key] of idle) alarms.delete(key);
      return idle.length;
    },
    async aliveIds(name) {
      const alive = [...alarms.values()].filter(
        (one) => one.name === name && one.state !== 'failed',
      );
      return new Set(alive.map(({ job }) => jobId(job)));
    },
    async counts(name) {
      const of = [...alarms.values()].filter((alarm) => alarm.name === name);
      const count = (state: Alarm['state']) => of.filter((alarm) => alarm.state === state).length;
      return {
        waiting: 0,
        delayed: count('waiting'),
        active: count('active'),
        failed: count('failed'),
        isPaused: false,
      };
    },
    close: async () => undefined,
  };
}
