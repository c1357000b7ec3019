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
import {
  type DeliveryJob,
  type JobOf,
  jobId,
  type QueueName,
  type SweepQueue,
} from '../src/core/operations/jobs.ts';
import { beforeDeadline } from '../src/net/deadline.ts';
import { inSpan } from '../src/net/tracing.ts';
import type { QueueBackend } from '../src/queue/backend.ts';
import { type CheckDnsDeps, checkDns } from './check-dns.ts';
import { type EscalateCertificateDeps, escalateCertificate } from './escalate-certificate.ts';
import { type IssueCertificateDeps, issueCertificate } from './issue-certificate.ts';
import { ensureSweeps, reconcile, repairedAny } from './reconcile.ts';
import type { ReconcileDeps } from './repair/compare-queue.ts';
import { type ClockGuard, startClockGuard } from './running/clock-guard.ts';
import type { JobResult } from './running/job.ts';
import { type Attempts, createAttempts, type JobAttempt, type RunDeps } from './running/run-job.ts';
import { keepFromSpinning } from './running/spin-guard.ts';
import { startTimer } from './running/timer.ts';

export type WorkerDeps = RunDeps & {
  readonly backend: QueueBackend;
  /** Against the database's clock; missing if there is no other clock. */
  readonly clockSkewMs?: () => Promise<number>;
  readonly checkDns: CheckDnsDeps;
  readonly issueCertificate: IssueCertificateDeps;
  readonly escalateCertificate: EscalateCertificateDeps;
  recheckLive(stop: AbortSignal): Promise<JobResult>;
  renewCertificate(stop: AbortSignal): Promise<JobResult>;
  /** After the renewals. */
  escalateRenewals(stop: AbortSignal): Promise<JobResult>;
  /** After both. */
  askRenewals(stop: AbortSignal): Promise<JobResult>;
  /** Milliseconds. */
  readonly sweepEveryMs: { readonly [N in SweepQueue]: number };
  deliverWebhook(delivery: DeliveryJob): Promise<JobResult>;
  /** Resolves with the number of queued deliveries. */
  relayDeliveries(stop: AbortSignal): Promise<number>;
  readonly reconcile: ReconcileDeps;
  readonly reconcileEveryMs: number;
  readonly checksAtOnce: number;
};

export type RunningWorkers = {
  /** Resolves by the deadline. Work cut off runs again elsewhere, as after a crash. */
  close(deadlineMs: number): Promise<void>;
};

/** Its jobs are parsed in running/job.ts. */
type AnyWorker = Worker<unknown, void, string, IQueueBackend, JobProgress, Record<string, never>>;
type Run<N extends QueueName> = (job: JobOf<N>) => Promise<JobResult>;
type Running = {
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

/** Returns at once. Workers take jobs after the first clock comparison. */
export function startWorkers(deps: WorkerDeps): RunningWorkers {
  const [stopping, cut] = [new AbortController(), new AbortController()];
  const { signal: cutOff } = cut;
  setMaxListeners(0, cutOff); // one per running job
  const quiet = { ...deps, log: logUntil(cutOff, deps.log) };
  const running = { attempts: createAttempts(quiet), stopping: stopping.signal, cutOff };
  const start = <N extends QueueName>(name: N, concurrency: number, run: Run<N>) =>
    startWorker(deps, running, name, concurrency, run);
  const sweepWith = (name: SweepQueue, run: (stop: AbortSignal) => Promise<JobResult>) =>
    start(name, 1, () => sweep(deps, name, () => run(stopping.signal)));
  const workers = [
    start('check-dns', deps.checksAtOnce, (job) => checkDns(deps.checkDns, job)),
    // Orders use memory and the CA's rate limit.
    start('issue-certificate', 10, (job) => issueCertificate(deps.issueCertificate, job)),
    start('escalate-certificate', 4, (job) => escalateCertificate(deps.escalateCertificate, job)),
    sweepWith('recheck-live', deps.recheckLive),
    sweepWith('renew-certificate', async (stop) => {
      const renewed = await deps.renewCertificate(stop);
      await deps.escalateRenewals(stop);
      await deps.askRenewals(stop);
      return renewed;
    }),
    start('deliver-webhook', DELIVERIES_AT_ONCE, (job) => deps.deliverWebhook(job)),
  ];
  const clock = startClockGuard(quiet, workers);
  const begun = beginSweeps(quiet, clock);
  const timers = [clock, startReconciler(deps, begun, clock), startRelay(deps, clock)];
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

function startWorker<N extends QueueName>(
  { backend, log, now }: WorkerDeps,
  { attempts, stopping, cutOff }: Running,
  name: N,
  concurrency: number,
  run: Run<N>,
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
function inSpanOf<N extends QueueName>(name: N, run: Run<N>): Run<N> {
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
  let letGo = () => {};
  const cut = new Promise<never>((_, reject) => {
    letGo = () => reject(delayed);
    cutOff.addEventListener('abort', letGo);
  });
  await Promise.race([work, cut]).finally(() => cutOff.removeEventListener('abort', letGo));
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
async function sweep(
  { sweepEveryMs, now }: WorkerDeps,
  name: SweepQueue,
  run: () => Promise<JobResult>,
): Promise<JobResult> {
  const result = await run();
  if (result.kind === 'again') return result;
  const note = result.kind === 'over' ? result.reason : 'swept';
  return { kind: 'again', at: new Date(now().getTime() + sweepEveryMs[name]), note };
}

/** If the queue is down, the reconciler creates the sweeps' jobs. */
async function beginSweeps({ reconcile: deps, log }: WorkerDeps, clock: ClockGuard): Promise<void> {
  if (!(await clock.isRight())) return;
  await ensureSweeps(deps).catch((err: unknown) =>
    log.error({ err }, 'could not schedule the sweeps; retrying'),
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
      await Promise.all([
        note(`${result.note}; again at ${result.at.toISOString()}`),
        job.moveToDelayed(result.at.getTime(), token),
      ]);
      throw delayed;
    }
  }
}

/**
 * A timer, not a job: it must run after the queue has lost everything. Waits for `begun`: otherwise
 * the first start would count the sweeps as lost.
 */
function startReconciler(
  { reconcile: deps, reconcileEveryMs, log }: WorkerDeps,
  begun: Promise<void>,
  clock: ClockGuard,
) {
  const turn = async (stop: AbortSignal) => {
    await begun;
    if (!(await clock.isRight())) return;
    const done = await reconcile(deps, reconcileEveryMs, stop);
    if (done !== null && repairedAny(done)) log.warn(done, 'reconciler repaired the queue');
  };
  return startTimer('reconciler', reconcileEveryMs, turn, log);
}

function startRelay({ relayDeliveries, log }: WorkerDeps, clock: ClockGuard) {
  const turn = async (stop: AbortSignal) => {
    if (await clock.isRight()) await relayDeliveries(stop);
  };
  return startTimer('delivery relay', RELAY_EVERY_MS, turn, log);
}
