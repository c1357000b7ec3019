/** A rate limit with bursts (generic cell rate algorithm). */
import { LRUCache } from 'lru-cache';

/** `perSecond` in the long run; `burst` at once after a pause. */
export type TokenRate = { readonly perSecond: number; readonly burst: number };

/** An unused bucket is full, so dropping one has no effect. */
const BUCKETS_MAX = 50_000;
/** Tolerates rounding, so that a burst has its full size. */
const EPSILON_MS = 1e-6;

/** Buckets start full. `now`: monotonic milliseconds. */
export function createTokenBuckets({ perSecond, burst }: TokenRate, now: () => number) {
  const gapMs = 1_000 / perSecond;
  const fullAt = new LRUCache<string, number>({ max: BUCKETS_MAX });

  function next(key: string): { readonly waitMs: number; readonly fullAt: number } {
    const at = now();
    const full = Math.max(fullAt.get(key) ?? at, at) + gapMs;
    const waitMs = full - burst * gapMs - at;
    return { waitMs: waitMs > EPSILON_MS ? waitMs : 0, fullAt: full };
  }

  return {
    /** Returns 0, or the milliseconds until there is a token. */
    take(key: string): number {
      const token = next(key);
      if (token.waitMs === 0) fullAt.set(key, token.fullAt);
      return token.waitMs;
    },
    /** Takes a token, or reserves the next one in the order of calls. Returns the wait in ms. */
    reserve(key: string): number {
      const token = next(key);
      fullAt.set(key, token.fullAt);
      return token.waitMs;
    },
  };
}
