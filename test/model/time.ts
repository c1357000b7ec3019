/** Time passes with or without workers. */

import { type SweepQueue, sweepQueues } from '../../src/core/operations/jobs.ts';
import { escalateRenewals } from '../../workers/escalate-renewal.ts';
import { recheckLive } from '../../workers/recheck-live.ts';
import { reconcile, repairedAny } from '../../workers/reconcile.ts';
import { renewCertificate } from '../../workers/renew-certificate.ts';
import { SECOND } from './entry.ts';
import { expectChecksSaved, expectOfRenewalCases } from './expect-of-run.ts';
import { type History, REPAIRED_WITHIN_MS, type SweepTimes } from './history.ts';
import { recordRun } from './run-record.ts';
import { work } from './runs.ts';

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

/* Checks of settled domains and renewals by the real sweeps; idle ones are skipped. */

type Due = { readonly name: SweepQueue; readonly at: number };

/** Which sweep next has work, and when. Never without a job. */
async function sweepDueAt(history: History): Promise<Due> {
  history.sweepTimes ??= await readTimes(history);
  const times = history.sweepTimes;
  return sweepQueues
    .map((name): Due => {
      const job = history.system.alarms.nextAt(name);
      return { name, at: job === undefined ? Infinity : Math.max(job, dueOf(times, name)) };
    })
    .reduce((one, other) => (other.at < one.at ? other : one));
}

/** Escalations of overdue renewals are part of the renewal job. */
function dueOf(times: SweepTimes, name: SweepQueue): number {
  return name === 'recheck-live'
    ? times[name]
    : Math.min(times['renew-certificate'], times['escalate-renewals']);
}

async function readTimes({ system, model }: History): Promise<SweepTimes> {
  const settled = model.entries.some(
    ({ attached, status }) => attached && status !== 'pending' && status !== 'verified',
  );
  const { rows } = settled
    ? await system.service.database.pool.query<Record<keyof SweepTimes, Date | null>>(sweepsDue)
    : { rows: [] };
  const [due] = rows;
  const timeOf = (name: keyof SweepTimes) => due?.[name]?.getTime() ?? Infinity;
  return {
    'recheck-live': timeOf('recheck-live'),
    'renew-certificate': timeOf('renew-certificate'),
    'escalate-renewals': timeOf('escalate-renewals'),
  };
}

const sweepsDue = {
  name: 'sweeps-due',
  text: `
    SELECT min(recheck_at) FILTER (WHERE status IN ('live', 'drifted', 'failed')) AS "recheck-live",
      min(renew_at) FILTER (WHERE status = 'live') AS "renew-certificate",
      min(escalate_at) FILTER (WHERE status IN ('live', 'drifted')) AS "escalate-renewals"
    FROM public.domain WHERE removed_at IS NULL AND status IN ('live', 'drifted', 'failed')`,
};

const neverStopped = new AbortController().signal;

async function sweep(history: History, name: SweepQueue): Promise<void> {
  const { system } = history;
  const { times, alarms } = system;
  const alarm = alarms.takeSweep(name);
  if (alarm === undefined) return;
  const survived = name === 'recheck-live' ? await rechecks(history) : await renewals(history);
  if (survived !== true) {
    history.lostAt = system.now();
    alarms.settle(alarm, survived);
    return;
  }
  const at = new Date(system.now() + times.sweepEveryMs[name]);
  alarms.settle(alarm, { kind: 'again', at, note: 'swept' });
}

type Survived = true | 'killed' | 'fault';

async function rechecks(history: History): Promise<Survived> {
  history.sweepTimes = null;
  const run = () => recheckLive(history.system.service, neverStopped);
  const { result, runRecord } = await recordRun(history, 'recheck-live', null, run);
  if (result === 'killed' || result === 'fault') return result;
  expectChecksSaved(history, runRecord);
  return true;
}

/** With escalations due, a kill hits the part that opens them. */
async function renewals(history: History): Promise<Survived> {
  const { killAfter, system } = history;
  const casesDue = (history.sweepTimes?.['escalate-renewals'] ?? Infinity) <= system.now();
  if (casesDue) history.killAfter = null;
  history.sweepTimes = null;
  const renew = () => renewCertificate(system.service, neverStopped);
  const { result, runRecord } = await recordRun(history, 'renew-certificate', null, renew);
  if (result === 'killed' || result === 'fault') return result;
  expectChecksSaved(history, runRecord);
  if (!casesDue) return true;
  history.killAfter = killAfter;
  const escalate = () => escalateRenewals(system.service, neverStopped);
  const ended = await recordRun(history, 'escalate-renewals', null, escalate);
  expectOfRenewalCases(history, ended);
  return ended.result === 'killed' || ended.result === 'fault' ? ended.result : true;
}
