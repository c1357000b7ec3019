/**
 * How long an edge process uses a cached route (docs/decisions/0017). All times are milliseconds of
 * one monotonic clock.
 */

/** The period in which the process is notified of every change. */
export type Subscription = {
  /** When listening started; null: the process does not listen. */
  readonly since: number | null;
  /**
   * Every change committed from `since` to here has been notified. Keeps its value when listening
   * ends.
   */
  readonly completeUntil: number;
  /** The last period before this one whose `completeUntil` is known. */
  readonly earlier?: { readonly since: number; readonly completeUntil: number };
};

/** Not listening. */
export const unsubscribed: Subscription = { since: null, completeUntil: Number.NEGATIVE_INFINITY };

/** The state of a cached answer of the database. */
export type Remembered = {
  /** When the database was queried for it. */
  readonly readAt: number;
  /** A change was notified since. */
  readonly isOutdated: boolean;
};

/** How long an answer is used, in milliseconds. */
export type MemoryTimes = {
  /** After the last time at which it is known to be correct. */
  readonly freshMs: number;
  /** At most, even with complete notifications: the expiry of a certificate is not notified. */
  readonly rereadMs: number;
  /** In place of a query that fails while the database is up: its data may still change. */
  readonly busyMs: number;
  /** During an outage of the database, when its data cannot change. */
  readonly awayMs: number;
};

/** For every edge process; `freshMs` can be overridden (src/edge/routes/route-memories.ts). */
export const memoryTimes: MemoryTimes = {
  // Plus edgeLimits.routePatienceMs, less than the 5 s within which a removal takes effect if its
  // notification is lost.
  freshMs: 3_000,
  rereadMs: 300_000,
  // Longer than a lock or a burst, shorter than a customer waits after removing a domain.
  busyMs: 60_000,
  // Longer than a typical outage. Also limits how long an isolated edge serves a removed domain.
  awayMs: 24 * 3_600_000,
};

/**
 * `use` the cached answer; `ask` the database and use the cache if it fails; `last_resort`: the
 * same, but only if the database is down; `forget` it.
 */
export type MemoryVerdict = 'use' | 'ask' | 'last_resort' | 'forget';

/**
 * Returns the subscription when listening restarts at `now`. Nothing counts as complete yet; the
 * complete period before becomes `earlier`.
 */
export function resubscribe(
  { since, completeUntil, earlier }: Subscription,
  now: number,
): Subscription {
  const subscription =
    since !== null && completeUntil >= since ? { since, completeUntil } : earlier;
  return { ...unsubscribed, since: now, ...(subscription && { earlier: subscription }) };
}

/** Decides how to use a cached answer, by its age since it was last known to be correct. Pure. */
export function classifyMemory(
  { readAt, isOutdated }: Remembered,
  subscription: Subscription,
  now: number,
  { freshMs, rereadMs, busyMs, awayMs }: MemoryTimes,
): MemoryVerdict {
  const knownUntil = rightUntil(readAt, subscription);
  // An earlier period counts only while the database does not answer: the data may have changed
  // since.
  const age = now - Math.max(knownUntil, rightUntil(readAt, subscription.earlier));
  if (age >= awayMs) return 'forget';
  if (age >= busyMs) return 'last_resort';
  return isOutdated || now - readAt >= rereadMs || now - knownUntil >= freshMs ? 'ask' : 'use';
}

/** An answer from before listening started may have changed without a notification. */
function rightUntil(
  readAt: number,
  subscription: Pick<Subscription, 'since' | 'completeUntil'> | undefined,
) {
  const isCovered =
    subscription !== undefined && subscription.since !== null && readAt >= subscription.since;
  return isCovered ? Math.max(readAt, subscription.completeUntil) : readAt;
}
