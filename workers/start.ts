/** Starts the workers. Only this file creates BullMQ Workers and uses BullMQ's errors. */

import { setMaxListeners } from 'node:events';
import {
  DelayedError,
  type IQueueBackend,
  Job,
  type JobProgress,
  UnrecoverableError,
  Worker,
} from 'bullmq';
import type { Bindings, Logger } from 'pino';
import { type JobOf, jobId, type QueueName, type SweepQueue } from '../src/core/operations/jobs.ts';
import { clockSkewMs } from '../src/db/engine/client.ts';
import { beforeAbort, beforeDeadline } from '../src/net/deadline.ts';
import { inSpan } from '../src/net/tracing.ts';
import { laterTurn } from '../src/queue/account-turns.ts';
import type { Service } from '../src/service/service.ts';
import { askRenewals } from './ask-renewals.ts';
import { checkDns } from './check-dns.ts';
import { deliverWebhook } from './deliver-webhook.ts';
import { escalateCertificate } from './escalate-certificate.ts';
import { escalateRenewals } from './escalate-renewal.ts';
import { issueCertificate } from './issue-certificate.ts';
import { recheckLive } from './recheck-live.ts';
import { ensureSweeps, reconcile, repairedAny } from './reconcile.ts';
import { createRelay } from './relay-deliveries.ts';
import { renewCertificate } from './renew-certificate.ts';
import {
  type ClockGuard,
  keepFromSpinning,
  startClockGuard,
  startTimer,
  type Timer,
} from './running/clock-guard.ts';
import type { JobResult } from './running/job.ts';
import { createLoadGuard } from './running/load-guard.ts';
import { type Attempts, createAttempts, type JobAttempt } from './running/run-job.ts';
import { type WorkTimes, workTimes } from './running/work-times.ts';

export type RunningWorkers = {
  /** Resolves by the deadline. Work cut off runs again elsewhere, as after a crash. */
  close(deadlineMs: number): Promise<void>;
};

/** Its jobs are parsed in running/job.ts. */
type AnyWorker = Worker<unknown, void, string, IQueueBackend, JobProgress, Record<string, never>>;
type RunQueueJob<N extends QueueName> = (job: JobOf<N>) => Promise<JobResult>;
type WorkerState = {
  readonly attempts: Attempts;
  /** Aborted when the stop starts. */
  readonly stopping: AbortSignal;
  /** Aborted at its deadline. */
  readonly cutOff: AbortSignal;
};

/** Per job; shown to operators. */
const KEEP_LOG_LINES = 50;
/** Shared, because a stack trace per check costs as much as its diagnosis. */
const delayed = new DelayedError();
/** Delays an event by at most this much, at two queries a second when idle. */
const RELAY_EVERY_MS = 500;
/**
 * An attempt waits for its receiver, with a socket and some kilobytes. A project has few slots, so
 * dozens of projects must hang at once to block a process.
 */
const DELIVERIES_AT_ONCE = 200;

/** Checks mostly wait for the network; concurrent ones share database round trips. */
const checksAtOnce = {
  postgres_redis: 500,
  // Its queue is slower regardless of this number.
  postgres: 50,
  embedded: 50,
} as const;

/** Returns at once. Workers take jobs after the first clock comparison. */
export function startWorkers(
  service: Service,
  times: WorkTimes = workTimes(service.config),
): RunningWorkers {
  const [stopping, cut] = [new AbortController(), new AbortController()];
  const { signal: cutOff } = cut;
  setMaxListeners(0, cutOff); // one per running job
  const log = logUntil(cutOff, service.log);
  const quiet = { ...service, log };
  const attempts = createAttempts(quiet);
  const running = { attempts, stopping: stopping.signal, cutOff };
  const start = <N extends QueueName>(name: N, concurrency: number, run: RunQueueJob<N>) =>
    startWorker(service, running, name, concurrency, run);
  const sweepWith = (name: SweepQueue, run: Sweeping) =>
    start(name, 1, async () =>
      afterSweep(service, times, name, await run(service, stopping.signal)),
    );
  const workers = [
    startChecks(service, running),
    // Orders use memory and the CA's rate limit.
    start('issue-certificate', 10, (job) => issueCertificate(service, job)),
    start('escalate-certificate', 4, (job) => escalateCertificate(service, job)),
    sweepWith('recheck-live', recheckLive),
    sweepWith('renew-certificate', renewThenEscalate),
    start('deliver-webhook', DELIVERIES_AT_ONCE, (job) => deliverWebhook(service, job)),
  ];
  const clock = startClockGuard(() => skewOf(service), workers, log);
  const begun = beginSweeps(quiet, times, clock);
  const timers = [clock, startReconciler(service, times, begun, clock), startRelay(service, clock)];
  return {
    async close(deadlineMs) {
      stopping.abort(); // otherwise a sweep would go on while anything is due
      // Concurrently: a worker that waited for a timer would go on taking jobs.
      const ends = [...workers.map((each) => each.close()), ...timers.map((each) => each.stop())];
      // Work still running then can run twice: elsewhere, after its lock ends.
      await beforeDeadline(deadlineMs, Promise.all([begun, ...ends]), null);
      cut.abort();
    },
  };
}

type Sweeping = (service: Service, stop: AbortSignal) => Promise<JobResult>;

/** Fresh renewals are not escalated, and questions to the CA come last. */
const renewThenEscalate: Sweeping = async (service, stop) => {
  const renewed = await renewCertificate(service, stop);
  await escalateRenewals(service, stop);
  await askRenewals(service, stop);
  return renewed;
};

/** The embedded database uses our own clock. */
async function skewOf({ config, database }: Service): Promise<number> {
  return config.storage.kind === 'embedded' ? 0 : clockSkewMs(database.pool);
}

/** Only checks have a load guard: one account can have thousands, and they need much CPU. */
function startChecks(service: Service, running: WorkerState): AnyWorker {
  const most = checksAtOnce[service.config.storage.kind];
  const guard = createLoadGuard(most);
  const watched = { ...service, accountOf: guard.watch(service.accountOf) };
  const worker = startWorker(service, running, 'check-dns', most, (job) =>
    guard.count(() => checkDns(watched, job)),
  );
  guard.adjust(worker, running.stopping);
  return worker;
}

function startWorker<N extends QueueName>(
  { backend, log, now }: Service,
  { attempts, stopping, cutOff }: WorkerState,
  name: N,
  concurrency: number,
  run: RunQueueJob<N>,
): AnyWorker {
  const worker: AnyWorker = new Worker(
    name,
    async (job: Job, token) => {
      if (stopping.aborted) return putBack(job, token, now()); // already on its way from the queue
      const settled = attempts(name, job, inSpanOf(name, run)).then((attempt) =>
        cutOff.aborted ? undefined : settle(worker, job, token, attempt),
      );
      return unlessCutOff(cutOff, settled);
    },
    { ...backend.workerOptions, concurrency, autorun: false }, // startClockGuard runs it
    backend.factory,
  );
  keepFromSpinning(worker, logUntil(cutOff, log, { queue: name }));
  return worker;
}

/** Adds a span with the job's domain to the one that BullMQ creates. */
function inSpanOf<N extends QueueName>(name: N, run: RunQueueJob<N>): RunQueueJob<N> {
  return (job) => {
    const domain = 'domainId' in job ? { 'signpost.domain.id': job.domainId } : {};
    return inSpan(name, { 'signpost.job.id': jobId(job), ...domain }, () => run(job));
  };
}

async function putBack(job: Job, token: string | undefined, now: Date): Promise<never> {
  await job.moveToDelayed(now.getTime(), token);
  throw delayed;
}

/** The queue keeps the job active until its lock ends. */
async function unlessCutOff(cutOff: AbortSignal, work: Promise<void>): Promise<void> {
  const settled = work.then(() => 'settled' as const);
  if ((await beforeAbort(cutOff, settled, 'cut off')) === 'cut off') throw delayed;
}

/** After the cut-off, faults are only a result of the closed storage. */
function logUntil(cutOff: AbortSignal, log: Logger, bindings: Bindings = {}): Logger {
  const child = log.child(bindings);
  cutOff.addEventListener('abort', () => {
    child.level = 'silent';
  });
  return child;
}

/** Rescheduled here: BullMQ's job scheduler would be a second mechanism that can lose jobs. */
function afterSweep(
  { now }: Service,
  { sweepEveryMs }: WorkTimes,
  name: SweepQueue,
  result: JobResult,
): JobResult {
  if (result.kind === 'again') return result;
  const note = result.kind === 'over' ? result.reason : 'swept';
  return { kind: 'again', at: new Date(now().getTime() + sweepEveryMs[name]), note };
}

/** If the queue is down, the reconciler creates the sweeps' jobs. */
async function beginSweeps(service: Service, times: WorkTimes, clock: ClockGuard): Promise<void> {
  if (!(await clock.isRight())) return;
  await ensureSweeps(service, times).catch((err: unknown) =>
    service.log.error({ err }, 'could not schedule the sweeps; retrying'),
  );
}

/** A finished job is deleted with its log. */
async function settle(
  worker: AnyWorker,
  job: Job,
  token: string | undefined,
  { result, store }: JobAttempt,
): Promise<void> {
  const note = (words: string) =>
    Job.addJobLog(worker, job.id ?? '', `${new Date().toISOString()} ${words}`, KEEP_LOG_LINES);
  switch (result.kind) {
    case 'done':
      return;
    case 'over':
      await note(`over: ${result.reason}`);
      throw new UnrecoverableError(result.reason);
    case 'again': {
      if (store !== undefined) await job.updateData(store);
      await takeLaterTurn(job);
      await Promise.all([
        note(`${result.note}; again at ${result.at.toISOString()}`),
        job.moveToDelayed(result.at.getTime(), token),
      ]);
      throw delayed;
    }
  }
}

/** Lowers the priority once, so that the job comes after those that have not run yet. */
async function takeLaterTurn(job: Job): Promise<void> {
  const priority = laterTurn(Number(job.priority));
  if (priority !== null) await job.changePriority({ priority });
}

/**
 * A timer, not a job: it must run after the queue has lost everything. Waits for `begun`: otherwise
 * the first start would count the sweeps as lost.
 */
function startReconciler(
  service: Service,
  times: WorkTimes,
  begun: Promise<void>,
  clock: ClockGuard,
): Timer {
  const { log } = service;
  const turn = async (stop: AbortSignal) => {
    await begun;
    if (!(await clock.isRight())) return;
    const done = await reconcile(service, times, stop);
    if (done !== null && repairedAny(done)) log.warn(done, 'reconciler repaired the queue');
  };
  return startTimer('reconciler', times.reconcileEveryMs, turn, log);
}

function startRelay(service: Service, clock: ClockGuard): Timer {
  const relay = createRelay(service);
  const turn = async (stop: AbortSignal) => {
    if (await clock.isRight()) await relay(stop);
  };
  return startTimer('delivery relay', RELAY_EVERY_MS, turn, service.log);
}
