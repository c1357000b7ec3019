/** How many questions a second an operator of name servers gets from us, over all of its servers: a token bucket each. */
import { LRUCache } from 'lru-cache';
import { createLine, type Line } from './line.ts';

export type Rate = { readonly perSecond: number; readonly burst: number };

export type OperatorRates = {
  /** True when one more question may be sent, false when it could not be before the deadline; in order. */
  readonly take: (operator: string, deadline: number) => boolean | Promise<boolean>;
};

/** `tokens` at the time `at`; `timer` runs while somebody waits for the next one. */
type Bucket = {
  tokens: number;
  at: number;
  readonly line: Line;
  timer: NodeJS.Timeout | undefined;
};

/** A bucket that has long been unused is full, so one that is forgotten is as good. */
const BUCKETS_MAX = 10_000;

/** `now` in milliseconds. A bucket is full at first. */
export function createOperatorRates({ perSecond, burst }: Rate, now: () => number): OperatorRates {
  const buckets = new LRUCache<string, Bucket>({ max: BUCKETS_MAX });

  function bucketOf(operator: string): Bucket {
    const known = buckets.get(operator);
    if (known !== undefined) return known;
    const bucket = { tokens: burst, at: now(), line: createLine(), timer: undefined };
    buckets.set(operator, bucket);
    return bucket;
  }

  function refill(bucket: Bucket): void {
    const at = now();
    bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) * perSecond) / 1000);
    bucket.at = at;
  }

  function wakeLater(bucket: Bucket): void {
    const waitMs = Math.ceil(((1 - bucket.tokens) * 1000) / perSecond);
    bucket.timer ??= setTimeout(() => serve(bucket), waitMs);
  }

  function stop(bucket: Bucket): void {
    clearTimeout(bucket.timer);
    bucket.timer = undefined;
  }

  function serve(bucket: Bucket): void {
    bucket.timer = undefined;
    refill(bucket);
    while (bucket.tokens >= 1 && bucket.line.next()) bucket.tokens--;
    if (!bucket.line.isEmpty()) wakeLater(bucket);
  }

  async function wait(bucket: Bucket, deadline: number): Promise<boolean> {
    const turn = bucket.line.join(deadline);
    wakeLater(bucket);
    const served = await turn;
    if (bucket.line.isEmpty()) stop(bucket);
    return served;
  }

  return {
    take(operator, deadline) {
      const bucket = bucketOf(operator);
      refill(bucket);
      if (bucket.tokens < 1 || !bucket.line.isEmpty()) return wait(bucket, deadline);
      bucket.tokens--;
      return true;
    },
  };
}
