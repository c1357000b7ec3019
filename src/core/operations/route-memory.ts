/** docs/decisions/0017. All times are milliseconds of one monotonic clock. */
import { DAY, MINUTE } from '../time.ts';

/** When the process is notified of every change. */
export type Subscription = {
  /** Null: the process does not listen. */
  readonly since: number | null;
  /** Every change committed from `since` to here has been notified. */
  readonly completeUntil: number;
  /** The last period before this one whose `completeUntil` is known. */
  readonly earlier?: { readonly since: number; readonly completeUntil: number };
};

export const unsubscribed: Subscription = { since: null, completeUntil: Number.NEGATIVE_INFINITY };

export type Remembered = {
  readonly readAt: number;
  readonly isOutdated: boolean;
};

export type MemoryTimes = {
  /** After the last time at which the answer is known to be correct. */
  readonly freshMs: number;
  /** At most, even with complete notifications: the expiry of a certificate is not notified. */
  readonly rereadMs: number;
  /** If a query fails while the database is up: its data can still change. */
  readonly busyMs: number;
  /** During an outage of the database, when its data cannot change. */
  readonly awayMs: number;
};

/** `freshMs` is `edgeLimits.routeFreshMs`. */
export const memoryTimes: Omit<MemoryTimes, 'freshMs'> = {
  rereadMs: 300_000,
  // Longer than a lock or a burst, shorter than a customer waits after removing a domain.
  busyMs: MINUTE,
  // Longer than a typical outage. Also limits how long an isolated edge serves a removed domain.
  awayMs: DAY,
};

/** `ask` the database, or use the cache if that fails (`last_resort`: only if it is down). */
export type MemoryVerdict = 'use' | 'ask' | 'last_resort' | 'forget';

/** Nothing counts as complete yet; the complete period before becomes `earlier`. */
export function resubscribe(
  { since, completeUntil, earlier }: Subscription,
  now: number,
): Subscription {
  const subscription =
    since !== null && completeUntil >= since ? { since, completeUntil } : earlier;
  return { ...unsubscribed, since: now, ...(subscription && { earlier: subscription }) };
}

/** By the age since the answer was last known to be correct. Pure. */
export function classifyMemory(
  { readAt, isOutdated }: Remembered,
  subscription: Subscription,
  now: number,
  { freshMs, rereadMs, busyMs, awayMs }: MemoryTimes,
): MemoryVerdict {
  const knownUntil = rightUntil(readAt, subscription);
  // An earlier period counts only while the database does not answer: the data can have changed
  // since.
  const age = now - Math.max(knownUntil, rightUntil(readAt, subscription.earlier));
  if (age >= awayMs) return 'forget';
  if (age >= busyMs) return 'last_resort';
  return isOutdated || now - readAt >= rereadMs || now - knownUntil >= freshMs ? 'ask' : 'use';
}

/** An answer from before listening started can have changed without a notification. */
function rightUntil(
  readAt: number,
  subscription: Pick<Subscription, 'since' | 'completeUntil'> | undefined,
) {
  const isCovered =
    subscription !== undefined && subscription.since !== null && readAt >= subscription.since;
  return isCovered ? Math.max(readAt, subscription.completeUntil) : readAt;
}
