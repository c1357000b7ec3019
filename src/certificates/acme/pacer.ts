/** Short at first because most answers are ready within a second. */
import { setTimeout as delay } from 'node:timers/promises';
import { certificateFault } from '../fault.ts';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** RFC 8555, 7.5.1 allows early polls. Servers send a flat 3 or 5 s while a customer waits. */
const EAGER_POLLS = 4;

export type Pacer = {
  /** Rejects with `order_still_open` at once if the next poll is after the deadline. */
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

/** In ms, before poll number `polls` (from 0). `askedMs`: from Retry-After, or 0. */
export function nextPollMs(polls: number, askedMs: number): number {
  const backOffMs = Math.min(FIRST_WAIT_MS * 2 ** polls, LONGEST_WAIT_MS);
  return polls < EAGER_POLLS ? backOffMs : Math.max(backOffMs, askedMs);
}
