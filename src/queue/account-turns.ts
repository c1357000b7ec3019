/**
 * Accounts take turns: a job's priority is its place in its account's line, so the first job of one
 * account comes before the second of any other. A smaller number runs earlier.
 */
import { LRUCache } from 'lru-cache';
import type { QueueName } from '../core/operations/jobs.ts';
import { SECOND } from '../core/time.ts';
import type { AccountOf } from '../db/accounts.ts';

/** The last place. After a burst, an account lets others go first for at most an hour. */
const PLACES = 3_600;
/**
 * The assumed time per job, longer than a job takes. After a burst, an account lets others go first
 * even when all of its jobs have run.
 */
const STEP_MS = SECOND;
/** The lines unused for longest are forgotten, as if they were empty. */
const LINES_MAX = 10_000;

type OfProject = { readonly projectId?: string | undefined };

export type AccountTurns = {
  /** The priority of each job; 0 without a project. Rejects if the account cannot be read. */
  next(queue: QueueName, jobs: readonly OfProject[]): Promise<readonly number[]>;
};

/** Per process: several processes give out the same places. `now`: monotonic, in milliseconds. */
export function createAccountTurns(
  accountOf: AccountOf,
  now = () => performance.now(),
): AccountTurns {
  const emptyAt = new LRUCache<string, number>({ max: LINES_MAX });
  const place = (line: string) => {
    const at = now();
    const end = Math.max(at, emptyAt.get(line) ?? at) + STEP_MS;
    emptyAt.set(line, Math.min(end, at + PLACES * STEP_MS));
    return Math.min(PLACES, Math.ceil((end - at) / STEP_MS));
  };
  return {
    async next(queue, jobs) {
      const places: number[] = [];
      for (const { projectId } of jobs) {
        places.push(projectId ? place(`${queue} ${await accountOf(projectId)}`) : 0);
      }
      return places;
    },
  };
}

/** Jobs that ran before come after those that never did. Null if this one does already. */
export function laterTurn(priority: number): number | null {
  return priority > PLACES ? null : PLACES + Math.max(1, priority);
}
