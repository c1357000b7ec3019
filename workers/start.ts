/** Starts the workers: the only file that makes a BullMQ Worker, and the only one that knows its errors. */
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
import { inSpan } from '../src/net/tracing.ts';
import type { QueueBackend } from '../src/queue/backend.ts';
import { isWorthChanging, type TakePriority } from '../src/queue/priorities.ts';
import { type CheckDnsDeps, checkDns } from './check-dns.ts';
import { DELIVERIES_AT_ONCE } from './deliver-webhook.ts';
import { type EscalateCertificateDeps, escalateCertificate } from './escalate-certificate.ts';
import { type IssueCertificateDeps, issueCertificate } from './issue-certificate.ts';
import { ensureSweeps, reconcile, repairedAny } from './reconcile.ts';
import type { ReconcileDeps } from './repair/compare-queue.ts';
import {
  type ClockGuard,
  keepFromSpinning,
  startClockGuard,
  startTimer,
} from './running/guards.ts';
import type { JobResult } from './running/job.ts';
import { type Attempt, type Attempts, createAttempts, type RunDeps } from './running/run-job.ts';

/** What the workers of a process are handed. */
export type WorkerDeps = RunDeps & {
  readonly backend: QueueBackend;
  /** Given to a job that is put off, so that accounts take turns. */
  readonly takePriority: TakePriority;
  /** By how many ms our clock differs from the database's; missing where nobody else has a clock. */
  readonly clockSkewMs?: () => Promise<number>;
  readonly checkDns: CheckDnsDeps;
  readonly issueCertificate: IssueCertificateDeps;
  readonly escalateCertificate: EscalateCertificateDeps;
  /** Works through the domains that are due for a check, until none is. */
  recheckLive(stop: AbortSignal): Promise<JobResult>;
  /** Works through the certificates that are due for renewal, for a turn; the result is that of the job. */
  renewCertificate(stop: AbortSignal): Promise<JobResult>;
  /** Escalates renewals that are overdue, for a turn; after the renewals, in their job. */
  escalateRenewals(stop: AbortSignal): Promise<JobResult>;
  /** Asks the authorities when they want certificates renewed, for a turn; after both, in their job. */
  askRenewals(stop: AbortSignal): Promise<JobResult>;
  /** How many ms after a sweep the next one begins. */
  readonly sweepEveryMs: { readonly [N in SweepQueue]: number };
  deliverWebhook(delivery: DeliveryJob): Promise<JobResult>;
  /** Hands new deliveries to the queue and resolves with how many. */
  relayDeliveries(stop: AbortSignal): Promise<number>;
  readonly reconcile: ReconcileDeps;
  readonly reconcileEveryMs: number;
  /** How many DNS checks of pending domains one process has under way. */
  readonly checksAtOnce: number;
};

/** The workers of a process. */
export type RunningWorkers = {
  /**
   * Begins nothing from now on, and lets what is under way finish for at most `deadlineMs`. What is cut off then is run
   * again elsewhere, as if the process had been killed: no fault of it is logged, or counted. Resolves by the deadline.
   */
  close(deadlineMs: number): Promise<void>;
};

/** A worker on whichever backend the storage calls for. What its jobs hold is parsed in running/job.ts. */
type AnyWorker = Worker<unknown, void, string, IQueueBackend, JobProgress, Record<string, never>>;
type Run<N extends QueueName> = (job: JobOf<N>) => Promise<JobResult>;
type Running = {
  readonly attempts: Attempts;
  /** Aborted when the stop begins. */
  readonly stopping: AbortSignal;
  /** Aborted at its deadline. */
  readonly cutOff: AbortSignal;
};

/** For each job; an operator sees them. */
const KEEP_LOG_LINES = 50;
/** Says only that the job was put back. One for all, because a stack trace for each check costs as much as its diagnosis. */
const delayed = new DelayedError();
/** A customer sees an event this much later at most, and an idle database is asked twice a second. Our choice. */
const RELAY_EVERY_MS = 500;

/**
 * Starts a worker for each queue, the reconciler's timer and the one that relays webhook deliveries. They take jobs
 * after the first comparison of clocks, unless this process's is wrong. Returns at once.
 */
export function startWorkers(deps: WorkerDeps): RunningWorkers {
  const [stopping, cut] = [new AbortController(), new AbortController()];
  const { signal: cutOff } = cut;
  setMaxListeners(0, cutOff); // one for each job under way
  const quiet = { ...deps, log: logUntil(cutOff, deps.log) };
  const running = { attempts: createAttempts(quiet), stopping: stopping.signal, cutOff };
  const start = <N extends QueueName>(name: N, concurrency: number, run: Run<N>) =>
    startWorker(deps, running, name, concurrency, run);
  const sweepWith = (name: SweepQueue, run: (stop: AbortSignal) => Promise<JobResult>) =>
    start(name, 1, () => sweep(deps, name, () => run(stopping.signal)));
  const workers = [
    start('check-dns', deps.checksAtOnce, (job) => checkDns(deps.checkDns, job)),
    // An order holds memory and the authority's patience.
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
      stopping.abort(); // a sweep would go on as long as anything is due
      // All at once: a worker that waited for a timer's turn would go on taking jobs meanwhile.
      const ends = [...workers.map((each) => each.close()), ...timers.map((each) => each.stop())];
      await within(deadlineMs, Promise.all([begun, ...ends]));
      cut.abort();
    },
  };
}

function startWorker<N extends QueueName>(
  { backend, log, now, takePriority }: WorkerDeps,
  { attempts, stopping, cutOff }: Running,
  name: N,
  concurrency: number,
  run: Run<N>,
): AnyWorker {
  const worker: AnyWorker = new Worker(
    name,
    async (job: Job, token) => {
      if (stopping.aborted) return putBack(job, token, now()); // it was on its way from the queue
      const settled = attempts(name, job, inSpanOf(name, run)).then((attempt) =>
        cutOff.aborted ? undefined : settle({ worker, job, token, takePriority }, attempt),
      );
      return unlessCutOff(cutOff, settled);
    },
    { ...backend.workerOptions, concurrency, autorun: false }, // startClockGuard has it run
    backend.factory,
  );
  keepFromSpinning(worker, logUntil(cutOff, log, { queue: name }));
  return worker;
}

/** Beside the span that BullMQ makes of an attempt, one that says what the job is about. */
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

/** Lets go of a job at the deadline: the queue holds it as under way, until its lock ends. */
async function unlessCutOff(cutOff: AbortSignal, work: Promise<void>): Promise<void> {
  let letGo = () => {};
  const cut = new Promise<never>((_, reject) => {
    letGo = () => reject(delayed);
    cutOff.addEventListener('abort', letGo);
  });
  await Promise.race([work, cut]).finally(() => cutOff.removeEventListener('abort', letGo));
}

/** After the cut-off, what still runs meets faults only because the process lets go of its storage: they are not logged. */
function logUntil(cutOff: AbortSignal, log: Logger, bindings: Bindings = {}): Logger {
  const child = log.child(bindings);
  cutOff.addEventListener('abort', () => {
    child.level = 'silent';
  });
  return child;
}

/**
 * A sweep's job never ends: it is put off to the next sweep. Not a job scheduler of BullMQ's, which would be a
 * second mechanism beside the jobs that put themselves off, with its own way to be lost.
 */
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

/** The first process of an installation gives the sweeps their jobs; where the queue is away, the reconciler does. */
async function beginSweeps({ reconcile: deps, log }: WorkerDeps, clock: ClockGuard): Promise<void> {
  if (!(await clock.isRight())) return;
  await ensureSweeps(deps).catch((err: unknown) => log.warn({ err }, 'sweeps begin later'));
}

/** A job that this process has, with what ends its attempt. */
type Taken = Pick<WorkerDeps, 'takePriority'> & {
  readonly worker: AnyWorker;
  readonly job: Job;
  readonly token: string | undefined;
};

/** Says how an attempt ended in BullMQ's words, and in the job's log. A job that is done leaves with its log. */
async function settle(
  { worker, job, token, takePriority }: Taken,
  { result, store }: Attempt,
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
      if (result.owner !== undefined) {
        const priority = await takePriority(result.owner, result.at);
        if (isWorthChanging(job.priority, priority)) await job.changePriority({ priority });
      }
      await Promise.all([
        note(`${result.note}; again at ${result.at.toISOString()}`),
        job.moveToDelayed(result.at.getTime(), token),
      ]);
      throw delayed;
    }
  }
}

/**
 * A timer and not a job: it has to run when the queue has lost everything. Not before the sweeps have `begun`, or the
 * first start of an installation would count them as lost.
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
  return startTimer('relay of deliveries', RELAY_EVERY_MS, turn, log);
}

/** What still runs at the deadline is left to run elsewhere: its lock ends, and it may run twice. */
async function within(deadlineMs: number, work: Promise<unknown>): Promise<void> {
  const deadline = new Promise<void>((resolve) => {
    setTimeout(resolve, deadlineMs).unref();
  });
  await Promise.race([work, deadline]);
}
