/**
 * One attempt of one job, whatever its queue: parse → run → classify what went wrong. The one place that catches a job's
 * faults. A job that meets a fault, or whose worker dies, waits a little longer each time; one that goes wrong again and
 * again is set aside (src/core/operations/quarantine.ts), and comes back by the reconciler.
 */

import type { Logger } from 'pino';
import {
  type AnyJob,
  domainIdIn,
  isSweepQueue,
  type JobOf,
  type QueueName,
} from '../../src/core/operations/jobs.ts';
import {
  faultWaitMs,
  isPoison,
  isSuspect,
  outageWaitMs,
  quarantineWaitsMs,
  reasonOf,
} from '../../src/core/operations/quarantine.ts';
import { SECOND } from '../../src/core/time.ts';
import type { QuarantineStore } from '../../src/db/domains/quarantine.ts';
import { isUnavailable } from '../../src/db/engine/unavailable.ts';
import type { CountJob, JobOutcome } from '../../src/ops/metrics/work.ts';
import { isQueueUnavailable } from '../../src/queue/backend.ts';
import { type JobResult, parseJob, type Trouble, toStored } from './job.ts';

/** What attempts need of the process that they run in. */
export type RunDeps = {
  readonly quarantine: Pick<QuarantineStore, 'setAside' | 'forget'>;
  /** 0 to 1: a laboratory's short window shortens these waits too (scaleOf, src/core/life/ladder.ts). */
  readonly waitScale: number;
  readonly log: Logger;
  /** Counts attempts that ran, with their outcome and seconds. */
  readonly count?: CountJob;
  now(): Date;
};

/** What is needed of BullMQ's job. */
export type RawJob = {
  readonly id?: string | undefined;
  readonly data: unknown;
  /** How often its worker died; BullMQ never takes anything from it. */
  readonly stalledCounter: number;
  updateData(data: AnyJob): Promise<void>;
};

/** How an attempt ended. `store`: what the queue is to keep of the job from now on, where that has changed. */
export type Attempt = { readonly result: JobResult; readonly store?: AnyJob };

/** Makes one attempt. A fault of `run` becomes a result; it rejects only where the database or the queue does. */
export type Attempts = <N extends QueueName>(
  name: N,
  raw: RawJob,
  run: (job: JobOf<N>) => Promise<JobResult>,
) => Promise<Attempt>;

const none: Trouble = { faults: 0, outages: 0, forgiven: 0, alone: 0, probation: false };

/** One for each process: jobs that may have killed their worker run one at a time in it. */
export function createAttempts(deps: RunDeps): Attempts {
  let aloneTaken = false;

  return async (name, raw, run) => {
    const parsed = parseJob(name, raw);
    if (!parsed.ok) return setAside(deps, name, raw, parsed.reason);
    const { job, trouble } = parsed;
    const started = { name, raw, job, trouble };
    const deaths = raw.stalledCounter - trouble.forgiven;
    if (isSweepQueue(name) || !isSuspect(deaths, trouble.probation)) {
      return runOnce(deps, started, run);
    }
    if (isPoison({ faults: 0, deathsAlone: trouble.alone, probation: trouble.probation })) {
      return setAside(deps, name, raw, `the worker died ${times(deaths)} under this job`);
    }
    if (aloneTaken) return { result: itsTurnLater(deps) };
    aloneTaken = true;
    try {
      const noted = { ...trouble, alone: trouble.alone + 1 };
      // Before it runs: whoever dies with it has not begun, and is not suspected for it.
      await raw.updateData(toStored(job, noted));
      return await runOnce(deps, { ...started, trouble: noted }, run);
    } finally {
      aloneTaken = false;
    }
  };
}

/** A parsed job whose attempt is under way. */
type Started<N extends QueueName> = {
  readonly name: N;
  readonly raw: RawJob;
  readonly job: JobOf<N>;
  readonly trouble: Trouble;
};

async function runOnce<N extends QueueName>(
  deps: RunDeps,
  started: Started<N>,
  run: (job: JobOf<N>) => Promise<JobResult>,
): Promise<Attempt> {
  const { name, raw, job, trouble } = started;
  const good = { ...none, forgiven: raw.stalledCounter };
  const beganAt = performance.now();
  const count = (outcome: JobOutcome) =>
    deps.count?.(name, outcome, (performance.now() - beganAt) / SECOND);
  try {
    const result = await run(job);
    if (mayBeNoted(trouble)) await deps.quarantine.forget(name, raw.id ?? '');
    count(result.kind);
    return isAsBefore(trouble, good) ? { result } : { result, store: toStored(job, good) };
  } catch (fault) {
    const attempt = await afterFault(deps, started, fault);
    const wentOn = isOutage(fault) ? 'outage' : 'fault';
    count(attempt.result.kind === 'over' ? 'set_aside' : wentOn);
    return attempt;
  }
}

/**
 * Whether it was set aside, or its worker may have died between the note of that and the job's end: then it comes back
 * without its probation, and the note would stay.
 */
function mayBeNoted({ probation, faults, alone }: Trouble): boolean {
  return probation || faults > 0 || alone > 0;
}

async function afterFault<N extends QueueName>(
  deps: RunDeps,
  { name, raw, job, trouble }: Started<N>,
  fault: unknown,
): Promise<Attempt> {
  const { log, waitScale } = deps;
  const given: AnyJob = job;
  const ids = { queue: name, jobId: raw.id, ...given };
  const survived = { ...trouble, forgiven: raw.stalledCounter, alone: 0 };
  if (isOutage(fault)) {
    const outages = trouble.outages + 1;
    const waitMs = outageWaitMs(outages, waitScale);
    log.warn({ err: fault, ...ids, outages, waitMs }, 'job met an outage');
    return put(deps, waitMs, `outage ${outages}`, toStored(job, { ...survived, outages }));
  }
  const faults = trouble.faults + 1;
  const waitMs = faultWaitMs(faults, waitScale);
  log.error({ err: fault, ...ids, faults, waitMs }, 'job met a fault');
  const reason = reasonOf(fault instanceof Error ? fault : { name: 'Thrown', message: `${fault}` });
  const later = toStored(job, { ...survived, faults, outages: 0 });
  const { probation } = trouble;
  // A sweep is everybody's, and never set aside: the rows that it holds are leased, and a bad one keeps only itself.
  if (!isSweepQueue(name) && isPoison({ faults, deathsAlone: 0, probation })) {
    return setAside(deps, name, raw, reason).catch((unnoted: unknown) => {
      if (!isOutage(unnoted)) throw unnoted;
      return put(deps, waitMs, `fault ${faults}, and an outage`, later);
    });
  }
  return put(deps, waitMs, `fault ${faults}: ${reason}`, later);
}

async function setAside(
  { quarantine: store, waitScale, log, now }: RunDeps,
  queue: QueueName,
  raw: RawJob,
  reason: string,
): Promise<Attempt> {
  const jobId = raw.id ?? '';
  const domainId = domainIdIn(jobId);
  const suspect = { queue, jobId, domainId, reason };
  const aside = await store.setAside(suspect, now(), quarantineWaitsMs(waitScale));
  log.error({ queue, jobId, ...(domainId && { domainId }), reason, ...aside }, 'job set aside');
  return { result: { kind: 'over', reason } };
}

function put({ now }: RunDeps, waitMs: number, note: string, store: AnyJob): Attempt {
  return { result: { kind: 'again', at: new Date(now().getTime() + waitMs), note }, store };
}

/** Not in a worker's hands meanwhile, so that it does not die with the one whose turn it is. */
function itsTurnLater({ now, waitScale }: RunDeps): JobResult {
  const waitMs = Math.max(250, SECOND * waitScale) * (1 + 2 * Math.random());
  const note = 'its worker died; waits to run alone';
  return { kind: 'again', at: new Date(now().getTime() + waitMs), note };
}

function isOutage(fault: unknown): boolean {
  return isUnavailable(fault) || isQueueUnavailable(fault);
}

function isAsBefore(before: Trouble, after: Trouble): boolean {
  return (
    before.faults === after.faults &&
    before.outages === after.outages &&
    before.forgiven === after.forgiven &&
    before.alone === after.alone &&
    before.probation === after.probation
  );
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
