/** The tokens of an authority's limits, shared by all workers. An order takes its tokens as it is opened, or none. */

import {
  type AuthorityLimit,
  afterGivingBack,
  afterTaking,
  type Bucket,
  type Budget,
  type BudgetWait,
  bucketOf,
  bucketsOf,
  budgetWait,
  isGivenBack,
  isShared,
  type OrderKind,
  type OrderOwner,
  orderKind,
  type PlacedAs,
  partsOfKey,
  takenAgain,
  takesAtOnce,
} from '../../core/certificates/budget.ts';
import type { Certificate } from '../../core/records.ts';
import type { Tx } from '../engine/transaction.ts';
import type { PrismaClient } from '../generated/client.ts';
import { knownRenewal } from './renewals.ts';

type Row = { readonly key: string; readonly fullAt: Date };

/** The limits of an authority in use. `directoryUrl`: as `certificate.authority` has it, null for the local one. */
export type AuthorityBudget = { readonly directoryUrl: string | null; readonly budget: Budget };

/** At least one, the authority that is the first choice first. */
export type AuthorityBudgets = readonly [AuthorityBudget, ...AuthorityBudget[]];

/** The default: one local authority, without published limits. */
export const localBudget: AuthorityBudgets = [{ directoryUrl: null, budget: 'none' }];

type Wanted = OrderOwner & {
  /** The certificate that is there already; null: none. */
  readonly usable: Pick<Certificate, 'authority' | 'renewalInfo'> | null;
};

/** The buckets that a new order at this authority meets. One that is null, or in use no longer, counts as the first. */
export function orderBuckets(
  budgets: AuthorityBudgets,
  authority: string | null,
  { usable, ...owner }: Wanted,
  now: Date,
): readonly Bucket[] {
  const [first] = budgets;
  const at = budgetAt(budgets, authority);
  const isSame = usable !== null && (usable.authority ?? first.directoryUrl) === at.directoryUrl;
  const kind = orderKind(isSame ? knownRenewal(usable.renewalInfo) : null, now);
  return bucketsAt(at, owner, kind);
}

function budgetAt(budgets: AuthorityBudgets, authority: string | null): AuthorityBudget {
  return budgets.find(({ directoryUrl }) => directoryUrl === authority) ?? budgets[0];
}

function bucketsAt({ directoryUrl, budget }: AuthorityBudget, owner: OrderOwner, kind: OrderKind) {
  return bucketsOf({ authority: nameOf({ directoryUrl, budget }), budget }, { ...owner, kind });
}

/** For each authority the limit that keeps a new order back now, and until when; null where none does. Takes nothing. */
export async function findBudgetWaits(
  prisma: PrismaClient,
  budgets: AuthorityBudgets,
  wanted: Wanted,
  now: Date,
): Promise<readonly (BudgetWait | null)[]> {
  const each = budgets.map(({ directoryUrl }) => orderBuckets(budgets, directoryUrl, wanted, now));
  const keys = each.flat().map(({ key }) => key);
  const rows = await prisma.authorityBudget.findMany({ where: { key: { in: keys } } });
  const fullAt = byKey(rows);
  const waits: (BudgetWait | null)[] = [];
  for (const buckets of each) {
    const othersWait = await doOthersWait(prisma, buckets, now);
    waits.push(budgetWait(buckets, { fullAt, now, othersWait }));
  }
  return waits;
}

/**
 * Takes a token of each bucket, in the transaction that opens the order, and returns null. Where one bucket is empty it
 * takes none, and returns what the order has to wait for. Other takers wait until the transaction has ended.
 */
export async function takeTokens(
  tx: Tx,
  buckets: readonly Bucket[],
  now: Date,
): Promise<BudgetWait | null> {
  const fullAt = await lock(tx, buckets, now);
  const othersWait = await doOthersWait(tx, buckets, now);
  const wait = budgetWait(buckets, { fullAt, now, othersWait });
  if (wait !== null) return wait;
  await endWaiting(tx, buckets);
  const taken = buckets.filter(takesAtOnce).map(({ key, limit }) => {
    return { key, fullAt: afterTaking(limit, fullAt.get(key) ?? now, now) };
  });
  await keep(tx, taken);
  return null;
}

/** How long after its next try an account still counts as one that waits: its job may be late. Our choice. */
const LATE_MS = 60_000;

/**
 * Notes that an account waits for what all accounts share (`subject`: `sharerOf` it), so that nobody takes more than a quarter of it meanwhile. Waits for
 * limits of its own are not noted. `waits`: as `findBudgetWaits` gave them.
 */
export async function noteWaiting(
  prisma: PrismaClient,
  budgets: AuthorityBudgets,
  { subject, waits }: { readonly subject: string; readonly waits: readonly (BudgetWait | null)[] },
): Promise<void> {
  for (const [place, wait] of waits.entries()) {
    const at = budgets[place];
    if (wait === null || at === undefined || !isShared(wait)) continue;
    const until = new Date(wait.until.getTime() + LATE_MS);
    await prisma.$executeRaw`
      INSERT INTO budget_waiting AS known (authority, subject, until)
      VALUES (${nameOf(at)}, ${subject}::uuid, ${until}::timestamptz)
      ON CONFLICT (authority, subject) DO UPDATE SET until = GREATEST(known.until, excluded.until)`;
  }
}

/** False for orders that share nothing with others. */
async function doOthersWait(tx: Tx, buckets: readonly Bucket[], now: Date): Promise<boolean> {
  const share = buckets.find(({ limit }) => limit === 'account_orders');
  if (share === undefined) return false;
  const { authority, subject } = partsOfKey(share);
  const others = await tx.budgetWaiting.findFirst({
    where: { authority, subject: { not: subject }, until: { gt: now } },
  });
  return others !== null;
}

/** An account that took an order waits no more; what else of it waits says so at its next try. */
async function endWaiting(tx: Tx, buckets: readonly Bucket[]): Promise<void> {
  const share = buckets.find(({ limit }) => limit === 'account_orders');
  if (share === undefined) return;
  const { authority, subject } = partsOfKey(share);
  await tx.budgetWaiting.deleteMany({ where: { authority, subject } });
}

/** As keys of buckets have it. */
function nameOf({ directoryUrl }: AuthorityBudget): string {
  return directoryUrl ?? 'local';
}

type Placed = { readonly id: string; readonly kind: PlacedAs; readonly now: Date };

/**
 * Call it right before an order is placed. Takes tokens again where it was opened more than a minute ago, or where it is
 * placed as another kind than it was opened as; returns what it has to wait for where one is missing. Rejects where the
 * order has ended.
 */
export async function countPlaced(
  tx: Tx,
  budgets: AuthorityBudgets,
  { id, kind, now }: Placed,
): Promise<BudgetWait | null> {
  const { domainId } = await tx.certificate.findUniqueOrThrow({ where: { id } });
  await tx.$queryRaw`SELECT 1 FROM domain WHERE id = ${domainId}::uuid FOR UPDATE`;
  const order = await tx.certificate.findFirst({
    where: { id, status: 'ordering' },
    include: { domain: { select: { projectId: true, project: { select: { accountId: true } } } } },
  });
  if (order === null) throw new Error('the order has ended');
  if (kind === 'plain') return countAsRenewal(tx, budgets, order, now);
  const buckets = takenAgain(order, now);
  return buckets.length === 0 ? null : takeTokens(tx, buckets, now);
}

type PlainOrder = Certificate & {
  readonly domain: { readonly projectId: string; readonly project: { readonly accountId: string } };
};

/** An order that was meant as a replacement but does not name the certificate it replaces: from now on it counts as a renewal. */
async function countAsRenewal(
  tx: Tx,
  budgets: AuthorityBudgets,
  { id, authority, hostname, buckets: keys, domain: { projectId, project } }: PlainOrder,
  now: Date,
): Promise<BudgetWait | null> {
  const all = bucketsAt(
    budgetAt(budgets, authority),
    { hostname, projectId, ...project },
    'renewal',
  );
  const missing = all.filter(({ key }) => !keys.includes(key));
  if (missing.length === 0) return null;
  const wait = await takeTokens(tx, missing, now);
  if (wait !== null) return wait;
  const buckets = [...keys, ...missing.map(({ key }) => key)];
  await tx.certificate.update({ where: { id }, data: { buckets } });
  return null;
}

/** What an order counts for, by the keys of its buckets, and since when. */
type Counted = { readonly buckets: readonly string[]; readonly createdAt: Date };

/**
 * Takes and gives back what a refusal changes, in the transaction that ends the order. `mayBeIssued`: its certificate may
 * have been issued all the same, and keeps its tokens.
 */
export async function countRefusal(
  tx: Tx,
  order: Counted,
  { now, mayBeIssued }: { readonly now: Date; readonly mayBeIssued: boolean },
): Promise<void> {
  await change(tx, order, now, (one) => !takesAtOnce(one) || (isGivenBack(one) && !mayBeIssued));
}

/** Gives back the tokens for certificates of an order that ends without an answer, in the transaction that ends it. */
export async function giveBack(tx: Tx, order: Counted, now: Date): Promise<void> {
  await change(tx, order, now, isGivenBack);
}

async function change(
  tx: Tx,
  { buckets: keys, createdAt }: Counted,
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

/** Deletes full buckets, which mean the same as none, and notes of waits that have ended. One that is being taken from stays for the next time. */
export async function dropFullBuckets(prisma: PrismaClient, now: Date): Promise<void> {
  await prisma.$executeRaw`
    DELETE FROM authority_budget WHERE key IN (
      SELECT key FROM authority_budget WHERE full_at < ${now}::timestamptz FOR UPDATE SKIP LOCKED)`;
  await prisma.budgetWaiting.deleteMany({ where: { until: { lt: now } } });
}

/** Locks buckets in one order, for callers that write them in several steps afterwards. */
export async function lockBuckets(tx: Tx, keys: readonly string[], now: Date): Promise<void> {
  const buckets = [...new Set(keys)].flatMap((key) => bucketOf(key) ?? []);
  await lock(tx, buckets, now);
}

/**
 * Locks the buckets in the order of their keys, so that no two transactions wait for each other; whoever locks a domain,
 * too, does that before. A bucket that is missing is made, full: a row that is not there cannot be locked.
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

/** Of rows that are locked. */
async function keep(tx: Tx, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const keys = rows.map(({ key }) => key);
  const times = rows.map(({ fullAt }) => fullAt);
  await tx.$executeRaw`
    UPDATE authority_budget AS b SET full_at = new.full_at
    FROM unnest(${keys}::text[], ${times}::timestamptz[]) AS new (key, full_at) WHERE b.key = new.key`;
}

function byKey(rows: readonly Row[]): ReadonlyMap<string, Date> {
  return new Map(rows.map(({ key, fullAt }) => [key, fullAt]));
}

/** A bucket as it is stored: the time at which it is full again, from which the tokens in it follow. */
export type BucketRow = { readonly key: string; readonly fullAt: Date };

/** The emptiest buckets of a limit, the emptiest first, `most` at most. Full ones are left out. */
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
