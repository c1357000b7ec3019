/** Counts what each account asks of the queues, so that their jobs take turns (src/core/operations/job-priority.ts). */
import { priorityOf, slotOf } from '../core/operations/job-priority.ts';

/** Whose job it is: a project; null where it is the operators'. */
export type JobOwner = string | null;

/**
 * Resolves with BullMQ's priority of a job that is due at `runAt`, and counts it. Never rejects: where the database does not
 * say whose a project is, the project counts by itself.
 */
export type TakePriority = (owner: JobOwner, runAt: Date) => Promise<number>;

const OPERATORS = 'operators';

/**
 * Counts for this process alone: with several, an account's jobs are early by as many doublings as there are of processes.
 * Memory: a number for each account that had a job due in the present slot or a later one.
 */
export function createPriorities(deps: {
  /** Rejects where the database is away. */
  accountOf(projectId: string): Promise<string>;
  now(): Date;
}): TakePriority {
  const slots = new Map<number, Map<string, number>>();
  let present = 0;

  function count(slot: number, account: string): number {
    const counts = slots.get(slot) ?? new Map<string, number>();
    slots.set(slot, counts);
    const nth = (counts.get(account) ?? 0) + 1;
    counts.set(account, nth);
    return nth;
  }

  return async (owner, runAt) => {
    const account = owner === null ? OPERATORS : await deps.accountOf(owner).catch(() => owner);
    const now = slotOf(deps.now());
    if (now !== present) {
      present = now;
      for (const slot of slots.keys()) if (slot < now) slots.delete(slot);
    }
    // What is overdue has waited outside of the queue: it takes its turn among those of now.
    const slot = Math.max(now, slotOf(runAt));
    return priorityOf(slot, count(slot, account));
  };
}

/** Jobs whose priority differs by no more than this keep it: changing one is a command more. */
const TOLERANCE = 1;

/** Whether a job that is put off should get the priority that it would be given now. */
export function isWorthChanging(present: number, wanted: number): boolean {
  return Math.abs(wanted - present) > TOLERANCE;
}
