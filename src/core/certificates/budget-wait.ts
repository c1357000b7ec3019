/**
 * How long an order waits for the rate limits. While others wait, an account or project gets a quarter
 * of the orders that are left, unless all that wait took more recently. Without others, it can take
 * all.
 */
import {
  authorityLimits,
  type Bucket,
  type BudgetWait,
  isShare,
  partsOfKey,
  refillMs,
  type ShareLimit,
  tokenAt,
  tokensMissing,
} from './budget.ts';

/** The other accounts, or the other projects, that wait for an order. */
type Others = {
  /** When the last of them stops waiting. */
  readonly until: Date;
  /** When the share of the one that recently took the least is full again. */
  readonly fullAt: Date;
};

/** By share. Null: no other account or project waits. */
export type OthersWaiting = { readonly [L in ShareLimit]: Others | null };

export const noneWaiting: OthersWaiting = { account_share: null, project_share: null };

/** When each bucket is full again; a missing key means full. */
export type FullAt = ReadonlyMap<string, Date>;

/** The longest wait; null if the order can be opened now. */
export function budgetWait(
  buckets: readonly Bucket[],
  fullAt: FullAt,
  now: Date,
  others: OthersWaiting = noneWaiting,
): BudgetWait | null {
  let last: BudgetWait | null = null;
  for (const bucket of buckets) {
    const { key, limit } = bucket;
    const until = isShare(limit)
      ? turnAt(limit, bucket, { buckets, fullAt, now }, others[limit])
      : tokenAt(limit, fullAt.get(key) ?? now);
    if (until <= (last?.until ?? now)) continue;
    last = { limit, subject: partsOfKey(bucket).subject, until };
  }
  return last;
}

/** Whether `others` can change the result of `budgetWait`. */
export function dependsOnOthers(buckets: readonly Bucket[], fullAt: FullAt, now: Date): boolean {
  return buckets.some((bucket) => {
    const { limit } = bucket;
    return isShare(limit) && shareAt(limit, bucket, { buckets, fullAt, now }) > now;
  });
}

type State = { readonly buckets: readonly Bucket[]; readonly fullAt: FullAt; readonly now: Date };

/** Others can start and stop waiting at any time, so an order checks again after three refills. */
const LONGEST_WAIT_MS = 3 * refillMs('orders');

function turnAt(limit: ShareLimit, bucket: Bucket, state: State, others: Others | null): Date {
  const { fullAt, now } = state;
  if (others === null) return now;
  const own = fullAt.get(bucket.key) ?? now;
  if (own <= now || own <= others.fullAt) return now;
  const at = shareAt(limit, bucket, state);
  const longest = now.getTime() + LONGEST_WAIT_MS;
  return new Date(Math.min(at.getTime(), others.until.getTime(), longest));
}

/** For each order that the owner recently took, three must be left. This limits it to a quarter. */
const LEFT_PER_TAKEN = 3;

/** When the owner's recent orders are below a quarter of these orders and those that are left. */
function shareAt(limit: ShareLimit, { key }: Bucket, { buckets, fullAt, now }: State): Date {
  const ofAll = buckets.find((one) => one.limit === 'orders')?.key ?? '';
  const taken = tokensMissing(limit, fullAt.get(key) ?? now, now);
  const missing = tokensMissing('orders', fullAt.get(ofAll) ?? now, now);
  const over = LEFT_PER_TAKEN * taken - (authorityLimits.orders.tokens - missing);
  if (over < 0) return now;
  const perMs = 1 / refillMs('orders') + LEFT_PER_TAKEN / refillMs(limit);
  return new Date(now.getTime() + Math.floor(over / perMs) + 1);
}
