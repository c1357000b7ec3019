/** Time that passes, with workers at work and without. */

import { RECONCILE_EVERY_MS, reconcile, repairedAny } from '../../workers/reconcile.ts';
import { SECOND } from './entry.ts';
import { type History, REPAIRED_WITHIN_MS } from './history.ts';
import { work } from './runs.ts';
import { sweep, sweepDueAt } from './sweeps.ts';

/**
 * Time passes with workers at work: from one thing that is due to the next, at most `runsMax` of them. What is left of the
 * time passes without workers, who then do what has become due.
 */
export async function pass(history: History, ms: number, runsMax: number): Promise<void> {
  const { system } = history;
  const until = system.now() + ms;
  if (!(await workUntil(history, until, runsMax))) {
    system.setTime(until);
    if (!(await workUntil(history, until, 40))) throw new Error('what is due never ends');
  }
  system.setTime(until);
}

/** False where there was more to do than `runsMax`. */
async function workUntil(history: History, until: number, runsMax: number): Promise<boolean> {
  const { system } = history;
  for (let runs = 0; runs < runsMax; runs += 1) {
    const job = system.alarms.nextAt() ?? Infinity;
    const swept = await sweepDueAt(history);
    const repaired = nextTurn(history);
    const at = Math.min(job, swept.at, repaired);
    if (at > until) return true;
    system.setTime(Math.max(at, system.now()));
    if (at === repaired) await repair(history);
    else if (at === swept.at) await sweep(history, swept.name);
    else await workNext(history);
  }
  return false;
}

async function workNext(history: History): Promise<void> {
  const alarm = history.system.alarms.take(history.system.now());
  if (alarm !== undefined) await work(history, alarm);
}

/** Of the reconciler: the last one within a minute of a loss; those before would find nothing that it does not. */
function nextTurn({ lostAt }: History): number {
  return lostAt === null ? Infinity : lostAt + REPAIRED_WITHIN_MS;
}

/** A turn of the reconciler. It has nothing to do unless something was lost. */
export async function repair(history: History): Promise<void> {
  const { system, lostAt, log } = history;
  // It may give a sweep its job again.
  history.sweepTimes = null;
  history.hasRun = true;
  await system.passTime();
  const done = await reconcile(system.workers.reconcile, RECONCILE_EVERY_MS);
  if (lostAt !== null && system.now() >= lostAt + REPAIRED_WITHIN_MS) {
    history.lostAt = null;
    // A sweep that it gives its job again comes an interval later, as it always does.
    history.calmAt = system.now() + system.workers.sweepEveryMs['recheck-live'] + SECOND;
  }
  const at = new Date(system.now()).toISOString();
  if (done === null) return;
  log.push(`${at} reconcile: ${JSON.stringify(done)}`);
  if (repairedAny(done) && lostAt === null) {
    throw new Error(`the reconciler repaired ${JSON.stringify(done)} although nothing was lost`);
  }
}
