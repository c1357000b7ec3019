/** Waits between polls, short at first because most answers are ready within a second. */
import { setTimeout as delay } from 'node:timers/promises';
import { certificateFault } from '../fault.ts';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/**
 * Retry-After is ignored for this many polls (50 + 100 + 200 + 400 ms): servers send a flat 3 or 5
 * s while a customer waits, and RFC 8555, 7.5.1 allows early polls.
 */
const EAGER_POLLS = 4;

/** Waits between the polls of one resource. */
export type Pacer = {
  /**
   * Resolves when the next poll is due; rejects with `order_still_open` at once if that is after
   * the deadline.
   */
  readonly wait: (retryAfter: Date | null) => Promise<void>;
};

/** Each polled resource needs its own pacer. */
export function createPacer(deadline: Date, now: () => Date): Pacer {
  let polls = 0;
  return {
    async wait(retryAfter) {
      const at = now().getTime();
      const waitMs = nextPollMs(polls++, retryAfter === null ? 0 : retryAfter.getTime() - at);
      if (at + waitMs > deadline.getTime()) {
        const message = 'the authority has not finished the order yet';
        throw certificateFault('order_still_open', message, { retryAfter });
      }
      await delay(waitMs);
    },
  };
}

/**
 * Returns the wait in ms before poll number `polls` (from 0). `askedMs`: from Retry-After, or 0.
 */
export function nextPollMs(polls: number, askedMs: number): number {
  const backOffMs = Math.min(FIRST_WAIT_MS * 2 ** polls, LONGEST_WAIT_MS);
  return polls < EAGER_POLLS ? backOffMs : Math.max(backOffMs, askedMs);
}

/** A token bucket rate limit. */
export type PaceRules = {
  /** Time until one more call is allowed. */
  readonly gapMs: number;
  /** Burst size. */
  readonly atOnce: number;
};

/**
 * Returns a function that resolves when the caller can proceed, in the order of the calls. `clock`:
 * monotonic milliseconds; it and `pause` are for tests.
 */
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
