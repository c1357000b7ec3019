/**
 * How long an edge process believes what it has read of a name (docs/decisions/0017). All times are milliseconds of one
 * clock that never goes back.
 */

/** Since when, and up to when, the process is notified of every change. */
export type Subscription = {
  /** When the listening began; null: the process does not listen. */
  readonly since: number | null;
  /** Every change committed from `since` until then has been notified. It stays where it is when the listening ends. */
  readonly completeUntil: number;
  /** The last listening before this one of which `completeUntil` is known. */
  readonly earlier?: { readonly since: number; readonly completeUntil: number };
};

/** No change is notified. */
export const unsubscribed: Subscription = { since: null, completeUntil: Number.NEGATIVE_INFINITY };

/** What is known of an answer that the database once gave. */
export type Remembered = {
  /** When the database was asked for it. */
  readonly readAt: number;
  /** A change of it was notified since. */
  readonly isOutdated: boolean;
};

/** How long an answer counts, in milliseconds. */
export type MemoryTimes = {
  /** How long it counts after the last moment at which it is known to have been right. */
  readonly freshMs: number;
  /** How long it counts at most, however complete the notifications are: a certificate expires without one. */
  readonly rereadMs: number;
  /** How long it may stand in for a look-up that fails while the database is there: one that is busy goes on changing. */
  readonly busyMs: number;
  /** How long it may stand in for a database that is away, so that nobody can change anything there. */
  readonly awayMs: number;
};

/** The times of every edge process; its limits may set another `freshMs` (src/edge/routes/route-memories.ts). */
export const memoryTimes: MemoryTimes = {
  // Together with edgeLimits.routePatienceMs less than the 5 s that a removal may take where its notification is lost.
  freshMs: 3_000,
  rereadMs: 300_000,
  // Our choice: longer than a lock or a burst lasts, and no longer than a customer waits who has removed a domain.
  busyMs: 60_000,
  // Our choice: longer than an outage that people are at work on. An edge that is cut off alone shows no removed domain
  // for longer than that.
  awayMs: 24 * 3_600_000,
};

/**
 * `use` it; `ask`, and use it where no answer comes; ask, and use it where the database is away (`last_resort`);
 * `forget` it.
 */
export type MemoryVerdict = 'use' | 'ask' | 'last_resort' | 'forget';

/**
 * Returns the subscription of a listening that begins again at `now`. Nothing counts as complete yet; what was complete when
 * the one before broke off becomes `earlier`.
 */
export function resubscribe(
  { since, completeUntil, earlier }: Subscription,
  now: number,
): Subscription {
  const subscription =
    since !== null && completeUntil >= since ? { since, completeUntil } : earlier;
  return { ...unsubscribed, since: now, ...(subscription && { earlier: subscription }) };
}

/** Decides what to do with something remembered, by how long ago it is last known to have been right. Pure. */
export function classifyMemory(
  { readAt, isOutdated }: Remembered,
  subscription: Subscription,
  now: number,
  { freshMs, rereadMs, busyMs, awayMs }: MemoryTimes,
): MemoryVerdict {
  const knownUntil = rightUntil(readAt, subscription);
  // An earlier listening vouches for it while nobody answers. Whoever does is asked: it may have changed in between.
  const age = now - Math.max(knownUntil, rightUntil(readAt, subscription.earlier));
  if (age >= awayMs) return 'forget';
  if (age >= busyMs) return 'last_resort';
  return isOutdated || now - readAt >= rereadMs || now - knownUntil >= freshMs ? 'ask' : 'use';
}

/** Read before a listening began, it may have changed in between without a notification. */
function rightUntil(
  readAt: number,
  subscription: Pick<Subscription, 'since' | 'completeUntil'> | undefined,
) {
  const isCovered =
    subscription !== undefined && subscription.since !== null && readAt >= subscription.since;
  return isCovered ? Math.max(readAt, subscription.completeUntil) : readAt;
}
