/** Shared by all workers. An order takes all its tokens when it is opened, or none. */
import {
  type AuthorityLimit,
  afterGivingBack,
  afterTaking,
  type Bucket,
  type BudgetName,
  type BudgetWait,
  bucketOf,
  bucketsOf,
  isGivenBack,
  isShare,
  type OrderKind,
  type OrderOwner,
  orderKind,
  type PlacedAs,
  partsOfKey,
  type ShareLimit,
  takenAgain,
  takesAtOnce,
} from '../../core/certificates/budget.ts';
import {
  budgetWait,
  dependsOnOthers,
  type FullAt,
  noneWaiting,
  type OthersWaiting,
} from '../../core/certificates/budget-wait.ts';
import type { Certificate } from '../../core/records.ts';
import type { Tx } from '../engine/transaction.ts';
import type { PrismaClient } from '../generated/client.ts';
import { knownRenewal } from './renewals.ts';

type Row = { readonly key: string; readonly fullAt: Date };

/** `directoryUrl`: as in `certificate.authority`. */
export type AuthorityBudget = { readonly directoryUrl: string | null; readonly budget: BudgetName };

/** In order of preference. */
export type AuthorityBudgets = readonly [AuthorityBudget, ...AuthorityBudget[]];

export const localBudget: AuthorityBudgets = [{ directoryUrl: null, budget: 'none' }];

type WantedOrder = OrderOwner & {
  /** The existing certificate. */
  readonly usable: Pick<Certificate, 'authority' | 'renewalInfo'> | null;
};

/** A CA that is no longer configured counts as the first. */
export function orderBuckets(
  budgets: AuthorityBudgets,
  authority: string | null,
  { usable, ...owner }: WantedOrder,
  now: Date,
): readonly Bucket[] {
  const at = budgetAt(budgets, authority);
  const isSame = usable !== null && usable.authority === at.directoryUrl;
  const kind = orderKind(isSame ? knownRenewal(usable.renewalInfo) : null, now);
  return bucketsAt(at, owner, kind);
}

function budgetAt(budgets: AuthorityBudgets, authority: string | null): AuthorityBudget {
  return budgets.find(({ directoryUrl }) => directoryUrl === authority) ?? budgets[0];
}

function bucketsAt({ directoryUrl, budget }: AuthorityBudget, owner: OrderOwner, kind: OrderKind) {
  return bucketsOf({ authority: directoryUrl ?? 'local', budget }, { ...owner, kind });
}

/** For each CA, the limit that delays a new order. Takes no tokens. */
export async function findBudgetWaits(
  prisma: PrismaClient,
  budgets: AuthorityBudgets,
  wanted: WantedOrder,
  now: Date,
): Promise<readonly (BudgetWait | null)[]> {
  const each = budgets.map(({ directoryUrl }) => orderBuckets(budgets, directoryUrl, wanted, now));
  const keys = each.flat().map(({ key }) => key);
  const rows = await prisma.authorityBudget.findMany({ where: { key: { in: keys } } });
  const fullAt = byKey(rows);
  return Promise.all(each.map((buckets) => findWait(prisma, buckets, fullAt, now)));
}

/** Loads the others that wait only if they can change the result. */
async function findWait(
  prisma: Pick<PrismaClient, '$queryRaw'>,
  buckets: readonly Bucket[],
  fullAt: FullAt,
  now: Date,
): Promise<BudgetWait | null> {
  if (!dependsOnOthers(buckets, fullAt, now)) return budgetWait(buckets, fullAt, now);
  return budgetWait(buckets, fullAt, now, await findOthersWaiting(prisma, buckets, now));
}

/**
 * In the transaction that opens the order. If one bucket is empty, takes none and returns the wait.
 * Concurrent callers wait until the transaction ends.
 */
export async function takeTokens(
  tx: Tx,
  buckets: readonly Bucket[],
  now: Date,
): Promise<BudgetWait | null> {
  const fullAt = await lock(tx, buckets, now);
  const wait = await findWait(tx, buckets, fullAt, now);
  if (wait !== null) return wait;
  const taken = buckets.filter(takesAtOnce).map(({ key, limit }) => {
    return { key, fullAt: afterTaking(limit, fullAt.get(key) ?? now, now) };
  });
  await keep(tx, taken);
  return null;
}

type Placed = { readonly id: string; readonly kind: PlacedAs; readonly now: Date };

/**
 * Call it right before placing an order. Takes tokens again if the order was opened more than a
 * minute ago, or is placed as a different kind. Rejects if the order has ended.
 */
export async function countPlaced(
  tx: Tx,
  budgets: AuthorityBudgets,
  { id, kind, now }: Placed,
): Promise<BudgetWait | null> {
  const { domainId } = await tx.certificate.findUniqueOrThrow({ where: { id } });
  await tx.$queryRaw`SELECT 1 FROM domain WHERE id = ${domainId}::uuid FOR UPDATE`;
  const order = await tx.certificate.findFirst({
    where: { id, status: 'ordering', orderUrl: null },
    include: { domain: { include: { project: true } } },
  });
  if (order === null) throw new Error('the order was placed by another run, or has ended');
  if (kind === 'plain') return countAsRenewal(tx, budgets, order, now);
  const buckets = takenAgain(order, now);
  return buckets.length === 0 ? null : takeTokens(tx, buckets, now);
}

type PlainOrder = Certificate & {
  readonly domain: { readonly projectId: string; readonly project: { readonly accountId: string } };
};

async function countAsRenewal(
  tx: Tx,
  budgets: AuthorityBudgets,
  { id, authority, hostname, buckets: keys, domain }: PlainOrder,
  now: Date,
): Promise<BudgetWait | null> {
  const { projectId, project } = domain;
  const owner = { hostname, projectId, accountId: project.accountId };
  const all = bucketsAt(budgetAt(budgets, authority), owner, 'renewal');
  const missing = all.filter(({ key }) => !keys.includes(key));
  if (missing.length === 0) return null;
  const wait = await takeTokens(tx, missing, now);
  if (wait !== null) return wait;
  const buckets = [...keys, ...missing.map(({ key }) => key)];
  await tx.certificate.update({ where: { id }, data: { buckets } });
  return null;
}

type CountedOrder = { readonly buckets: readonly string[]; readonly createdAt: Date };

/** `mayBeIssued`: the certificate can exist nevertheless, so its tokens are not returned. */
export async function countRefusal(
  tx: Tx,
  order: CountedOrder,
  { now, mayBeIssued }: { readonly now: Date; readonly mayBeIssued: boolean },
): Promise<void> {
  await change(tx, order, now, (one) => !takesAtOnce(one) || (isGivenBack(one) && !mayBeIssued));
}

/** For an order that ends without an answer, in the transaction that ends it. */
export async function giveBack(tx: Tx, order: CountedOrder, now: Date): Promise<void> {
  await change(tx, order, now, isGivenBack);
}

async function change(
  tx: Tx,
  { buckets: keys, createdAt }: CountedOrder,
  now: Date,
  which: (bucket: Bucket) => boolean,
): Promise<void> {
  const changed = keys.flatMap((key) => bucketOf(key) ?? []).filter(which);
  const fullAt = await lock(tx, changed, now);
  const rows = changed.map((bucket) => {
    const { key, limit } = bucket;
    const before = fullAt.get(key) ?? now;
    const after = takesAtOnce(bucket)
      ? afterGivingBack(limit, before, { takenAt: createdAt, now })
      : afterTaking(limit, before, now);
    return { key, fullAt: after };
  });
  await keep(tx, rows);
}

/** A missing row means a full bucket. Skips locked rows. */
export async function dropFullBuckets(prisma: PrismaClient, now: Date): Promise<void> {
  await prisma.$executeRaw`
    DELETE FROM authority_budget WHERE key IN (
      SELECT key FROM authority_budget WHERE full_at < ${now}::timestamptz FOR UPDATE SKIP LOCKED)`;
}

/** For callers that write buckets in several steps. */
export async function lockBuckets(tx: Tx, keys: readonly string[], now: Date): Promise<void> {
  const buckets = [...new Set(keys)].flatMap((key) => bucketOf(key) ?? []);
  await lock(tx, buckets, now);
}

/**
 * In the order of keys, to avoid deadlocks; lock the domain before. Creates missing buckets as
 * full, since a missing row cannot be locked.
 */
async function lock(tx: Tx, buckets: readonly Bucket[], now: Date) {
  if (buckets.length === 0) return new Map<string, Date>();
  const keys = buckets.map(({ key }) => key);
  const rows = await tx.$queryRaw<Row[]>`
    INSERT INTO authority_budget AS b (key, full_at)
    SELECT key, ${now}::timestamptz FROM unnest(${keys}::text[]) AS key ORDER BY key COLLATE "C"
    ON CONFLICT (key) DO UPDATE SET full_at = b.full_at
    RETURNING key, full_at AS "fullAt"`;
  return byKey(rows);
}

/** The rows must be locked. */
async function keep(tx: Tx, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const keys = rows.map(({ key }) => key);
  const times = rows.map(({ fullAt }) => fullAt);
  await tx.$executeRaw`
    UPDATE authority_budget AS b SET full_at = new.full_at
    FROM unnest(${keys}::text[], ${times}::timestamptz[]) AS new (key, full_at) WHERE b.key = new.key`;
}

function byKey(rows: readonly Row[]): FullAt {
  return new Map(rows.map(({ key, fullAt }) => [key, fullAt]));
}

export type BucketRow = { readonly key: string; readonly fullAt: Date };

/** The emptiest first, without full ones. */
export function readEmptiest(
  prisma: PrismaClient,
  limit: AuthorityLimit,
  now: Date,
  most: number,
): Promise<readonly BucketRow[]> {
  return prisma.authorityBudget.findMany({
    where: { key: { startsWith: `${limit} ` }, fullAt: { gt: now } },
    orderBy: { fullAt: 'desc' },
    take: most,
  });
}

// Projects whose orders wait for a CA's rate limit. It only decides how much others can take.

type Waiting = {
  /** Its directory. */
  readonly authority: string;
  readonly projectId: string;
  readonly until: Date;
};

/** Keeps the later of two times. Does nothing for a deleted project. */
export async function noteWaiting(
  prisma: PrismaClient,
  { authority, projectId, until }: Waiting,
): Promise<void> {
  await prisma.$executeRaw`
    INSERT INTO order_waiting AS w (authority, project_id, until)
    SELECT ${authority}, id, ${until}::timestamptz FROM project WHERE id = ${projectId}::uuid
    ON CONFLICT (authority, project_id) DO UPDATE SET until = excluded.until
    WHERE w.until < excluded.until`;
}

type WaitingRow = { readonly limit: ShareLimit; readonly until: Date; readonly fullAt: Date };

/** Other accounts, and other projects of the same account. `buckets`: of one order, at one CA. */
async function findOthersWaiting(
  prisma: Pick<PrismaClient, '$queryRaw'>,
  buckets: readonly Bucket[],
  now: Date,
): Promise<OthersWaiting> {
  const shares = buckets.filter(({ limit }) => isShare(limit));
  const [authority = ''] = shares.map((bucket) => partsOfKey(bucket).authority);
  const account = shares.find(({ limit }) => limit === 'account_share');
  const rows = await prisma.$queryRaw<WaitingRow[]>`
    WITH waiting AS (
      SELECT kind, 'account_share ' || authority || ' ' || account_id AS of, kind || ' ' || authority || ' ' ||
        CASE kind WHEN 'account_share' THEN account_id ELSE project_id END AS key, until
      FROM order_waiting JOIN project ON project.id = project_id,
        (VALUES ('account_share'), ('project_share')) AS kinds (kind)
      WHERE authority = ${authority} AND until > ${now}::timestamptz)
    SELECT kind AS limit, max(until) AS until,
      min(greatest(coalesce(full_at, ${now}::timestamptz), ${now}::timestamptz)) AS "fullAt"
    FROM waiting LEFT JOIN authority_budget USING (key)
    WHERE key <> ALL (${shares.map(({ key }) => key)})
      AND (kind = 'account_share' OR of = ${account?.key ?? ''}) GROUP BY kind`;
  const found = rows.map(({ limit, until, fullAt }) => [limit, { until, fullAt }]);
  return { ...noneWaiting, ...Object.fromEntries(found) };
}

/** Skips rows that others write. */
export async function dropPastWaiting(prisma: PrismaClient, now: Date): Promise<void> {
  await prisma.$executeRaw`
    DELETE FROM order_waiting WHERE (authority, project_id) IN (
      SELECT authority, project_id FROM order_waiting
      WHERE until < ${now}::timestamptz FOR UPDATE SKIP LOCKED)`;
}
