/** Waits for what a process outside of this one does, which no event tells. */

const POLL_EVERY_MS = 100;

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Looks until `found` answers something, and gives it back; rejects with `what` after `deadlineMs`. */
export async function until<T>(
  what: string,
  found: () => Promise<T | null | undefined | false>,
  deadlineMs: number,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const value = await found();
    if (value) return value;
    if (performance.now() > deadline) {
      throw new Error(`waited ${Math.round(deadlineMs / 1_000)} s in vain: ${what}`);
    }
    await sleep(POLL_EVERY_MS);
  }
}
