/**
 * Which deliveries the queue is given, and which have been kept long enough. What waits stays here: the queue holds a few
 * of each webhook, and accounts take turns, so that nobody's backlog stands before another's.
 */

import type { EndProblem } from '../../core/operations/webhook-plan.ts';
import type { PrismaClient } from '../generated/client.ts';

/** A delivery that the queue is to have. */
export type Given = {
  readonly id: string;
  /** The project whose webhook it is for; null: an operators' one. */
  readonly owner: string | null;
};

/** How deliveries reach the queue, end with their webhook, and are removed. Several processes may call all of it at once. */
export type DeliveryTimes = {
  /**
   * Marks deliveries that are due at `at` as given to the queue, and returns them, `limit` at most. Of a webhook that is on,
   * `inFlight` at most are given at a time, those set aside not counted. Accounts take turns, operators' webhooks as one of
   * them: the first delivery of each, then the second of each. In an account the first ones of all webhooks come before the
   * second ones; those of one webhook come in the order of their times, then of their events.
   */
  giveDue(at: Date, inFlight: number, limit: number): Promise<readonly Given[]>;
  /** Marks again what was given before `givenBefore` and still waits, not what was set aside; returns `limit` at most. */
  giveAgain(givenBefore: Date, at: Date, limit: number): Promise<readonly Given[]>;
  /** Undoes the mark of deliveries that the queue did not take; only one that was made at `at`. */
  takeBack(ids: readonly string[], at: Date): Promise<void>;
  /** Ends what still waits of disabled and deleted webhooks: made during the switch-off, or left by a process that died. */
  endOfOff(): Promise<void>;
  /** Removes deliveries that have ended and were created before; returns how many, `limit` at most. */
  prune(before: Date, limit: number): Promise<number>;
  /** Removes webhooks that were deleted before, and of which no delivery is left, so that it follows `prune`. */
  pruneWebhooks(before: Date): Promise<void>;
};

/** `endOfOff` works in batches of their own transactions; every other call is one statement. All times are the caller's. */
export function createDeliveryTimes(prisma: PrismaClient): DeliveryTimes {
  return {
    giveDue: (at, inFlight, limit) => giveDue(prisma, at, inFlight, limit),
    giveAgain: (givenBefore, at, limit) =>
      prisma.$queryRaw<Given[]>`
        UPDATE webhook_delivery SET queued_at = ${at.toISOString()}::timestamptz WHERE id IN (
          SELECT id FROM webhook_delivery AS d
          WHERE status = 'pending' AND queued_at < ${givenBefore.toISOString()}::timestamptz
            AND NOT EXISTS (SELECT FROM quarantine
              WHERE queue = 'deliver-webhook' AND job_id = d.id::text)
          ORDER BY queued_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING id, (SELECT project_id FROM webhook WHERE webhook.id = webhook_id) AS owner`,
    async takeBack(ids, at) {
      await prisma.$executeRaw`
        UPDATE webhook_delivery SET queued_at = NULL WHERE id IN (
          SELECT id FROM webhook_delivery WHERE id = ANY (${ids}::uuid[])
            AND status = 'pending' AND queued_at = ${at.toISOString()}::timestamptz
          ORDER BY id FOR UPDATE)`;
    },
    endOfOff: () => endOfOff(prisma),
    prune: (before, limit) =>
      prisma.$executeRaw`
        DELETE FROM webhook_delivery WHERE id IN (
          SELECT id FROM webhook_delivery
          WHERE status <> 'pending' AND created_at < ${before.toISOString()}::timestamptz
          ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
    async pruneWebhooks(before) {
      await prisma.$executeRaw`
        DELETE FROM webhook WHERE deleted_at < ${before.toISOString()}::timestamptz
          AND NOT EXISTS (SELECT FROM webhook_delivery WHERE webhook_id = webhook.id)`;
    },
  };
}

/**
 * Two processes that call it at once take different ones, because each locks what it takes. The first part of the statement
 * steps through the index from webhook to webhook, so that a long backlog costs no more than a short one.
 */
async function giveDue(prisma: PrismaClient, at: Date, inFlight: number, limit: number) {
  const now = at.toISOString();
  const given = await prisma.$queryRaw<(Given & { turn: bigint; nextAttemptAt: Date })[]>`
    WITH RECURSIVE waiting AS (
      (SELECT webhook_id FROM webhook_delivery WHERE queued_at IS NULL AND status = 'pending'
        ORDER BY webhook_id LIMIT 1)
      UNION ALL
      SELECT (SELECT d.webhook_id FROM webhook_delivery AS d
        WHERE d.queued_at IS NULL AND d.status = 'pending' AND d.webhook_id > waiting.webhook_id
        ORDER BY d.webhook_id LIMIT 1)
      FROM waiting WHERE waiting.webhook_id IS NOT NULL
    ), flying AS (
      SELECT webhook_id, count(*) AS count FROM webhook_delivery AS d
      WHERE queued_at IS NOT NULL AND status = 'pending'
        AND NOT EXISTS (SELECT FROM quarantine
          WHERE queue = 'deliver-webhook' AND job_id = d.id::text)
      GROUP BY webhook_id
    ), due AS (
      SELECT due.id, due.next_attempt_at, webhook.project_id, project.account_id, row_number() OVER (
        PARTITION BY waiting.webhook_id ORDER BY due.next_attempt_at, due.event_id) AS nth
      FROM waiting
        JOIN webhook ON webhook.id = waiting.webhook_id
          AND webhook.deleted_at IS NULL AND webhook.disabled_at IS NULL
        LEFT JOIN project ON project.id = webhook.project_id
        LEFT JOIN flying ON flying.webhook_id = waiting.webhook_id
        CROSS JOIN LATERAL (
          SELECT id, next_attempt_at, event_id FROM webhook_delivery AS d
          WHERE d.webhook_id = waiting.webhook_id AND d.queued_at IS NULL AND d.status = 'pending'
            AND d.next_attempt_at <= ${now}::timestamptz
          ORDER BY d.next_attempt_at, d.event_id
          LIMIT greatest(0, ${inFlight}::bigint - coalesce(flying.count, 0))
        ) AS due
    ), chosen AS (
      SELECT id, next_attempt_at, project_id, row_number() OVER (
        PARTITION BY account_id ORDER BY nth, next_attempt_at, id) AS turn
      FROM due ORDER BY turn, next_attempt_at LIMIT ${limit}
    ), taken AS (
      SELECT d.id FROM webhook_delivery AS d
      WHERE d.id IN (SELECT id FROM chosen) AND d.queued_at IS NULL AND d.status = 'pending'
      FOR UPDATE SKIP LOCKED
    )
    UPDATE webhook_delivery AS d SET queued_at = ${now}::timestamptz
    FROM chosen WHERE chosen.id = d.id AND d.id IN (SELECT id FROM taken)
    RETURNING d.id, chosen.project_id AS owner, chosen.turn, chosen.next_attempt_at AS "nextAttemptAt"`;
  // RETURNING promises no order.
  return given.sort(
    (a, b) => Number(a.turn - b.turn) || a.nextAttemptAt.getTime() - b.nextAttemptAt.getTime(),
  );
}

async function endOfOff(prisma: PrismaClient): Promise<void> {
  const off = await prisma.$queryRaw<{ id: string; isDeleted: boolean }[]>`
    SELECT id, deleted_at IS NOT NULL AS "isDeleted" FROM webhook
    WHERE (deleted_at IS NOT NULL OR disabled_at IS NOT NULL) AND (
      EXISTS (SELECT FROM webhook_delivery AS d
        WHERE d.webhook_id = webhook.id AND d.queued_at IS NULL AND d.status = 'pending')
      OR id IN (SELECT webhook_id FROM webhook_delivery
        WHERE queued_at IS NOT NULL AND status = 'pending'))`;
  for (const { id, isDeleted } of off) {
    await endWaiting(prisma, id, isDeleted ? 'webhook_deleted' : 'webhook_disabled');
  }
}

/** Rows of each kind, waiting and given, that one statement ends. */
const BATCH = 5_000;

/**
 * Ends every pending delivery of a webhook as failed with this problem. Call it after the transaction that switches the
 * webhook off; where a process dies in between, the relay's `endOfOff` completes it. Locks in the order of the ids, as a
 * replay does (src/db/delivery/replay-deliveries.ts), or the two would wait for each other.
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
