/** Who waits for what all accounts share at a certificate authority, and who no longer does. */
import { sharerOf } from '../../core/certificates/budget.ts';
import type { Tx } from '../engine/transaction.ts';

type Gone = { readonly id: string; readonly projectId: string };

/**
 * Ends the wait of a removed domain's account, unless another domain of it may be waiting: one without an order that has no
 * certificate yet, or is to be renewed within the wait. To be called after the orders of the domain were ended, as what takes
 * tokens locks in that order.
 */
export async function endWaitingOf(tx: Tx, { id, projectId }: Gone): Promise<void> {
  const { accountId } = await tx.project.findUniqueOrThrow({
    where: { id: projectId },
    select: { accountId: true },
  });
  const subject = sharerOf({ accountId, projectId });
  await tx.$executeRaw`
    DELETE FROM budget_waiting AS known WHERE subject = ${subject}::uuid AND NOT EXISTS (
      SELECT FROM domain
      WHERE project_id IN (
          SELECT id FROM project WHERE account_id = ${subject}::uuid OR id = ${subject}::uuid)
        AND domain.id <> ${id}::uuid AND removed_at IS NULL
        AND (domain.status = 'verified' OR renew_at <= known.until)
        AND NOT EXISTS (
          SELECT FROM certificate WHERE domain_id = domain.id AND certificate.status = 'ordering'))`;
}
