/** Sending events again: what still waits begins anew in its own row, and only what has ended gets another. */

import type { Webhook } from '../../core/records.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';

export type ReplayedEvents =
  | { readonly projectId: string; readonly after: bigint }
  /** Whatever its type. */
  | { readonly projectId: string; readonly event: bigint };

export type Replayed = {
  /** How many are on their way, those among them that were before. */
  readonly queued: number;
  /** The number of the last event; null where there was none. */
  readonly lastEvent: bigint | null;
};

export type Replay = {
  readonly webhook: Pick<Webhook, 'id' | 'eventTypes'>;
  readonly events: ReplayedEvents;
  readonly at: Date;
  /** In the order of the events. */
  readonly limit: number;
};

/** Our choice: by then the queue has forgotten a job that ended, and takes another of the same name. */
export const FORGOTTEN_MS = 1_000;

/**
 * Afterwards each of the events has one delivery that waits, however many replays there are at once. Every ended one
 * that is left was tried, so that replays leave no more rows than there were attempts.
 */
export function replayDeliveries(prisma: PrismaClient, replay: Replay): Promise<Replayed> {
  return prisma.$transaction(async (tx) => {
    // A statement of its own: the next one is to see what the replay before it made. Not the webhook's row, which a
    // save locks after its delivery's.
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext(${`replay ${replay.webhook.id}`}))`;
    return bringBackOrMake(tx, replay);
  });
}

/**
 * One that waits and was not tried since it last began stays as it is. What a worker holds stays in the queue: the save
 * does not fit any more then, and puts it back (src/db/delivery/deliveries.ts). One that ended untried, with its webhook, makes
 * way for the new one instead of coming back, because the queue keeps the job that told so, by the delivery's id.
 */
async function bringBackOrMake(
  tx: Prisma.TransactionClient,
  { webhook: { id, eventTypes }, events, at, limit }: Replay,
): Promise<Replayed> {
  const [after, last, types] =
    'event' in events
      ? [events.event - 1n, events.event, []]
      : [events.after, 2n ** 63n - 1n, eventTypes];
  const now = at.toISOString();
  const [row] = await tx.$queryRaw<{ queued: bigint; last: bigint | null }[]>`
    WITH chosen AS (
      SELECT id, number FROM event
      WHERE project_id = ${events.projectId}::uuid AND number > ${after} AND number <= ${last}
        AND (${types}::text[] = '{}' OR type = ANY (${types}::text[]))
      ORDER BY number LIMIT ${limit}
    ), waiting AS (
      SELECT id, event_id, attempts FROM webhook_delivery
      WHERE webhook_id = ${id}::uuid AND status = 'pending' AND event_id IN (SELECT id FROM chosen)
      ORDER BY id FOR UPDATE
    ), begun_anew AS (
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
