/** Open cases for an operator: at most one for a domain. */
import { randomUUID } from 'node:crypto';
import { tell } from './events.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

export type NewEscalation = {
  readonly cause: string;
  readonly nextAction: string;
  readonly evidence: Prisma.InputJsonObject;
};

/**
 * Opens the case of a domain that is still verified in this epoch; false where one is open already or the
 * domain has moved on.
 */
export function openEscalation(
  prisma: PrismaClient,
  domain: { readonly id: string; readonly epoch: number },
  { cause, nextAction, evidence }: NewEscalation,
  at: Date,
): Promise<boolean> {
  return prisma.$transaction(async (tx) => {
    // The row lock keeps a certificate from being stored between the look and the insert.
    const waiting = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM domain WHERE id = ${domain.id}::uuid AND epoch = ${domain.epoch}
        AND status = 'verified' AND removed_at IS NULL FOR UPDATE`;
    const open = await tx.escalation.count({ where: { domainId: domain.id, closedAt: null } });
    if (waiting.length === 0 || open > 0) return false;
    await tx.escalation.create({
      data: { id: randomUUID(), domainId: domain.id, cause, nextAction, evidence, openedAt: at },
    });
    await tx.domain.update({ where: { id: domain.id }, data: { escalateAt: null } });
    await tell(tx, domain.id, [{ type: 'escalation.opened', cause, nextAction }], at);
    return true;
  });
}

/** Closes the open case of a domain, if there is one; part of the transaction that ends its cause. */
export async function closeEscalation(
  tx: Prisma.TransactionClient,
  domainId: string,
  at: Date,
): Promise<void> {
  const open = await tx.escalation.findFirst({ where: { domainId, closedAt: null } });
  if (open === null) return;
  await tx.escalation.update({ where: { id: open.id }, data: { closedAt: at } });
  await tell(tx, domainId, [{ type: 'escalation.closed', cause: open.cause }], at);
}
