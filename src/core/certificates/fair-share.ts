/** How accounts share what a certificate authority allows all of them together. */

/** An account's place in it. `left`: orders that anybody may still place. `used`: what the account took of late. */
export type Place = {
  readonly left: number;
  readonly used: number;
  /** When what it took counts no more, each order `refillMs` after the one before. */
  readonly fullAt: Date;
  readonly refillMs: number;
  readonly now: Date;
};

/** An account that waits for the others asks again after this time at most: they may be gone by then. Our choice. */
const ASKED_AGAIN_MS = 300_000;

/** How many orders an account may have taken of late while others wait: a quarter of what is left with them, one at least. */
export function shareOf(left: number, used: number): number {
  return Math.max(1, Math.floor((left + used) / 4));
}

/** From when an account may take another order while others wait; `now` where it may at once. */
export function shareAt({ left, used, fullAt, refillMs, now }: Place): Date {
  const share = shareOf(left, used);
  if (used < share) return now;
  const freeAt = fullAt.getTime() - (share - 1) * refillMs;
  return new Date(Math.min(freeAt, now.getTime() + ASKED_AGAIN_MS));
}
