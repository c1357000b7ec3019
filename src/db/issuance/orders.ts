/** A domain has at most one open order. */
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

/** The caller chooses the id, because the key is sealed for it. */
export type NewOrder = {
  readonly id: string;
  /** Null: an external edge has it. */
  readonly sealedKey: Uint8Array | null;
  /** Missing or null: the local CA's. */
  readonly authority?: string | null;
  /** The open order that it replaces, when an order moves to another CA. */
  readonly instead?: string | null;
};

/**
 * The open order, a new one with this key, or the wait for a token. First ends one in `instead`, or
 * from before CERTIFICATES changed. Null if the domain has changed since it was loaded.
 */
export async function openOrder(
  tx: Prisma.TransactionClient,
  { id: domainId, projectId, hostname, epoch, state: { status } }: LoadedDomain,
  order: NewOrder,
  { createdAt, budgets }: { readonly createdAt: Date; readonly budgets: AuthorityBudgets },
): Promise<Certificate | BudgetWait | null> {
  if (status !== 'verified' && status !== 'live') return null;
  // The lock excludes removal, verify and other workers until the order exists.
  const [waiting] = await tx.$queryRaw<{ accountId: string }[]>`
    SELECT account_id AS "accountId" FROM domain JOIN project ON project.id = domain.project_id
    WHERE domain.id = ${domainId}::uuid AND epoch = ${epoch}
      AND status::text = ${status} AND removed_at IS NULL FOR UPDATE OF domain`;
  if (waiting === undefined) return null;
  const open = await tx.certificate.findFirst({ where: { domainId, status: 'ordering' } });
  const reason = open && whyEnded(open, order);
  if (open !== null && reason === null) return open;
  const { id, authority = null } = order;
  const sealedKey = order.sealedKey && Uint8Array.from(order.sealedKey);
  // We don't know what an external edge orders, so only own certificates count.
  const usable = await tx.certificate.findFirst(
    newestUsable({ domainId, source: 'own' }, createdAt),
  );
  const wanted = { hostname, projectId, accountId: waiting.accountId, usable };
  const buckets = sealedKey === null ? [] : orderBuckets(budgets, authority, wanted, createdAt);
  const keys = buckets.map(({ key }) => key);
  // Includes the buckets of the ending order: a concurrent move in the other direction locks the
  // same ones.
  if (open !== null) await lockBuckets(tx, [...keys, ...open.buckets], createdAt);
  const wait = await takeTokens(tx, buckets, createdAt);
  if (wait !== null) return wait;
  if (reason !== null) await endOrders(tx, domainId, { reason, at: createdAt });
  const counts = { buckets: keys, authority };
  return tx.certificate.create({
    data: { id, sealedKey, domainId, hostname, status: 'ordering', createdAt, ...counts },
  });
}

/** Null if the open order continues; one other than `instead` was just opened by another run. */
function whyEnded(open: Certificate, order: NewOrder): string | null {
  if ((open.sealedKey === null) !== (order.sealedKey === null)) {
    return 'CERTIFICATES has changed, so certificates come from another source.';
  }
  return open.id === order.instead ? 'The order moved to another certificate authority.' : null;
}

export function isWait(opened: object): opened is BudgetWait {
  return 'limit' in opened;
}

/** For callers that lock other rows in between. The caller has locked the domain. */
export async function lockOrders(
  tx: Prisma.TransactionClient,
  domainId: string,
  at: Date,
): Promise<void> {
  const open = await tx.certificate.findFirst({ where: { domainId, status: 'ordering' } });
  if (open !== null) await lockBuckets(tx, open.buckets, at);
}

/** Its challenges are no longer answered. Returns its tokens, unless the CA was processing it. */
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
