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
 * The open order, or a new one with this key and its tokens of the authority's budget; what it has to wait for where one of
 * them is missing. One that was opened in the other way, before CERTIFICATES changed, is ended. Null where the domain is no
 * longer what it was loaded as.
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
  const wanted = { hostname, projectId, usable };
  const buckets = sealedKey === null ? [] : orderBuckets(budgets, authority, wanted, createdAt);
  const keys = buckets.map(({ key }) => key);
  // Those of the one that ends, too: it gives back, and whoever moves the other way would wait for us meanwhile.
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

/** Whether nothing was opened, for want of a token. */
export function isWait(opened: object): opened is BudgetWait {
  return 'limit' in opened;
}

/** Locks what `endOrders` is going to write, for whoever locks anything else before that. Its domain is locked. */
export async function lockOrders(
  tx: Prisma.TransactionClient,
  domainId: string,
  at: Date,
): Promise<void> {
  const open = await tx.certificate.findFirst({ where: { domainId, status: 'ordering' } });
  if (open !== null) await lockBuckets(tx, open.buckets, at);
}

/**
 * Ends the open order of a domain that is removed or lost: it is not continued, its challenges are not answered. What it
 * counted for certificates is given back, unless the authority was at work on one.
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
