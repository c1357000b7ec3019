import { beforeDeadline } from '../net/deadline.ts';

export type Closing = (deadlineMs: number) => Promise<void>;

/** Added to the deadline for each closing, so that one that hangs cannot block the stop. */
const CLOSE_GRACE_MS = 5_000;

/** In reverse order, within one deadline. Tries all, then rejects with the first error. */
export async function closeAll(closings: readonly Closing[], deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  const faults: unknown[] = [];
  for (const closing of closings.toReversed()) {
    const leftMs = Math.max(0, end - Date.now());
    const closed = closing(leftMs).catch((fault) => faults.push(fault));
    await beforeDeadline(leftMs + CLOSE_GRACE_MS, closed, null);
  }
  if (faults.length > 0) throw faults[0];
}
