/** Looks at settled domains and renewals, by the real sweeps; one that would find nothing to do is left out. */
import { type SweepQueue, sweepQueues } from '../../src/core/operations/jobs.ts';
import { expectChecksSaved, expectOfRenewalCases } from './expect-of-run.ts';
import type { History, SweepTimes } from './history.ts';
import { witnessed } from './witness.ts';

type Workers = History['lane']['workers'];
type Due = { readonly name: SweepQueue; readonly at: number };

/** Which sweep next has something to do, and when. Never while it has no job. */
export async function sweepDueAt(history: History): Promise<Due> {
  history.sweepTimes ??= await readTimes(history);
  const times = history.sweepTimes;
  return sweepQueues
    .map((name): Due => {
      const job = history.lane.alarms.nextAt(name);
      return { name, at: job === undefined ? Infinity : Math.max(job, dueOf(times, name)) };
    })
    .reduce((one, other) => (other.at < one.at ? other : one));
}

/** The cases of certificates that are not renewed are a part of the renewals' job. */
function dueOf(times: SweepTimes, name: SweepQueue): number {
  return name === 'recheck-live'
    ? times[name]
    : Math.min(times['renew-certificate'], times['escalate-renewals']);
}

async function readTimes({ lane, model }: History): Promise<SweepTimes> {
  const settled = model.entries.some(
    ({ attached, status }) => attached && status !== 'pending' && status !== 'verified',
  );
  const { rows } = settled
    ? await lane.parts.database.pool.query<Record<keyof SweepTimes, Date | null>>(sweepsDue)
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

/** One sweep, by whatever worker has its job. */
export async function sweep(history: History, name: SweepQueue): Promise<void> {
  const { lane } = history;
  const { workers, alarms } = lane;
  const alarm = alarms.takeSweep(name);
  if (alarm === undefined) return;
  const survived =
    name === 'recheck-live' ? await rechecks(history, workers) : await renewals(history, workers);
  if (survived !== true) {
    history.lostAt = lane.now();
    alarms.settle(alarm, survived);
    return;
  }
  const at = new Date(lane.now() + workers.sweepEveryMs[name]);
  alarms.settle(alarm, { kind: 'again', at, note: 'swept' });
}

type Survived = true | 'killed' | 'fault';

async function rechecks(history: History, { recheckLive }: Workers): Promise<Survived> {
  history.sweepTimes = null;
  const run = () => recheckLive(neverStopped);
  const { result, witness } = await witnessed(history, 'recheck-live', null, run);
  if (result === 'killed' || result === 'fault') return result;
  expectChecksSaved(history, witness);
  return true;
}

/** Where cases are due, a kill is for the part that opens them. */
async function renewals(history: History, workers: Workers): Promise<Survived> {
  const { killAfter, lane } = history;
  const casesDue = (history.sweepTimes?.['escalate-renewals'] ?? Infinity) <= lane.now();
  if (casesDue) history.killAfter = null;
  history.sweepTimes = null;
  const renew = () => workers.renewCertificate(neverStopped);
  const { result, witness } = await witnessed(history, 'renew-certificate', null, renew);
  if (result === 'killed' || result === 'fault') return result;
  expectChecksSaved(history, witness);
  if (!casesDue) return true;
  history.killAfter = killAfter;
  const escalate = () => workers.escalateRenewals(neverStopped);
  const ended = await witnessed(history, 'escalate-renewals', null, escalate);
  expectOfRenewalCases(history, ended);
  return ended.result === 'killed' || ended.result === 'fault' ? ended.result : true;
}
