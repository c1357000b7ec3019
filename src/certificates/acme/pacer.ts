/** Waits between polls: short at first, because most answers are there within a second. */
import { setTimeout as delay } from 'node:timers/promises';
import { certificateFault } from '../fault.ts';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/**
 * 50 + 100 + 200 + 400 ms pass before Retry-After is honoured (RFC 8555, 7.5.1 leaves the first polls to us):
 * servers send a flat 3 or 5 s, and a customer is waiting.
 */
const EAGER_POLLS = 4;

export type Pacer = {
  /** Resolves when it is time to ask again; throws `order_still_open` where that would be past the deadline. */
  readonly wait: (retryAfter: Date | null) => Promise<void>;
};

/** One pacer per resource that is polled. */
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

/** The wait before poll number `polls` (from 0), where the server asked for `askedMs`. */
export function nextPollMs(polls: number, askedMs: number): number {
  const backOffMs = Math.min(FIRST_WAIT_MS * 2 ** polls, LONGEST_WAIT_MS);
  return polls < EAGER_POLLS ? backOffMs : Math.max(backOffMs, askedMs);
}

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
