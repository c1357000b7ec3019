/** How many questions a second an operator of name servers gets from us, over all of its servers: a token bucket each. */
import { LRUCache } from 'lru-cache';

/** `perSecond` in the long run, and `burst` at once after a while without any. */
export type Rate = { readonly perSecond: number; readonly burst: number };

/** One bucket for each operator, by any key that stands for it. */
export type OperatorRates = {
  /**
   * True when one more question may be sent, in the order of the calls; false at the deadline, which is on the clock of
   * performance.now(). A promise only where it has to wait.
   */
  readonly take: (operator: string, deadline: number) => boolean | Promise<boolean>;
};

/** `tokens` at the time `at`; `timer` runs while somebody waits for the next one. */
type Bucket = {
  tokens: number;
  at: number;
  readonly line: Line;
  timer: NodeJS.Timeout | undefined;
};

/** A bucket that has long been unused is full, so one that was forgotten is equal to it. */
const BUCKETS_MAX = 10_000;

/** `now` in milliseconds on a steady clock. Every bucket is full at first. */
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

/** Waiting callers, first come, first served. */
export type Line = {
  /** Resolves with true when the turn comes, with false at the deadline (on the clock of performance.now()). */
  readonly join: (deadline: number) => Promise<boolean>;
  /** Lets the first one go that still waits. False: nobody does. */
  readonly next: () => boolean;
  readonly isEmpty: () => boolean;
};

type Place = {
  readonly settle: (turn: boolean) => void;
  timer: NodeJS.Timeout | undefined;
  gone: boolean;
};

/** The longest that a timer of Node can be; longer ones would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** From how many left-behind places on the list is shortened. */
const TIDY = 64;

/** Each step takes the same time however long the line is. Only callers that wait keep a timer, one each. */
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
