/** A run of a worker's function, as the world around it sees it. */
import type { JobResult } from '../../workers/running/job.ts';
import type { History, Witness } from './history.ts';
import { live, newRun } from './mortal.ts';

export type Ended<T = JobResult> = {
  readonly result: T | 'killed' | 'fault';
  readonly witness: Witness;
};

/** Runs what a worker runs, killed where the history says so. A fault is one only where something happened meanwhile. */
export async function witnessed<T>(
  history: History,
  what: string,
  meanwhile: (() => Promise<void>) | null,
  act: () => Promise<T>,
): Promise<Ended<T>> {
  const witness: Witness = {
    of: what,
    fences: new Map(),
    checks: [],
    orders: new Map(),
    disturbed: false,
    meanwhile:
      meanwhile &&
      (async () => {
        witness.disturbed = true;
        await meanwhile();
      }),
  };
  const run = newRun(history.killAfter);
  history.killAfter = null;
  history.hasRun = true;
  try {
    const result = await history.witnesses.run(witness, () => live(run, act));
    const faults = history.lane.takeFaults();
    if (faults.length > 0 && !witness.disturbed) throw new Error(faults.join());
    history.log.push(`${new Date(history.lane.now()).toISOString()} ${what}: ${inWords(result)}`);
    return { result, witness };
  } catch (fault) {
    if (!witness.disturbed) throw new Error(`${what} met a fault`, { cause: fault });
    history.log.push(`${what} met a fault: ${String(fault)}`);
    return { result: 'fault', witness };
  }
}

function inWords(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result);
}
