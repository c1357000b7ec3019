/** Where one life of a domain ends and the next begins at once: by a customer's verify, or by another project's proof. */
import type { DomainState } from '../../core/life/lifecycle.ts';
import type { Domain, Prisma } from '../generated/client.ts';
import { notRenewed, stateColumns } from './domain-row.ts';

/**
 * The next epoch, due at once, with nothing of the life before planned any more; jobs of before are fenced off. False,
 * and nothing changed, where the domain is no longer as `row` has it.
 */
export async function restart(
  tx: Prisma.TransactionClient,
  { id, epoch, status }: Pick<Domain, 'id' | 'epoch' | 'status'>,
  to: DomainState,
  at: Date,
): Promise<boolean> {
  const { count } = await tx.domain.updateMany({
    where: { id, epoch, status, removedAt: null },
    data: {
      ...stateColumns(to),
      epoch: { increment: 1 },
      attempts: 0,
      nextCheckAt: at,
      recheckAt: null,
      ...notRenewed,
      escalateAt: null,
      leases: 0,
    },
  });
  return count > 0;
}
