/** The only place that catches a job's faults. */

import {
  type AnyJob,
  domainIdIn,
  isSweepQueue,
  type JobOf,
  type QueueName,
} from '../../src/core/operations/jobs.ts';
import {
  failureReason,
  faultWaitMs,
  isPoison,
  isSuspect,
  outageWaitMs,
  quarantineWaitsMs,
} from '../../src/core/operations/quarantine.ts';
import { SECOND, scaledMs } from '../../src/core/time.ts';
import type { JobOutcome } from '../../src/ops/metrics/work.ts';
import { isOutage } from '../../src/queue/outage.ts';
import type { Service } from '../../src/service/service.ts';
import { type JobResult, parseJob, type Trouble, toStored } from './job.ts';

type AttemptParts = Pick<Service, 'config' | 'log' | 'metrics' | 'now' | 'quarantine' | 'random'>;

export type RawJob = {
  readonly id?: string | undefined;
  readonly data: unknown;
  /** Stall count; never decreases. */
  readonly stalledCounter: number;
  updateData(data: AnyJob): Promise<void>;
};

/** `store`: what the queue stores from now on, if it changed. */
export type JobAttempt = { readonly result: JobResult; readonly store?: AnyJob };

/** A fault of `run` becomes a result; rejects only if the database or the queue fails. */
export type Attempts = <N extends QueueName>(
  name: N,
  raw: RawJob,
  run: (job: JobOf<N>) => Promise<JobResult>,
) => Promise<JobAttempt>;

const none: Trouble = { faults: 0, outages: 0, forgiven: 0, alone: 0, probation: false };

/** One per process: jobs that can have crashed their worker run one at a time in it. */
export function createAttempts(service: AttemptParts): Attempts {
  let aloneTaken = false;

  return async (name, raw, run) => {
    const parsed = parseJob(name, raw);
    if (!parsed.ok) return quarantineJob(service, name, raw, parsed.reason);
    const { job, trouble } = parsed;
    const started = { name, raw, job, trouble };
    const deaths = raw.stalledCounter - trouble.forgiven;
    if (isSweepQueue(name) || !isSuspect(deaths, trouble.probation)) {
      return runOnce(service, started, run);
    }
    if (isPoison({ faults: 0, deathsAlone: trouble.alone, probation: trouble.probation })) {
      return quarantineJob(
        service,
        name,
        raw,
        `the worker crashed ${times(deaths)} during this job`,
      );
    }
    if (aloneTaken) return { result: itsTurnLater(service) };
    aloneTaken = true;
    try {
      const noted = { ...trouble, alone: trouble.alone + 1 };
      // Recorded before it runs, so that jobs which only wait are not suspected.
      await raw.updateData(toStored(job, noted));
      return await runOnce(service, { ...started, trouble: noted }, run);
    } finally {
      aloneTaken = false;
    }
  };
}

type Started<N extends QueueName> = {
  readonly name: N;
  readonly raw: RawJob;
  readonly job: JobOf<N>;
  readonly trouble: Trouble;
};

async function runOnce<N extends QueueName>(
  service: AttemptParts,
  started: Started<N>,
  run: (job: JobOf<N>) => Promise<JobResult>,
): Promise<JobAttempt> {
  const { name, raw, job, trouble } = started;
  const good = { ...none, forgiven: raw.stalledCounter };
  const beganAt = performance.now();
  const count = (outcome: JobOutcome) =>
    service.metrics?.job(name, outcome, (performance.now() - beganAt) / SECOND);
  try {
    const result = await run(job);
    if (mayBeNoted(trouble)) await service.quarantine.forget(name, raw.id ?? '');
    count(result.kind);
    return isAsBefore(trouble, good) ? { result } : { result, store: toStored(job, good) };
  } catch (fault) {
    const attempt = await afterFault(service, started, fault);
    const wentOn = isOutage(fault) ? 'outage' : 'fault';
    count(attempt.result.kind === 'over' ? 'quarantined' : wentOn);
    return attempt;
  }
}

/**
 * Whether a quarantine may be recorded. A crash of the worker loses `probation`, so other failures
 * count too.
 */
function mayBeNoted({ probation, faults, alone }: Trouble): boolean {
  return probation || faults > 0 || alone > 0;
}

async function afterFault<N extends QueueName>(
  service: AttemptParts,
  { name, raw, job, trouble }: Started<N>,
  fault: unknown,
): Promise<JobAttempt> {
  const {
    config: { timeScale },
    log,
  } = service;
  const given: AnyJob = job;
  const ids = { queue: name, jobId: raw.id, ...given };
  const survived = { ...trouble, forgiven: raw.stalledCounter, alone: 0 };
  if (isOutage(fault)) {
    const outages = trouble.outages + 1;
    const waitMs = outageWaitMs(outages, timeScale);
    log.warn({ err: fault, ...ids, outages, waitMs }, 'job postponed: dependency unavailable');
    return put(service, waitMs, `outage ${outages}`, toStored(job, { ...survived, outages }));
  }
  const faults = trouble.faults + 1;
  const waitMs = faultWaitMs(faults, timeScale);
  log.error({ err: fault, ...ids, faults, waitMs }, 'job failed: internal error');
  const reason = failureReason(
    fault instanceof Error ? fault : { name: 'Thrown', message: `${fault}` },
  );
  const later = toStored(job, { ...survived, faults, outages: 0 });
  const { probation } = trouble;
  // A sweep serves all domains and is never quarantined: its rows are leased, so a bad row affects
  // only itself.
  if (!isSweepQueue(name) && isPoison({ faults, deathsAlone: 0, probation })) {
    return quarantineJob(service, name, raw, reason).catch((unnoted: unknown) => {
      if (!isOutage(unnoted)) throw unnoted;
      return put(service, waitMs, `fault ${faults}, and an outage`, later);
    });
  }
  return put(service, waitMs, `fault ${faults}: ${reason}`, later);
}

async function quarantineJob(
  { config: { timeScale }, quarantine: store, log, now }: AttemptParts,
  queue: QueueName,
  raw: RawJob,
  reason: string,
): Promise<JobAttempt> {
  const jobId = raw.id ?? '';
  const domainId = domainIdIn(jobId);
  const suspect = { queue, jobId, domainId, reason };
  const times = await store.add(suspect, now(), quarantineWaitsMs(timeScale));
  log.error({ queue, jobId, ...(domainId && { domainId }), reason, ...times }, 'job quarantined');
  return { result: { kind: 'over', reason } };
}

function put({ now }: AttemptParts, waitMs: number, note: string, store: AnyJob): JobAttempt {
  return { result: { kind: 'again', at: new Date(now().getTime() + waitMs), note }, store };
}

/** Releases the job while another runs alone, so that it is not lost with the same worker. */
function itsTurnLater({ config: { timeScale }, now, random }: AttemptParts): JobResult {
  const waitMs = scaledMs(SECOND, timeScale) * (1 + 2 * random());
  const note = 'its worker crashed; waits to run alone';
  return { kind: 'again', at: new Date(now().getTime() + waitMs), note };
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
