/** Starts the workers: the only file that makes a BullMQ Worker, and the only one that knows its errors. */
import {
  DelayedError,
  type IQueueBackend,
  Job,
  type JobProgress,
  UnrecoverableError,
  Worker,
} from 'bullmq';
import type { Logger } from 'pino';
import type { QueueBackend } from '../src/queue/backend.ts';
import { type DomainJob, type QueueName, queueNames } from '../src/queue/names.ts';
import { type CheckDnsDeps, checkDns } from './check-dns.ts';
import { type EscalateCertificateDeps, escalateCertificate } from './escalate-certificate.ts';
import { keepFromSpinning } from './guard.ts';
import { type IssueCertificateDeps, issueCertificate } from './issue-certificate.ts';
import type { JobResult } from './job.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';

export type WorkerDeps = {
  readonly backend: QueueBackend;
  readonly checkDns: CheckDnsDeps;
  readonly issueCertificate: IssueCertificateDeps;
  readonly escalateCertificate: EscalateCertificateDeps;
  readonly reconcile: ReconcileDeps;
  readonly reconcileEveryMs: number;
  /** How many DNS looks one process has under way. */
  readonly looksAtOnce: number;
  readonly log: Logger;
};

export type RunningWorkers = {
  /** Lets jobs under way finish for at most `deadlineMs`, takes no new ones; what is cut off is run again elsewhere. */
  close(deadlineMs: number): Promise<void>;
};

/** A worker on whichever backend the storage calls for. */
type AnyWorker = Worker<
  StoredData,
  void,
  string,
  IQueueBackend,
  JobProgress,
  Record<string, never>
>;
type StoredData = DomainJob & { readonly faults?: number };
type Run = (job: DomainJob) => Promise<JobResult>;
/** A job with a record of the faults that it has met in a row. */
type StoredJob = Job<StoredData>;

/** An order holds memory and the authority's patience. */
const concurrency = { 'issue-certificate': 10, 'escalate-certificate': 4 } as const;
const KEEP_LOG_LINES = 50;
/** Says nothing but that the job was put back: one for all, because a stack trace for each look costs as much as judging it. */
const delayed = new DelayedError();
const FAULT_WAIT_MS_MAX = 300_000;

/** Starts a worker for each queue and the reconciler's timer. */
export function startWorkers(deps: WorkerDeps): RunningWorkers {
  const runs: { readonly [N in QueueName]: Run } = {
    'check-dns': (job) => checkDns(deps.checkDns, job),
    'issue-certificate': (job) => issueCertificate(deps.issueCertificate, job),
    'escalate-certificate': (job) => escalateCertificate(deps.escalateCertificate, job),
  };
  const workers = queueNames.map((name) => startWorker(deps, name, runs[name]));
  const reconciler = startReconciler(deps);
  return {
    async close(deadlineMs) {
      await reconciler.stop();
      await Promise.all(workers.map((worker) => closeWithin(worker, deadlineMs)));
    },
  };
}

function startWorker(deps: WorkerDeps, name: QueueName, run: Run): AnyWorker {
  const { backend, log, looksAtOnce } = deps;
  const atOnce = { 'check-dns': looksAtOnce, ...concurrency };
  const queueLog = log.child({ queue: name });
  const worker: AnyWorker = new Worker(
    name,
    async (job: StoredJob, token) =>
      settle(worker, job, token, await runGuarded(job, run, queueLog)),
    { ...backend.workerOptions, concurrency: atOnce[name] },
    backend.factory,
  );
  keepFromSpinning(worker, queueLog);
  return worker;
}

/** Says a job's result in BullMQ's words. */
async function settle(
  worker: AnyWorker,
  job: StoredJob,
  token: string | undefined,
  result: JobResult,
): Promise<void> {
  switch (result.kind) {
    case 'done':
      return;
    case 'over':
      throw new UnrecoverableError(result.reason);
    case 'again': {
      const line = `${new Date().toISOString()} ${result.note}; again at ${result.at.toISOString()}`;
      await Promise.all([
        Job.addJobLog(worker, job.id ?? '', line, KEEP_LOG_LINES),
        job.moveToDelayed(result.at.getTime(), token),
      ]);
      throw delayed;
    }
  }
}

/** The one place that catches a job's faults: the job waits a little longer each time, and is never given up. */
async function runGuarded(job: StoredJob, run: Run, log: Logger): Promise<JobResult> {
  const { domainId, epoch, faults: before = 0 } = job.data;
  try {
    const result = await run({ domainId, epoch });
    if (before > 0 && result.kind === 'again') await job.updateData({ domainId, epoch });
    return result;
  } catch (fault) {
    const faults = before + 1;
    const waitMs = Math.min(FAULT_WAIT_MS_MAX, 500 * 2 ** Math.min(faults, 10));
    log.error({ err: fault, domainId, epoch, faults, waitMs }, 'job met a fault');
    await job.updateData({ domainId, epoch, faults });
    return { kind: 'again', at: new Date(Date.now() + waitMs), note: `fault ${faults}` };
  }
}

/** A timer and not a job: it has to run when the queue has lost everything. */
function startReconciler({ reconcile: deps, reconcileEveryMs, log }: WorkerDeps) {
  let turn: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    turn = turn.then(() =>
      reconcile(deps, reconcileEveryMs).then(
        (done) => {
          if (done && done.repaired > 0) log.warn(done, 'reconciler repaired the queue');
        },
        (fault: unknown) => log.error({ err: fault }, 'reconciler met a fault'),
      ),
    );
  }, reconcileEveryMs);
  return {
    async stop() {
      clearInterval(timer);
      await turn;
    },
  };
}

/** What still runs at the deadline is left to run elsewhere: its lock ends, and it may run twice. */
async function closeWithin(worker: AnyWorker, deadlineMs: number): Promise<void> {
  const deadline = new Promise<void>((resolve) => {
    setTimeout(resolve, deadlineMs).unref();
  });
  await Promise.race([worker.close(), deadline]);
}
