/** Polls for effects in other processes, which emit no event. */

const POLL_EVERY_MS = 100;

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Polls until `found` returns a value and returns it; rejects with `what` after `deadlineMs`. */
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
