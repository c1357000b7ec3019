/** Addresses that receive events: a project's, or an operator's, which get those of all projects and have no project in their row. */

import type { GrantedProjectId, InstallationAccess } from '../../core/accounts/access.ts';
import type { DisabledReason } from '../../core/operations/webhook-plan.ts';
import type { Webhook } from '../../core/records.ts';
import { createdAfter, firstPage, type PageQuery } from '../engine/page.ts';
import { afterCommit, type Tx } from '../engine/transaction.ts';
import type { PrismaClient } from '../generated/client.ts';
import { endWaiting } from './delivery-times.ts';

/** Whose webhooks: a project's, or with the installation's access the operators'. */
export type WebhookOwner = GrantedProjectId | InstallationAccess;

/** A webhook to be stored. Its id is drawn before, because the secret is sealed for it. */
export type NewWebhook = {
  readonly id: string;
  readonly owner: WebhookOwner;
  readonly url: string;
  /** Empty: every type. */
  readonly eventTypes: readonly string[];
  /** Sealed for this id (src/webhooks/message.ts). */
  readonly sealedSecret: Uint8Array<ArrayBuffer>;
  readonly createdAt: Date;
};

/** What is to change; a missing field stays as it is. Another URL, or switching it on, forgets past failures. */
export type WebhookChange = {
  readonly url?: string | undefined;
  /** Empty: every type. */
  readonly eventTypes?: readonly string[] | undefined;
  /** False: off at its owner's request. True: on again, whatever it was switched off for. */
  readonly enabled?: boolean | undefined;
};

/** A new secret that signs from now on. */
export type Rotation = {
  readonly sealedSecret: Uint8Array<ArrayBuffer>;
  /** Until then the previous secret signs as well. */
  readonly oldSecretEndsAt: Date;
};

/** Webhooks by their owner. No call finds a deleted one, or another owner's. */
export type WebhookStore = {
  /** Oldest first, a page of them. */
  list(owner: WebhookOwner, page?: PageQuery): Promise<Webhook[]>;
  /** Null where there is none. */
  find(owner: WebhookOwner, id: string): Promise<Webhook | null>;
  /** Null where the owner has `most` already; of several that are created at once none exceeds it. */
  create(webhook: NewWebhook, most: number): Promise<Webhook | null>;
  /** Null where there is none. Switching off ends what was still to be delivered; switching on does not bring it back. */
  update(owner: WebhookOwner, id: string, change: WebhookChange, at: Date): Promise<Webhook | null>;
  /** Null where there is none. The current secret becomes the previous one; one that was previous before signs no more. */
  rotate(owner: WebhookOwner, id: string, rotation: Rotation): Promise<Webhook | null>;
  /** Ends what was still to be delivered, and erases the secrets. False where there is none: then it does nothing. */
  remove(owner: WebhookOwner, id: string, at: Date): Promise<boolean>;
};

/** Waiting deliveries are ended after the change is committed; where a process dies in between, the relay ends them. */
export function createWebhookStore(prisma: PrismaClient): WebhookStore {
  return {
    list: (owner, { after, limit } = firstPage) =>
      prisma.webhook.findMany({
        where: { projectId: projectOf(owner), deletedAt: null, ...createdAfter(after) },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit,
      }),
    find: (owner, id) =>
      prisma.webhook.findFirst({ where: { ...webhookOf(owner, id), deletedAt: null } }),
    create: (webhook, most) => prisma.$transaction((tx) => create(tx, webhook, most)),
    update: (owner, id, change, at) => update(prisma, webhookOf(owner, id), change, at),
    rotate: (owner, id, rotation) =>
      prisma.$transaction((tx) => rotate(tx, webhookOf(owner, id), rotation)),
    remove: (owner, id, at) => remove(prisma, webhookOf(owner, id), at),
  };
}

async function create(
  tx: Tx,
  { owner, ...webhook }: NewWebhook,
  most: number,
): Promise<Webhook | null> {
  const projectId = projectOf(owner);
  // Without it, two at once would both count one too few. On embedded storage transactions run one after the other anyway.
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext(${`webhooks ${projectId}`}))`;
  const present = await tx.webhook.count({ where: { projectId, deletedAt: null } });
  if (present >= most) return null;
  const eventTypes = [...webhook.eventTypes];
  return tx.webhook.create({ data: { ...webhook, projectId, eventTypes } });
}

type Which = { readonly projectId: string | null; readonly id: string };

/** The row of a webhook, where it is the owner's. */
export function webhookOf(owner: WebhookOwner, id: string): Which {
  return { projectId: projectOf(owner), id };
}

/** As the row has it: null for operators'. */
function projectOf(owner: WebhookOwner): string | null {
  return typeof owner === 'string' ? owner : null;
}

/** Thrown to undo `write`, so that the lock of the webhook is given back also within another transaction. */
const waits = new Error('undone: what waits for the webhook has to be ended first');

/** `hasEnded`: what waited while the webhook was off has been ended. */
async function update(
  prisma: PrismaClient,
  which: Which,
  change: WebhookChange,
  at: Date,
  hasEnded = false,
): Promise<Webhook | null> {
  try {
    const updated = await prisma.$transaction((tx) => write(tx, which, change, { at, hasEnded }));
    if (change.enabled === false && updated !== null) await end(prisma, which, 'webhook_disabled');
    return updated;
  } catch (fault) {
    if (fault !== waits) throw fault;
    await endWaiting(prisma, which.id, 'webhook_disabled');
    return update(prisma, which, change, at, true);
  }
}

/**
 * Throws `waits` where it is off and is to be on: what waits has to be ended first. Not here: a delivery is locked before its
 * webhook, and the other way round would wait for each other.
 */
async function write(
  tx: Tx,
  which: Which,
  { url, eventTypes, enabled }: WebhookChange,
  { at, hasEnded }: { readonly at: Date; readonly hasEnded: boolean },
): Promise<Webhook | null> {
  const before = await lock(tx, which);
  if (before === undefined) return null;
  // Deliveries made while it was being switched off are not sent once it is on again.
  if (enabled === true && before.isOff && !hasEnded) throw waits;
  const isNew = url !== undefined && url !== before.url;
  if (enabled === false) await switchOff(tx, which, 'requested', at);
  const [row] = await tx.webhook.updateManyAndReturn({
    where: { ...which, deletedAt: null },
    data: {
      ...(url !== undefined && { url }),
      ...(eventTypes !== undefined && { eventTypes: [...eventTypes] }),
      ...(enabled === true && { disabledAt: null, disabledReason: null }),
      // Another receiver, or an owner who says that it works again: earlier failures say nothing about it.
      ...((enabled === true || isNew) && { failingSince: null }),
    },
  });
  return row ?? null;
}

/** What a change goes by, read and held until the transaction ends; undefined where there is no such webhook. */
async function lock(tx: Tx, { projectId, id }: Which) {
  type Row = { url: string; isOff: boolean; secret: Uint8Array<ArrayBuffer> };
  const [row] = await tx.$queryRaw<Row[]>`
    SELECT url, disabled_at IS NOT NULL AS "isOff", sealed_secret AS secret FROM webhook
    WHERE id = ${id}::uuid AND project_id IS NOT DISTINCT FROM ${projectId}::uuid
      AND deleted_at IS NULL
    FOR NO KEY UPDATE`;
  return row;
}

async function rotate(
  tx: Tx,
  which: Which,
  { sealedSecret, oldSecretEndsAt }: Rotation,
): Promise<Webhook | null> {
  const before = await lock(tx, which);
  if (before === undefined) return null;
  const [rotated] = await tx.webhook.updateManyAndReturn({
    where: { ...which, deletedAt: null },
    data: { sealedSecret, sealedOldSecret: before.secret, oldSecretEndsAt },
  });
  return rotated ?? null;
}

async function remove(prisma: PrismaClient, which: Which, at: Date): Promise<boolean> {
  const { count } = await prisma.webhook.updateMany({
    where: { ...which, deletedAt: null },
    data: {
      deletedAt: at,
      sealedSecret: new Uint8Array(),
      sealedOldSecret: null,
      oldSecretEndsAt: null,
    },
  });
  if (count > 0) await end(prisma, which, 'webhook_deleted');
  return count > 0;
}

/**
 * Switches an owner's webhook off, with `url` only while it has this URL; returns whether it was on and is off now. What
 * still waits is ended by the caller after the transaction: endWaiting().
 */
export async function switchOff(
  tx: Tx,
  { projectId, id, url }: Which & { readonly url?: string },
  reason: DisabledReason,
  at: Date,
): Promise<boolean> {
  const { count } = await tx.webhook.updateMany({
    where: { projectId, id, ...(url !== undefined && { url }), disabledAt: null, deletedAt: null },
    data: { disabledAt: at, disabledReason: reason },
  });
  return count > 0;
}

/**
 * By id alone: every caller has found the webhook to be the owner's. After the commit also of a transaction around this,
 * which locks the webhook until then.
 */
function end(prisma: PrismaClient, { id }: Which, problem: 'webhook_disabled' | 'webhook_deleted') {
  return afterCommit(prisma, () => endWaiting(prisma, id, problem));
}
