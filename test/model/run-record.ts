/** A run of a worker's function, from the outside. */
import type { JobResult } from '../../workers/running/job.ts';
import { live, newRun } from './crash-injector.ts';
import type { History, RunRecord } from './history.ts';

export type Ended<T = JobResult> = {
  readonly result: T | 'killed' | 'fault';
  readonly runRecord: RunRecord;
};

/** An order takes time: two orders of a domain never end in the same millisecond. */
const ORDER_MS = 1;

/** Runs a worker's function, killed if the history says so. Faults need a concurrent action. */
export async function recordRun<T>(
  history: History,
  what: string,
  meanwhile: (() => Promise<void>) | null,
  act: () => Promise<T>,
): Promise<Ended<T>> {
  const runRecord: RunRecord = {
    of: what,
    fences: new Map(),
    checks: [],
    orders: new Map(),
    disturbed: false,
    meanwhile:
      meanwhile &&
      (async () => {
        runRecord.disturbed = true;
        await meanwhile();
      }),
  };
  const run = newRun(history.killAfter);
  history.killAfter = null;
  history.hasRun = true;
  try {
    const result = await history.runRecords.run(runRecord, () => live(run, act));
    const faults = history.system.takeFaults();
    if (faults.length > 0 && !runRecord.disturbed) throw new Error(faults.join());
    history.log.push(`${new Date(history.system.now()).toISOString()} ${what}: ${inWords(result)}`);
    return { result, runRecord };
  } catch (fault) {
    const words = `${what} met a fault: ${String(fault)}`;
    if (!runRecord.disturbed) throw new Error(words, { cause: fault });
    history.log.push(words);
    return { result: 'fault', runRecord };
  } finally {
    if (runRecord.orders.size > 0) history.system.setTime(history.system.now() + ORDER_MS);
  }
}

function inWords(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result);
}
