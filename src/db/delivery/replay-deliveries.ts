/** Sends events again: a delivery that still waits begins again in its own row; only one that has ended gets a new one. */

import type { GrantedProjectId } from '../../core/accounts/access.ts';
import type { Webhook } from '../../core/records.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';

/** Which events are sent again: those after a number and of the types that the webhook takes, or a single one. */
export type ReplayedEvents =
  | { readonly projectId: GrantedProjectId; readonly after: bigint }
  /** The event with this number, whatever its type. */
  | { readonly projectId: GrantedProjectId; readonly event: bigint };

/** What a replay found. Each of these events has one delivery that waits from now on. */
export type Replayed = {
  /** How many events, those included whose delivery was waiting already. */
  readonly queued: number;
  /** The number of the last of them; null where there was none. With `limit` reached, the next replay begins after it. */
  readonly lastEvent: bigint | null;
};

/** A request to send events to a webhook again. */
export type Replay = {
  readonly webhook: Pick<Webhook, 'id' | 'eventTypes'>;
  readonly events: ReplayedEvents;
  /** The caller's clock; what is made or begins again is due then. */
  readonly at: Date;
  /** How many events at most, the lowest numbers first. */
  readonly limit: number;
};

/** In ms, our choice: by then the queue has forgotten a job that ended, and takes another one with the same id. */
export const FORGOTTEN_MS = 1_000;

/**
 * Afterwards each of the events has one delivery that waits, however many replays run at once. One transaction. Of those
 * that had ended only the ones that were tried are left, so that replays leave no more rows than there were attempts.
 */
export function replayDeliveries(prisma: PrismaClient, replay: Replay): Promise<Replayed> {
  return prisma.$transaction(async (tx) => {
    // A statement of its own: the next one must see what a replay committed while this one waited. Not the webhook's row,
    // which a save locks after its delivery's.
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext(${`replay ${replay.webhook.id}`}))`;
    return bringBackOrMake(tx, replay);
  });
}

/**
 * A delivery that waits untried stays as it is. One that a worker has at the moment stays in the queue: its save no longer
 * fits, and puts it back (src/db/delivery/deliveries.ts). One that ended untried, with its webhook, is replaced rather than
 * reused: the queue may still keep the job that ended it, which has the delivery's id.
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
