/** Ends what still waits for a webhook that is off: in batches, because there may be a hundred thousand of them. */
import type { EndProblem } from '../core/webhook-plan.ts';
import type { PrismaClient } from './generated/client.ts';

const BATCH = 5_000;

/**
 * Outside of the transaction that switches it off; the relay goes on where a process dies in between. Locks in the order
 * of the ids, as a replay does (src/db/replay-deliveries.ts), or the two would wait for each other.
 */
export async function endWaiting(
  prisma: PrismaClient,
  webhookId: string,
  problem: EndProblem,
): Promise<void> {
  for (;;) {
    const ended = await prisma.$executeRaw`
      UPDATE webhook_delivery
      SET status = 'failed', last_error = ${problem}, next_attempt_at = NULL, queued_at = NULL
      WHERE status = 'pending' AND id IN (
        SELECT id FROM webhook_delivery WHERE id IN (
          (SELECT id FROM webhook_delivery
            WHERE webhook_id = ${webhookId}::uuid AND status = 'pending' AND queued_at IS NULL
            LIMIT ${BATCH})
          UNION ALL
          (SELECT id FROM webhook_delivery
            WHERE webhook_id = ${webhookId}::uuid AND status = 'pending' AND queued_at IS NOT NULL
            LIMIT ${BATCH}))
        ORDER BY id FOR UPDATE)`;
    if (ended < BATCH) return;
  }
}
