/** Rate limit per DNS operator over all of its servers: one token bucket each. */
import { LRUCache } from 'lru-cache';

/** `perSecond` in the long run; `burst` at once after a pause. */
export type Rate = { readonly perSecond: number; readonly burst: number };

/** One bucket per operator, by any key that identifies it. */
export type OperatorRates = {
  /**
   * True if one more query can be sent, in call order; false at the deadline (on the clock of
   * performance.now()). Returns a promise only if it has to wait.
   */
  readonly take: (operator: string, deadline: number) => boolean | Promise<boolean>;
};

/** `tokens` at time `at`; `timer` runs while callers wait. */
type Bucket = {
  tokens: number;
  at: number;
  readonly line: Line;
  timer: NodeJS.Timeout | undefined;
};

/** Unused buckets are full, so dropping one has no effect. */
const BUCKETS_MAX = 10_000;

/** `now` in milliseconds on a monotonic clock. Buckets start full. */
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

/** A FIFO queue of waiting callers. */
export type Line = {
  /**
   * Resolves with true when it is the caller's turn, or false at the deadline (on the clock of
   * performance.now()).
   */
  readonly join: (deadline: number) => Promise<boolean>;
  /** Releases the first waiting caller. False: none is waiting. */
  readonly next: () => boolean;
  readonly isEmpty: () => boolean;
};

type Place = {
  readonly settle: (turn: boolean) => void;
  timer: NodeJS.Timeout | undefined;
  gone: boolean;
};

/** The maximum delay of a Node.js timer; longer ones fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** Number of abandoned entries before the list is compacted. */
const TIDY = 64;

/** Each operation takes constant time. Only waiting callers have a timer. */
export function createLine(): Line {
  let places: Place[] = [];
  let head = 0;
  let waiting = 0;

  function leave(place: Place, turn: boolean): void {
    clearTimeout(place.timer);
    place.gone = true;
    waiting--;
    if (waiting === 0) {
      places = [];
      head = 0;
    }
    place.settle(turn);
  }

  function tidy(): void {
    if (head < TIDY || head * 2 < places.length) return;
    places = places.slice(head);
    head = 0;
  }

  function next(): boolean {
    while (head < places.length) {
      const place = places[head++];
      if (place === undefined || place.gone) continue;
      tidy();
      leave(place, true);
      return true;
    }
    return false;
  }

  return {
    join: (deadline) =>
      new Promise((settle) => {
        const place: Place = { settle, timer: undefined, gone: false };
        const leftMs = Math.min(deadline - performance.now(), TIMER_MS_MAX);
        place.timer = setTimeout(() => leave(place, false), leftMs);
        places.push(place);
        waiting++;
      }),
    next,
    isEmpty: () => waiting === 0,
  };
}
