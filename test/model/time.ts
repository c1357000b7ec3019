/** Time passes with or without workers. */

import { reconcile, repairedAny } from '../../workers/reconcile.ts';
import { SECOND } from './entry.ts';
import { type History, REPAIRED_WITHIN_MS } from './history.ts';
import { work } from './runs.ts';
import { sweep, sweepDueAt } from './sweeps.ts';

/**
 * Time passes with workers: at most `runsMax` due jobs run. The rest of the time passes without
 * workers, who then do what is due.
 */
export async function pass(history: History, ms: number, runsMax: number): Promise<void> {
  const { system } = history;
  const until = system.now() + ms;
  if (!(await workUntil(history, until, runsMax))) {
    system.setTime(Math.max(until, system.now()));
    if (!(await workUntil(history, until, 40))) throw new Error('what is due never ends');
  }
  system.setTime(Math.max(until, system.now()));
}

/** False if more than `runsMax` jobs were due. */
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

/** The reconciler's last run within a minute of a loss; earlier ones would find no more. */
function nextTurn({ lostAt }: History): number {
  return lostAt === null ? Infinity : lostAt + REPAIRED_WITHIN_MS;
}

/** A run of the reconciler. It only acts after a loss. */
export async function repair(history: History): Promise<void> {
  const { system, lostAt, log } = history;
  // It may restore a sweep's job.
  history.sweepTimes = null;
  history.hasRun = true;
  await system.passTime();
  const done = await reconcile(system.service, system.times);
  if (lostAt !== null && system.now() >= lostAt + REPAIRED_WITHIN_MS) {
    history.lostAt = null;
    // A restored sweep runs an interval later, as usual.
    history.calmAt = system.now() + system.times.sweepEveryMs['recheck-live'] + SECOND;
  }
  const at = new Date(system.now()).toISOString();
  if (done === null) return;
  log.push(`${at} reconcile: ${JSON.stringify(done)}`);
  if (repairedAny(done) && lostAt === null) {
    throw new Error(`the reconciler repaired ${JSON.stringify(done)} although nothing was lost`);
  }
}
