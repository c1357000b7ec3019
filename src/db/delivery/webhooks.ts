import type { Access, Installation } from '../../core/access.ts';
import type { DisabledReason } from '../../core/operations/webhook-plan.ts';
import type { Webhook } from '../../core/records.ts';
import { andVisible, ofVisibleProject } from '../access.ts';
import type { Tx } from '../engine/transaction.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { beyondPlace, type ListRange, type Page, pageOf } from '../page.ts';
import { endWaiting } from './delivery-times.ts';

/** A project of the access; or the operators, who get the events of all projects. */
export type WebhookOwner =
  | { readonly access: Access; readonly projectId: string }
  | { readonly access: Installation; readonly projectId: null };

/** The caller chooses the id, because the secret is sealed for it. */
type NewWebhook = {
  readonly id: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly sealedSecret: Uint8Array<ArrayBuffer>;
  readonly createdAt: Date;
};

/** A new URL, or enabling, clears past failures. */
type WebhookChange = {
  readonly url?: string | undefined;
  /** Empty: every type. */
  readonly eventTypes?: readonly string[] | undefined;
  /** False: disabled on request. True: enabled again, whatever the reason was. */
  readonly enabled?: boolean | undefined;
};

type Rotation = {
  readonly sealedSecret: Uint8Array<ArrayBuffer>;
  /** The previous secret also signs until then. */
  readonly oldSecretEndsAt: Date;
};

/** Deleted webhooks, and those of another owner, are never found. */
export type WebhookStore = {
  /** Oldest first. */
  list(owner: WebhookOwner, page: ListRange): Promise<Page<Webhook>>;
  find(owner: WebhookOwner, id: string): Promise<Webhook | null>;
  /** Null if the owner already has `most`, or is a deleted project; also holds for concurrent calls. */
  create(owner: WebhookOwner, webhook: NewWebhook, most: number): Promise<Webhook | null>;
  /** Disabling ends waiting deliveries; enabling does not restore them. */
  update(owner: WebhookOwner, id: string, change: WebhookChange, at: Date): Promise<Webhook | null>;
  /** The current secret becomes the previous one; an older one stops signing. */
  rotate(owner: WebhookOwner, id: string, rotation: Rotation): Promise<Webhook | null>;
  /** Ends waiting deliveries and erases the secrets. Idempotent. */
  remove(owner: WebhookOwner, id: string, at: Date): Promise<void>;
  /** Ends waiting deliveries of a deleted project; after a crash before it, the relay does. */
  endOfProject(access: Access, projectId: string): Promise<void>;
};

/** Waiting deliveries end after the commit; after a crash in between, the relay ends them. */
export function createWebhookStore(prisma: PrismaClient): WebhookStore {
  return {
    async list(owner, { after, limit }) {
      const rows = await prisma.webhook.findMany({
        where: { ...ownedBy(owner), deletedAt: null, ...beyondPlace('createdAt', after, 'asc') },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit + 1,
      });
      return pageOf(rows, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
    },
    find: (owner, id) =>
      prisma.webhook.findFirst({ where: { ...ownedBy(owner), id, deletedAt: null } }),
    create: (owner, webhook, most) => prisma.$transaction((tx) => create(tx, owner, webhook, most)),
    update: (owner, id, change, at) => update(prisma, { owner, id }, change, at),
    rotate: (owner, id, rotation) =>
      prisma.$transaction((tx) => rotate(tx, { owner, id }, rotation)),
    remove: (owner, id, at) => remove(prisma, { owner, id }, at),
    async endOfProject(access, projectId) {
      const webhooks = await prisma.webhook.findMany({
        where: { projectId, ...ofVisibleProject(access) },
        select: { id: true },
      });
      for (const { id } of webhooks) await endWaiting(prisma, id, 'webhook_deleted');
    },
  };
}

function ownedBy({ access, projectId }: WebhookOwner) {
  return { projectId, ...(projectId !== null && ofVisibleProject(access)) };
}

async function create(
  tx: Tx,
  owner: WebhookOwner,
  webhook: NewWebhook,
  most: number,
): Promise<Webhook | null> {
  const { projectId } = owner;
  const { eventTypes } = webhook;
  // Without it, concurrent calls could exceed `most`. Embedded storage serializes transactions
  // anyway.
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext(${`webhooks ${projectId}`}))`;
  const present = await tx.webhook.count({ where: { ...ownedBy(owner), deletedAt: null } });
  if (present >= most) return null;
  if (projectId !== null && !(await isPresent(tx, owner.access, projectId))) return null;
  return tx.webhook.create({ data: { ...webhook, projectId, eventTypes: [...eventTypes] } });
}

/** Waits for the project's deletion, and keeps it from starting. */
async function isPresent(tx: Tx, access: Access, projectId: string): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM project WHERE id = ${projectId}::uuid AND deleted_at IS NULL
      ${andVisible(access, Prisma.sql`id`)} FOR KEY SHARE`;
  return rows.length > 0;
}

type OwnedWebhook = { readonly owner: WebhookOwner; readonly id: string };

const present = ({ owner, id }: OwnedWebhook) => ({ ...ownedBy(owner), id, deletedAt: null });

/** `hasEnded`: deliveries from the disabled period have been ended. */
async function update(
  prisma: PrismaClient,
  which: OwnedWebhook,
  change: WebhookChange,
  at: Date,
  hasEnded = false,
): Promise<Webhook | null> {
  const updated = await prisma.$transaction((tx) => write(tx, which, change, { at, hasEnded }));
  if (updated === 'waits') {
    await end(prisma, which, 'webhook_disabled');
    return update(prisma, which, change, at, true);
  }
  if (change.enabled === false && updated !== null) await end(prisma, which, 'webhook_disabled');
  return updated;
}

/**
 * `waits`: the caller must end deliveries in a transaction before, because deliveries are locked
 * before webhooks.
 */
async function write(
  tx: Tx,
  which: OwnedWebhook,
  { url, eventTypes, enabled }: WebhookChange,
  { at, hasEnded }: { readonly at: Date; readonly hasEnded: boolean },
): Promise<Webhook | null | 'waits'> {
  const before = await lock(tx, which);
  if (before === undefined) return null;
  // Deliveries created while it was being disabled must not be sent after it is enabled.
  if (enabled === true && before.isOff && !hasEnded) return 'waits';
  const isNew = url !== undefined && url !== before.url;
  if (enabled === false)
    await switchOff(tx, { id: which.id, projectId: which.owner.projectId }, 'requested', at);
  const [row] = await tx.webhook.updateManyAndReturn({
    where: present(which),
    data: {
      ...(url !== undefined && { url }),
      ...(eventTypes !== undefined && { eventTypes: [...eventTypes] }),
      ...(enabled === true && { disabledAt: null, disabledReason: null }),
      // A new receiver, or the owner says that it works again: earlier failures no longer count.
      ...((enabled === true || isNew) && { failingSince: null }),
    },
  });
  return row ?? null;
}

/** Until the transaction ends. */
async function lock(tx: Tx, { owner: { access, projectId }, id }: OwnedWebhook) {
  type Row = { url: string; isOff: boolean; secret: Uint8Array<ArrayBuffer> };
  const [row] = await tx.$queryRaw<Row[]>`
    SELECT url, disabled_at IS NOT NULL AS "isOff", sealed_secret AS secret FROM webhook
    WHERE id = ${id}::uuid AND project_id IS NOT DISTINCT FROM ${projectId}::uuid
      AND deleted_at IS NULL ${andVisible(access, Prisma.sql`project_id`)}
    FOR NO KEY UPDATE`;
  return row;
}

async function rotate(
  tx: Tx,
  which: OwnedWebhook,
  { sealedSecret, oldSecretEndsAt }: Rotation,
): Promise<Webhook | null> {
  const before = await lock(tx, which);
  if (before === undefined) return null;
  const [rotated] = await tx.webhook.updateManyAndReturn({
    where: present(which),
    data: { sealedSecret, sealedOldSecret: before.secret, oldSecretEndsAt },
  });
  return rotated ?? null;
}

/** Erases the secrets. */
export function deletedColumns(at: Date) {
  return {
    deletedAt: at,
    sealedSecret: new Uint8Array(),
    sealedOldSecret: null,
    oldSecretEndsAt: null,
  };
}

async function remove(prisma: PrismaClient, which: OwnedWebhook, at: Date): Promise<void> {
  const { count } = await prisma.webhook.updateMany({
    where: present(which),
    data: deletedColumns(at),
  });
  if (count > 0) await end(prisma, which, 'webhook_deleted');
}

/**
 * `url`: only while the webhook has it. Returns whether it was enabled. The caller ends waiting
 * deliveries after the transaction: endWaiting().
 */
export async function switchOff(
  tx: Tx,
  { id, projectId, url }: Pick<Webhook, 'id' | 'projectId'> & { readonly url?: string },
  reason: DisabledReason,
  at: Date,
): Promise<boolean> {
  const { count } = await tx.webhook.updateMany({
    where: { projectId, id, ...(url !== undefined && { url }), disabledAt: null, deletedAt: null },
    data: { disabledAt: at, disabledReason: reason },
  });
  return count > 0;
}

/** Every caller has checked the owner. */
function end(
  prisma: PrismaClient,
  { id }: OwnedWebhook,
  problem: 'webhook_disabled' | 'webhook_deleted',
) {
  return endWaiting(prisma, id, problem);
}
