/** A waiting delivery restarts in its own row; an ended one gets a new row. */

import type { Access } from '../../core/access.ts';
import type { Webhook } from '../../core/records.ts';
import { andVisible } from '../access.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';

/** Those after a number with the webhook's types, or a single one of any type. */
export type ReplayedEvents =
  | { readonly projectId: string; readonly after: bigint }
  | { readonly projectId: string; readonly event: bigint };

export type Replayed = {
  /** Includes events whose delivery was already waiting. */
  readonly queued: number;
  /** The last event's number. If `limit` was reached, the next replay starts after it. */
  readonly lastEvent: bigint | null;
};

export type Replay = {
  readonly access: Access;
  readonly webhook: Pick<Webhook, 'id' | 'eventTypes'>;
  readonly events: ReplayedEvents;
  /** New and restarted deliveries are due then. */
  readonly at: Date;
  /** Maximum events, the lowest numbers first. */
  readonly limit: number;
};

/** After this time, the queue accepts another job with an ended job's id. */
export const FORGOTTEN_MS = 1_000;

/**
 * Afterwards each event has one waiting delivery, even with concurrent replays. Replays create no
 * more rows than attempts: ended deliveries stay only if they were tried.
 */
export function replayDeliveries(prisma: PrismaClient, replay: Replay): Promise<Replayed> {
  return prisma.$transaction(async (tx) => {
    // A separate statement, so that the next one sees what a concurrent replay committed. Not a
    // lock of the webhook's row, which a save takes after its delivery's.
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext(${`replay ${replay.webhook.id}`}))`;
    return bringBackOrMake(tx, replay);
  });
}

/**
 * A delivery that a worker is processing stays queued: its save no longer fits and postpones it. An
 * untried ended one is replaced: the queue can still have the job that ended it, with its id.
 */
async function bringBackOrMake(
  tx: Prisma.TransactionClient,
  { access, webhook: { id, eventTypes }, events, at, limit }: Replay,
): Promise<Replayed> {
  const [after, last, types] =
    'event' in events
      ? [events.event - 1n, events.event, []]
      : [events.after, 2n ** 63n - 1n, eventTypes];
  const now = at.toISOString();
  const [row] = await tx.$queryRaw<{ queued: bigint; last: bigint | null }[]>`
    WITH chosen AS (
      SELECT id, number FROM recorded_event
      WHERE project_id = ${events.projectId}::uuid AND number > ${after} AND number <= ${last}
        AND (${types}::text[] = '{}' OR type = ANY (${types}::text[]))
        ${andVisible(access, Prisma.sql`project_id`)}
      ORDER BY number LIMIT ${limit} FOR KEY SHARE -- waits for a pruning of these events
    ), waiting AS (
      SELECT id, event_id, attempts FROM webhook_delivery
      WHERE webhook_id = ${id}::uuid AND status = 'pending' AND event_id IN (SELECT id FROM chosen)
      ORDER BY id FOR UPDATE
    ), begun_again AS (
      UPDATE webhook_delivery SET attempts = 0, created_at = ${now}::timestamptz,
        next_attempt_at = least(next_attempt_at, greatest(${now}::timestamptz,
          last_attempt_at + ${FORGOTTEN_MS}::int * interval '1 millisecond'))
      WHERE id IN (SELECT id FROM waiting WHERE attempts > 0)
    ), untried AS (
      DELETE FROM webhook_delivery
      WHERE webhook_id = ${id}::uuid AND status = 'failed' AND attempts = 0
        AND event_id IN (SELECT id FROM chosen)
    ), made AS (
      INSERT INTO webhook_delivery (webhook_id, event_id, next_attempt_at, created_at)
      SELECT ${id}::uuid, id, ${now}::timestamptz, ${now}::timestamptz
      FROM chosen WHERE id NOT IN (SELECT event_id FROM waiting) ORDER BY number
    )
    SELECT count(*) AS queued, max(number) AS last FROM chosen`;
  return { queued: Number(row?.queued ?? 0), lastEvent: row?.last ?? null };
}
