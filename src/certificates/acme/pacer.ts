/** Waits between polls: short at first, because most answers are there within a second. */
import { setTimeout as delay } from 'node:timers/promises';
import { certificateFault } from '../fault.ts';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/**
 * For so many polls, 50 + 100 + 200 + 400 ms together, Retry-After is not honored (RFC 8555, 7.5.1 leaves the first
 * polls to us): servers send a flat 3 or 5 s, and a customer is waiting.
 */
const EAGER_POLLS = 4;

/** Waits between the polls of one resource. */
export type Pacer = {
  /**
   * Resolves when it is time to ask again; rejects with `order_still_open` at once where that would be after the
   * deadline.
   */
  readonly wait: (retryAfter: Date | null) => Promise<void>;
};

/** Returns a pacer at its first poll; each resource that is polled needs its own. */
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

/** Returns the wait in ms before poll number `polls` (from 0), where the server asked for `askedMs` (0: for none). */
export function nextPollMs(polls: number, askedMs: number): number {
  const backOffMs = Math.min(FIRST_WAIT_MS * 2 ** polls, LONGEST_WAIT_MS);
  return polls < EAGER_POLLS ? backOffMs : Math.max(backOffMs, askedMs);
}

/** A rate: how many calls go through at once, and how far apart the others are. */
export type PaceRules = {
  /** After those, one call goes through in this time. */
  readonly gapMs: number;
  /** So many calls go through without a wait, after a while of none. */
  readonly atOnce: number;
};

/**
 * Returns a function that resolves when it is the caller's turn, in the order of the calls. `clock`: milliseconds, never
 * backwards; it and `pause` are for tests.
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
