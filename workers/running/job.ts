/** What a job's function answers; workers/start.ts turns it into BullMQ's words. */

export type JobResult =
  | { readonly kind: 'done' }
  /** The same job again at that time: waiting for a customer is never a failed job. */
  | { readonly kind: 'again'; readonly at: Date; readonly note: string }
  /** Over for good, with the reason. */
  | { readonly kind: 'over'; readonly reason: string };

export const done: JobResult = { kind: 'done' };

/** Somebody else saved first: look afresh in a moment, so that exactly one history is written. */
export function afresh(now: Date): JobResult {
  return {
    kind: 'again',
    at: new Date(now.getTime() + 1_000),
    note: 'saved by another; looking afresh',
  };
}
