/** What ends a part of the process, within so many milliseconds. */
export type Closing = (deadlineMs: number) => Promise<void>;

/** In the opposite order, all within one deadline. */
export async function closeAll(closings: readonly Closing[], deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  for (const closing of closings.toReversed()) await closing(Math.max(0, end - Date.now()));
}
