/** Opens orders, and ends those that nobody is to continue. At most one is open for a domain. */
import type { BudgetWait } from '../../core/certificates/budget.ts';
import type { Certificate } from '../../core/records.ts';
import type { LoadedDomain } from '../domains/domain-row.ts';
import type { Prisma } from '../generated/client.ts';
import {
  type AuthorityBudgets,
  giveBack,
  lockBuckets,
  orderBuckets,
  takeTokens,
} from './authority-budget.ts';
import { newestUsable, SUPERSEDED, setbackIn } from './issue-work.ts';

/** An order that may be opened. Its id is drawn before, because the key is sealed for it. */
export type NewOrder = {
  readonly id: string;
  /** Null: an edge of another make has it. */
  readonly sealedKey: Uint8Array | null;
  /** The directory of the authority that it goes to; missing or null: the first one's. */
  readonly authority?: string | null;
  /** The open order that it takes the place of, where that goes on at another authority; missing or null: of none. */
  readonly instead?: string | null;
};

/**
 * Returns the open order, or a new one with this key and its tokens of the authority's budget; what it has to wait for where
 * a token is missing. An open one that was obtained in another way, before CERTIFICATES changed, is ended first, as is the
 * one that this one is `instead` of. Null where the domain is no longer what it was loaded as.
 */
export async function openOrder(
  tx: Prisma.TransactionClient,
  { id: domainId, projectId, hostname, epoch, state: { status } }: LoadedDomain,
  order: NewOrder,
  { createdAt, budgets }: { readonly createdAt: Date; readonly budgets: AuthorityBudgets },
): Promise<Certificate | BudgetWait | null> {
  if (status !== 'verified' && status !== 'live') return null;
  // The lock keeps removal, verify and another worker out until the order is there.
  const [waiting] = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM domain WHERE id = ${domainId}::uuid AND epoch = ${epoch}
      AND status::text = ${status} AND removed_at IS NULL FOR UPDATE`;
  if (waiting === undefined) return null;
  const open = await tx.certificate.findFirst({ where: { domainId, status: 'ordering' } });
  const reason = open && whyEnded(open, order);
  if (open !== null && reason === null) return open;
  const { id, authority = null } = order;
  const sealedKey = order.sealedKey && Uint8Array.from(order.sealedKey);
  // Another edge's authority counts what it orders, and we do not know what.
  const usable = await tx.certificate.findFirst(
    newestUsable({ domainId, source: 'own' }, createdAt),
  );
  const { accountId } = await tx.project.findUniqueOrThrow({
    where: { id: projectId },
    select: { accountId: true },
  });
  const wanted = { hostname, projectId, accountId, usable };
  const buckets = sealedKey === null ? [] : orderBuckets(budgets, authority, wanted, createdAt);
  const keys = buckets.map(({ key }) => key);
  // With those of the order that ends, which gives back: a transaction that moves one the other way locks the same ones.
  if (open !== null) await lockBuckets(tx, [...keys, ...open.buckets], createdAt);
  const wait = await takeTokens(tx, buckets, createdAt);
  if (wait !== null) return wait;
  if (reason !== null) await endOrders(tx, domainId, { reason, at: createdAt });
  const counts = { buckets: keys, authority };
  return tx.certificate.create({
    data: { id, sealedKey, domainId, hostname, status: 'ordering', createdAt, ...counts },
  });
}

/** Null where the open order goes on; another one than `instead` was opened by another run meanwhile. */
function whyEnded(open: Certificate, order: NewOrder): string | null {
  if ((open.sealedKey === null) !== (order.sealedKey === null)) {
    return 'Certificates are obtained in another way now.';
  }
  return open.id === order.instead ? 'Another certificate authority has the order now.' : null;
}

/** Whether `openOrder` returned a wait instead of an order. */
export function isWait(opened: object): opened is BudgetWait {
  return 'limit' in opened;
}

/** Locks what `endOrders` writes, for callers that lock anything else in between. The caller has locked the domain. */
export async function lockOrders(
  tx: Prisma.TransactionClient,
  domainId: string,
  at: Date,
): Promise<void> {
  const open = await tx.certificate.findFirst({ where: { domainId, status: 'ordering' } });
  if (open !== null) await lockBuckets(tx, open.buckets, at);
}

/**
 * Ends the open order of a domain, if any: it is not continued, and its challenges are not answered. Its tokens for
 * certificates are given back, unless the authority was at work on one.
 */
export async function endOrders(
  tx: Prisma.TransactionClient,
  domainId: string,
  { reason, at }: { readonly reason: string; readonly at: Date },
): Promise<void> {
  const open = await tx.certificate.findFirst({ where: { domainId, status: 'ordering' } });
  if (open === null) return;
  const mayBeIssued = open.orderUrl !== null && setbackIn(open.setback)?.answered === true;
  if (!mayBeIssued) await giveBack(tx, open, at);
  await tx.challenge.deleteMany({ where: { certificate: { domainId } } });
  await tx.certificate.updateMany({
    where: { domainId, status: 'ordering' },
    data: { status: 'failed', problem: { type: SUPERSEDED, detail: reason }, endedAt: at },
  });
}
