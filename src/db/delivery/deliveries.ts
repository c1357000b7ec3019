/** One event for one webhook. Created with the event by record_events(), or by a replay. */
import type { Access } from '../../core/access.ts';
import type {
  DeliveryDecision,
  DeliveryProblem,
  EndProblem,
} from '../../core/operations/webhook-plan.ts';
import type { Webhook } from '../../core/records.ts';
import { ofVisibleProject } from '../access.ts';
import { type EventRow, eventColumns } from '../events.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import { type ListPlace, type ListRange, type Page, pageOf } from '../page.ts';
import { createDeliveryTimes, type DeliveryTimes, endWaiting } from './delivery-times.ts';
import { FORGOTTEN_MS, type Replay, type Replayed, replayDeliveries } from './replay-deliveries.ts';
import { switchOff } from './webhooks.ts';

/** `messageId`: the source of the `webhook-id` header. */
export type EventToDeliver = EventRow & { readonly projectId: string; readonly messageId: string };

export type LoadedDelivery = {
  readonly id: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  /** A replay resets it to 0. With `lastAttemptAt` it fences saves. */
  readonly attempts: number;
  readonly lastAttemptAt: Date | null;
  readonly nextAttemptAt: Date | null;
  readonly queuedAt: Date | null;
  readonly webhook: Pick<
    Webhook,
    | 'id'
    | 'projectId'
    | 'url'
    | 'sealedSecret'
    | 'sealedOldSecret'
    | 'oldSecretEndsAt'
    | 'disabledAt'
    | 'deletedAt'
    | 'failingSince'
  > & {
    /** Null: the webhook is the installation's. */
    readonly project: { readonly accountId: string } | null;
  };
  readonly event: EventToDeliver;
};

/** `ended`: because of the webhook's state. */
export type DeliveryOutcome =
  | DeliveryDecision
  | { readonly kind: 'ended'; readonly problem: Exclude<EndProblem, 'replayed'> };

/** Calls reject only if the database fails. */
export type DeliveryStore = DeliveryTimes & {
  /** In any state of the delivery and its webhook. */
  load(id: string): Promise<LoadedDelivery | null>;
  /**
   * One transaction, including the webhook's health and a resulting disabling. False if another
   * save or a replay came first: the result is dropped, and a replayed delivery waits again.
   */
  save(delivery: LoadedDelivery, outcome: DeliveryOutcome, at: Date): Promise<boolean>;
  /** Postpones without an attempt. Does nothing if it has ended or was queued again. */
  putBack(delivery: LoadedDelivery, until: Date): Promise<void>;
  /** Newest events first; for one event, newest deliveries first. */
  list(
    access: Access,
    webhookId: string,
    page: ListRange<DeliveryPlace>,
  ): Promise<Page<DeliveryRow, DeliveryPlace>>;
  replay(replay: Replay): Promise<Replayed>;
};

/** In a webhook's list: by event, then by time, the newest first, then by ID. */
export type DeliveryPlace = ListPlace & { readonly eventId: bigint };

const listed = {
  id: true,
  eventId: true,
  status: true,
  attempts: true,
  createdAt: true,
  nextAttemptAt: true,
  lastAttemptAt: true,
  lastStatus: true,
  lastError: true,
  event: { select: { number: true, type: true, messageId: true, projectId: true } },
} as const satisfies Prisma.WebhookDeliverySelect;
/** `lastError`: null if no attempt failed or the last one succeeded. */
export type DeliveryRow = Prisma.WebhookDeliveryGetPayload<{ select: typeof listed }>;

const loaded = {
  id: true,
  status: true,
  attempts: true,
  lastAttemptAt: true,
  nextAttemptAt: true,
  queuedAt: true,
  webhook: {
    select: {
      id: true,
      projectId: true,
      url: true,
      sealedSecret: true,
      sealedOldSecret: true,
      oldSecretEndsAt: true,
      disabledAt: true,
      deletedAt: true,
      failingSince: true,
      project: { select: { accountId: true } },
    },
  },
  event: { select: { ...eventColumns, messageId: true, projectId: true } },
} as const satisfies Prisma.WebhookDeliverySelect;

/** All times come from the caller's clock. */
export function createDeliveryStore(prisma: PrismaClient): DeliveryStore {
  return {
    ...createDeliveryTimes(prisma),
    load: (id) => prisma.webhookDelivery.findUnique({ where: { id }, select: loaded }),
    save: (delivery, outcome, at) => save(prisma, delivery, outcome, at),
    putBack: (delivery, until) => putBack(prisma, delivery, until),
    async list(access, webhookId, { after, limit }) {
      const rows = await prisma.webhookDelivery.findMany({
        where: { webhookId, ...eventsOf(access), ...beyondDelivery(after) },
        orderBy: [{ eventId: 'desc' }, { createdAt: 'desc' }, { id: 'asc' }],
        take: limit + 1,
        select: listed,
      });
      return pageOf(rows, limit, ({ eventId, createdAt, id }) => ({ eventId, at: createdAt, id }));
    },
    replay: (asked) => replayDeliveries(prisma, asked),
  };
}

function eventsOf(access: Access): Prisma.WebhookDeliveryWhereInput {
  return access.kind === 'installation' ? {} : { event: ofVisibleProject(access) };
}

function beyondDelivery(place: DeliveryPlace | null): Prisma.WebhookDeliveryWhereInput {
  if (place === null) return {};
  const { eventId, at, id } = place;
  return {
    eventId: { lte: eventId },
    OR: [
      { eventId: { lt: eventId } },
      { createdAt: { lt: at } },
      { createdAt: at, id: { gt: id } },
    ],
  };
}

/** Fenced by `queuedAt`. */
async function putBack(
  tx: Prisma.TransactionClient,
  { id, queuedAt }: LoadedDelivery,
  until: Date,
): Promise<void> {
  if (queuedAt === null) return;
  await tx.webhookDelivery.updateMany({
    where: { id, status: 'pending', queuedAt },
    data: { queuedAt: null, nextAttemptAt: until },
  });
}

async function save(
  prisma: PrismaClient,
  delivery: LoadedDelivery,
  outcome: DeliveryOutcome,
  at: Date,
): Promise<boolean> {
  const { id, attempts, lastAttemptAt, webhook } = delivery;
  const saved = await prisma.$transaction(async (tx) => {
    const { count } = await tx.webhookDelivery.updateMany({
      where: { id, status: 'pending', attempts, lastAttemptAt },
      data: { ...columnsOf(outcome, attempts, at), queuedAt: null },
    });
    if (count === 0) {
      // Still queued as loaded: a replay changed the row, and the queue had only this job for it.
      await putBack(tx, delivery, new Date(at.getTime() + FORGOTTEN_MS));
      return 'late';
    }
    await noteHealth(tx, webhook, outcome, at);
    if (outcome.kind !== 'failed' || outcome.disables === null) return 'saved';
    // The response concerns the URL that it came from: if the webhook has a new URL, it stays
    // enabled.
    return (await switchOff(tx, webhook, outcome.disables, at)) ? 'switched_off' : 'saved';
  });
  if (saved === 'switched_off') await endWaiting(prisma, webhook.id, 'webhook_disabled');
  return saved !== 'late';
}

/** Written at the first failure and the first success after it, not at each attempt. */
async function noteHealth(
  tx: Prisma.TransactionClient,
  { id, url }: LoadedDelivery['webhook'],
  { kind }: DeliveryOutcome,
  at: Date,
): Promise<void> {
  if (kind === 'ended') return;
  const [where, failingSince] =
    kind === 'delivered' ? [{ failingSince: { not: null } }, null] : [{ failingSince: null }, at];
  await tx.webhook.updateMany({
    where: { id, url, disabledAt: null, ...where },
    data: { failingSince },
  });
}

/** Without an attempt, what the last one left stays. */
function columnsOf(
  outcome: DeliveryOutcome,
  attempts: number,
  at: Date,
): Prisma.WebhookDeliveryUpdateManyMutationInput & { lastError: DeliveryProblem | null } {
  const { kind } = outcome;
  return {
    ...(kind !== 'ended' && {
      attempts: attempts + 1,
      lastAttemptAt: at,
      lastStatus: outcome.httpStatus,
    }),
    ...(kind !== 'again' && { status: kind === 'delivered' ? 'delivered' : 'failed' }),
    lastError: kind === 'delivered' ? null : outcome.problem,
    nextAttemptAt: kind === 'again' ? outcome.at : null,
  };
}
