/**
 * Repairs what the queue has lost: the database is the truth, the queue only the alarm clock. On a timer in every worker
 * process, not in the queue, because it is the queue that it repairs; a turn in the database lets one process do it.
 * Jobs that are overdue are looked up one by one; where a queue holds more or fewer jobs than rows wait, and every third
 * turn whatever it holds, the two are compared (workers/repair/compare-queue.ts). What seems wrong is checked once more,
 * some seconds later, before it is repaired. A job that is set aside stays so until its time.
 */

import { domainQueues, type QueueName, sweepQueues } from '../src/core/operations/jobs.ts';
import { type RepairKind, repairKinds, type WaitingQueue } from '../src/db/domains/waiting.ts';
import type { Ensured } from '../src/queue/queues.ts';
import { pruneAudit } from './prune-audit.ts';
import {
  compare,
  confirm,
  type ReconcileDeps,
  type Suspects,
  unsuspicious,
} from './repair/compare-queue.ts';

/** How many of each kind were repaired. All 0 while nothing goes wrong, however late a busy queue is. */
export type Reconciled = { readonly [K in RepairKind]: number };

/** How often one of the worker processes reconciles, in ms. */
export const RECONCILE_EVERY_MS = 20_000;
/** A job may be this late (a busy queue, a worker's stalled job) before it counts as lost. */
const GRACE_MS = 20_000;
/** The same in a laboratory, whose turns come quickly. A busy machine is late there, too. */
const GRACE_MS_MIN = 5_000;
/** How many overdue jobs are read at a time; the next turn takes more. */
const PAGE = 1_000;
/**
 * The second check comes a quarter of a turn after the first, as a rule 5 s, within which whatever was under way has
 * been saved.
 */
const CONFIRM_SHARE = 4;
const CONFIRM_MS_MIN = 1_000;
/** Once a minute: equal counts may hide a missing job beside an orphan. */
const COMPARE_EVERY_TURNS = 3;
/** Counts of a busy queue and of its rows are seldom of one moment, so a difference counts only after this many counts. */
const COUNTS = 3;
const COUNT_PAUSE_MS = 200;
/** A note of quarantine that nobody asked about for so long is dropped. Our choice. */
const FORGET_AFTER_MS = 30 * 24 * 3_600_000;

const waitingQueues: readonly WaitingQueue[] = [...domainQueues, 'deliver-webhook'];

/**
 * Makes one turn and returns what was repaired; null where it is another process's turn. Once `stop` is aborted it
 * begins nothing more, ends a pause, and returns what it has repaired until then; the next turn does the rest. Rejects
 * where the queue or the database is away.
 */
export async function reconcile(
  deps: ReconcileDeps,
  everyMs: number,
  stop = new AbortController().signal,
): Promise<Reconciled | null> {
  if (stop.aborted) return null;
  // A tenth of slack, so that a timer that fires a moment early does not lose its turn.
  if (!(await deps.waiting.takeTurn('reconcile', everyMs * 0.9))) return null;
  // A third of a turn of slack: the turns do not come by this clock.
  const all = await deps.waiting.takeTurn('compare', everyMs * (COMPARE_EVERY_TURNS - 0.3));
  if (stop.aborted) return null;
  const done = { missing_job: 0, overdue_job: 0, orphaned_job: 0, missing_sweep: 0 };
  const sweeps = await ensureSweeps(deps);
  done.missing_sweep = sweeps.added;
  done.overdue_job = sweeps.woken;
  const suspected = new Map<WaitingQueue, Suspects>();
  for (const queue of waitingQueues) {
    if (stop.aborted) break;
    const suspects = await suspectsIn(deps, queue, { all, everyMs, stop });
    if (suspects.missing.length + suspects.orphaned.length > 0) suspected.set(queue, suspects);
  }
  if (suspected.size > 0) {
    await pause(deps, Math.max(CONFIRM_MS_MIN, everyMs / CONFIRM_SHARE), stop);
  }
  for (const [queue, suspects] of suspected) {
    const { added, woken, removed } = await confirm(deps, queue, suspects, stop);
    done.missing_job += added;
    done.overdue_job += woken;
    done.orphaned_job += removed;
  }
  for (const kind of repairKinds) await deps.repairs.count(kind, done[kind]);
  if (!stop.aborted) await dropWhatIsOver(deps);
  await pruneAudit(deps, stop);
  return done;
}

/** Rows that nobody asks about any more. */
async function dropWhatIsOver({ quarantine, sessions, now }: ReconcileDeps): Promise<void> {
  await quarantine.dropBefore(new Date(now().getTime() - FORGET_AFTER_MS));
  await sessions.dropExpired(now());
}

/** Whether a turn found anything to repair. */
export function repairedAny(done: Reconciled): boolean {
  return repairKinds.some((kind) => done[kind] > 0);
}

/**
 * Makes sure that each sweep has its job, due within its interval, and returns how many were added or woken. May be
 * called at any time.
 */
export async function ensureSweeps({
  queues,
  now,
  sweepEveryMs,
}: Pick<ReconcileDeps, 'queues' | 'now' | 'sweepEveryMs'>): Promise<Ensured> {
  let [added, woken] = [0, 0];
  for (const name of sweepQueues) {
    const runAt = new Date(now().getTime() + sweepEveryMs[name]);
    const ensured = await queues.ensure(name, [{ job: {}, runAt }]);
    added += ensured.added;
    woken += ensured.woken;
  }
  return { added, woken };
}

type Turn = { readonly all: boolean; readonly everyMs: number; readonly stop: AbortSignal };

async function suspectsIn(
  deps: ReconcileDeps,
  queue: WaitingQueue,
  { all, everyMs, stop }: Turn,
): Promise<Suspects> {
  const now = deps.now();
  const graceMs = Math.max(GRACE_MS_MIN, Math.min(GRACE_MS, everyMs));
  const dueBefore = new Date(now.getTime() - graceMs);
  const overdue = await deps.waiting.overdue(queue, dueBefore, now, PAGE);
  const lost = await deps.queues.astray(queue, overdue);
  const balanced = !all && lost.length === 0 && (await isBalanced(deps, queue, stop));
  const suspects = balanced ? unsuspicious : await compare(deps, queue, stop);
  const keys = new Set(overdue.filter((job) => lost.includes(job)).map(({ key }) => key));
  const missing = [...keys, ...suspects.missing.filter((key) => !keys.has(key))];
  return { missing, orphaned: suspects.orphaned };
}

async function isBalanced(
  deps: ReconcileDeps,
  queue: WaitingQueue,
  stop: AbortSignal,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const alive = await jobsAlive(deps, queue);
    if (alive === (await deps.waiting.count(queue, deps.now()))) return true;
    if (attempt === COUNTS || stop.aborted) return false;
    await pause(deps, COUNT_PAUSE_MS, stop);
  }
}

async function jobsAlive({ queues }: ReconcileDeps, queue: QueueName): Promise<number> {
  const { waiting, delayed, active, prioritized } = await queues.counts(queue);
  return waiting + delayed + active + prioritized;
}

/** A process that stops does not sit its pauses out. */
async function pause({ pause: wait }: ReconcileDeps, ms: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return;
  const over = new AbortController(); // or each pause would leave a listener behind
  const stopped = new Promise<void>((resolve) => {
    stop.addEventListener('abort', () => resolve(), { signal: over.signal });
  });
  await Promise.race([wait(ms), stopped]).finally(() => over.abort());
}
