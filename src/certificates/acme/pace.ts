/** Requests that a server allows only so many of: whoever comes too soon waits (the generic cell rate algorithm). */
import { setTimeout as delay } from 'node:timers/promises';

export type PaceRules = {
  /** From then on one in this time. */
  readonly gapMs: number;
  /** So many without a wait, after a while of none. */
  readonly atOnce: number;
};

/** Resolves when it is the caller's turn. `clock`: milliseconds, never backwards; it and `pause` are for tests. */
export function createPace(
  { gapMs, atOnce }: PaceRules,
  clock: () => number = () => performance.now(),
  pause: (ms: number) => Promise<unknown> = delay,
): () => Promise<void> {
  let fullAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const at = clock();
    fullAt = Math.max(fullAt, at) + gapMs;
    const waitMs = fullAt - atOnce * gapMs - at;
    if (waitMs > 0) await pause(waitMs);
  };
}
