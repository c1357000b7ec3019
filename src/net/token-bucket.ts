/** At most so many a second, by key: a token bucket for each, refilled as time goes by. */
import { LRUCache } from 'lru-cache';

/** `burst`: how many may come at once, where none came for a while. */
export type TokenRate = { readonly perSecond: number; readonly burst: number };

type Bucket = { tokens: number; at: number };

/** A bucket that has long been unused is full, so one that is forgotten is as good. */
const BUCKETS_MAX = 50_000;

/** Takes a token of a key's bucket; false where it is empty. `now`: milliseconds of a clock that never goes back. */
export function createTokenBuckets(
  { perSecond, burst }: TokenRate,
  now: () => number,
): (key: string) => boolean {
  const buckets = new LRUCache<string, Bucket>({ max: BUCKETS_MAX });
  return (key) => {
    const at = now();
    const bucket = buckets.get(key) ?? { tokens: burst, at };
    bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) * perSecond) / 1_000);
    bucket.at = at;
    buckets.set(key, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  };
}
