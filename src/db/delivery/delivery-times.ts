/** Waiting rows stay here. The queue holds a few per webhook, so none delays another. */

import type { EndProblem } from '../../core/operations/webhook-plan.ts';
import type { PrismaClient } from '../generated/client.ts';

export type QueuedDelivery = {
  readonly id: string;
  /** Null: of the installation's webhook. */
  readonly projectId: string | null;
};

/** Safe for concurrent use by several processes. All times come from the caller's clock. */
export type DeliveryTimes = {
  /**
   * Marks due deliveries as queued: at most `inFlight` per enabled webhook, without quarantined
   * ones. Accounts take turns, and so do the webhooks of one; each by time, then by event.
   */
  giveDue(at: Date, inFlight: number, limit: number): Promise<readonly QueuedDelivery[]>;
  /** Marks deliveries queued before `givenBefore` that still wait, except quarantined ones. */
  giveAgain(givenBefore: Date, at: Date, limit: number): Promise<readonly QueuedDelivery[]>;
  /** Undoes the mark made at `at`, for deliveries that could not be queued. */
  takeBack(ids: readonly string[], at: Date): Promise<void>;
  /** Of disabled and deleted webhooks: created meanwhile, or left after a crash. */
  endOfOff(): Promise<void>;
  /** Deletes ended deliveries; returns how many. */
  prune(before: Date, limit: number): Promise<number>;
  /** Deletes removed webhooks without deliveries; call it after `prune`. */
  pruneWebhooks(before: Date): Promise<void>;
};

/** `endOfOff` works in batches with a transaction each; every other call is one statement. */
export function createDeliveryTimes(prisma: PrismaClient): DeliveryTimes {
  return {
    giveDue: (at, inFlight, limit) => giveDue(prisma, at, inFlight, limit),
    giveAgain: (givenBefore, at, limit) =>
      prisma.$queryRaw<QueuedDelivery[]>`
        UPDATE webhook_delivery SET queued_at = ${at.toISOString()}::timestamptz
        FROM webhook WHERE webhook.id = webhook_id AND webhook_delivery.id IN (
          SELECT id FROM webhook_delivery AS d
          WHERE status = 'pending' AND queued_at < ${givenBefore.toISOString()}::timestamptz
            AND NOT EXISTS (SELECT FROM quarantine
              WHERE queue = 'deliver-webhook' AND job_id = d.id::text)
          ORDER BY queued_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING webhook_delivery.id, webhook.project_id AS "projectId"`,
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
 * Concurrent calls lock, and take, different rows. The statement steps through the index from
 * webhook to webhook, so a long backlog costs no more than a short one.
 */
async function giveDue(prisma: PrismaClient, at: Date, inFlight: number, limit: number) {
  const now = at.toISOString();
  const given = await prisma.$queryRaw<(QueuedDelivery & { nth: bigint; nextAttemptAt: Date })[]>`
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
    ), chosen AS (
      SELECT due.id, due.next_attempt_at, webhook.project_id, row_number() OVER (
        PARTITION BY project.account_id ORDER BY due.nth, due.next_attempt_at) AS nth
      FROM waiting
        JOIN webhook ON webhook.id = waiting.webhook_id
          AND webhook.deleted_at IS NULL AND webhook.disabled_at IS NULL
        LEFT JOIN project ON project.id = webhook.project_id
        LEFT JOIN flying ON flying.webhook_id = waiting.webhook_id
        CROSS JOIN LATERAL (
          SELECT id, next_attempt_at, row_number() OVER (ORDER BY next_attempt_at, event_id) AS nth
          FROM (
            SELECT id, next_attempt_at, event_id FROM webhook_delivery AS d
            WHERE d.webhook_id = waiting.webhook_id AND d.queued_at IS NULL AND d.status = 'pending'
              AND d.next_attempt_at <= ${now}::timestamptz
            ORDER BY d.next_attempt_at, d.event_id
            LIMIT greatest(0, ${inFlight}::bigint - coalesce(flying.count, 0))
          ) AS next
        ) AS due
      ORDER BY nth, due.next_attempt_at LIMIT ${limit}
    ), taken AS (
      SELECT d.id FROM webhook_delivery AS d
      WHERE d.id IN (SELECT id FROM chosen) AND d.queued_at IS NULL AND d.status = 'pending'
      FOR UPDATE SKIP LOCKED
    )
    UPDATE webhook_delivery AS d SET queued_at = ${now}::timestamptz
    FROM chosen WHERE chosen.id = d.id AND d.id IN (SELECT id FROM taken)
    RETURNING d.id, chosen.project_id AS "projectId", chosen.nth,
      chosen.next_attempt_at AS "nextAttemptAt"`;
  // RETURNING guarantees no order.
  return given.sort(
    (a, b) => Number(a.nth - b.nth) || a.nextAttemptAt.getTime() - b.nextAttemptAt.getTime(),
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

/** Rows per statement, for waiting and for queued ones. */
const BATCH = 5_000;

/**
 * Call it after the transaction that disables the webhook; after a crash in between, `endOfOff`
 * completes it. Locks in the order of ids, like a replay, to avoid deadlocks.
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
