/** One event for one webhook each: made by record_events() with the event, or by a replay; tried until one arrives. */
import type { DeliveryProblem, EndProblem, Verdict } from '../../core/operations/webhook-plan.ts';
import type { Webhook } from '../../core/records.ts';
import type { EventRow } from '../events.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import { createDeliveryTimes, type DeliveryTimes, endWaiting } from './delivery-times.ts';
import { FORGOTTEN_MS, type Replay, type Replayed, replayDeliveries } from './replay-deliveries.ts';
import { switchOff, type WebhookOwner, webhookOf } from './webhooks.ts';

/** An event with its project and with `messageId`, from which its `webhook-id` header is made. */
export type EventToDeliver = EventRow & { readonly projectId: string; readonly messageId: string };

/** A delivery with everything that an attempt needs. */
export type LoadedDelivery = {
  readonly id: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  /** A replay begins again at 0. With `lastAttemptAt` it fences: a save holds only while both are what was loaded. */
  readonly attempts: number;
  readonly lastAttemptAt: Date | null;
  /** Null where the delivery has ended. */
  readonly nextAttemptAt: Date | null;
  /** When the queue was given its job; null where the queue is not to work on it now. */
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
  >;
  readonly event: EventToDeliver;
};

/** What became of a delivery: of an attempt, or without one because of its webhook. */
export type DeliveryOutcome =
  | Verdict
  | { readonly kind: 'ended'; readonly problem: Exclude<EndProblem, 'replayed'> };

/** Deliveries as their job, the relay and the API use them. Calls reject only where the database does. */
export type DeliveryStore = DeliveryTimes & {
  /** Whatever the state of the delivery and its webhook; null where there is no such delivery. */
  load(id: string): Promise<LoadedDelivery | null>;
  /**
   * Saves what became of a delivery, what that says of its webhook's health, and a switch-off that follows, in one
   * transaction. False where another save or a replay came first: then the outcome is dropped, and a delivery that was
   * replayed waits again.
   */
  save(delivery: LoadedDelivery, outcome: DeliveryOutcome, at: Date): Promise<boolean>;
  /** Has it wait until then without an attempt. Changes nothing where it has ended or was given to the queue again. */
  putBack(delivery: LoadedDelivery, until: Date): Promise<void>;
  /** Of a webhook that the owner has. The newest events first, and of one event the newest delivery; `limit` at most. */
  list(owner: WebhookOwner, webhookId: string, limit: number): Promise<DeliveryRow[]>;
  /** Sends events again: see `replayDeliveries`. */
  replay(replay: Replay): Promise<Replayed>;
};

const listed = {
  id: true,
  status: true,
  attempts: true,
  createdAt: true,
  nextAttemptAt: true,
  lastAttemptAt: true,
  lastStatus: true,
  lastError: true,
  event: { select: { number: true, type: true, messageId: true, projectId: true } },
} as const satisfies Prisma.WebhookDeliverySelect;
/**
 * A delivery as lists show it. `lastStatus` is null where the last attempt got no HTTP answer, `lastError` where none failed
 * or the last one delivered.
 */
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
    },
  },
  event: {
    select: {
      number: true,
      type: true,
      data: true,
      at: true,
      messageId: true,
      projectId: true,
      domain: { select: { hostname: true } },
    },
  },
} as const satisfies Prisma.WebhookDeliverySelect;

/** All times are the caller's clock, so that a laboratory may use its own. */
export function createDeliveryStore(prisma: PrismaClient): DeliveryStore {
  return {
    ...createDeliveryTimes(prisma),
    load: (id) => prisma.webhookDelivery.findUnique({ where: { id }, select: loaded }),
    save: (delivery, outcome, at) => save(prisma, delivery, outcome, at),
    putBack: (delivery, until) => putBack(prisma, delivery, until),
    list: (owner, webhookId, limit) =>
      prisma.webhookDelivery.findMany({
        where: { webhook: webhookOf(owner, webhookId) },
        orderBy: [{ eventId: 'desc' }, { createdAt: 'desc' }, { id: 'asc' }],
        take: limit,
        select: listed,
      }),
    replay: (asked) => replayDeliveries(prisma, asked),
  };
}

/** Fenced by `queuedAt`: a delivery that was put back, ended or given again since stays as it is. */
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
      // Still given as it was loaded: a replay changed the row meanwhile, and the queue had only this job for it.
      await putBack(tx, delivery, new Date(at.getTime() + FORGOTTEN_MS));
      return 'late';
    }
    await noteHealth(tx, webhook, outcome, at);
    if (outcome.kind !== 'failed' || outcome.disables === null) return 'saved';
    // An answer counts for the URL that it came from: where the webhook has another one by now, it is not switched off.
    return (await switchOff(tx, webhook, outcome.disables, at)) ? 'switched_off' : 'saved';
  });
  if (saved === 'switched_off') await endWaiting(prisma, webhook.id, 'webhook_disabled');
  return saved !== 'late';
}

/** Since when nothing has arrived: written at the first failure and the first success after it, not at each attempt. */
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

function columnsOf(
  outcome: DeliveryOutcome,
  attempts: number,
  at: Date,
): Prisma.WebhookDeliveryUpdateManyMutationInput & { lastError: DeliveryProblem | null } {
  switch (outcome.kind) {
    case 'ended':
      // No attempt was made, so attempts, lastAttemptAt and lastStatus stay.
      return { status: 'failed', lastError: outcome.problem, nextAttemptAt: null };
    case 'delivered':
      return {
        ...triedOnceMore(outcome, attempts, at),
        status: 'delivered',
        lastError: null,
        nextAttemptAt: null,
      };
    case 'again':
      return {
        ...triedOnceMore(outcome, attempts, at),
        lastError: outcome.problem,
        nextAttemptAt: outcome.at,
      };
    case 'failed':
      return {
        ...triedOnceMore(outcome, attempts, at),
        status: 'failed',
        lastError: outcome.problem,
        nextAttemptAt: null,
      };
  }
}

function triedOnceMore({ httpStatus }: Verdict, attempts: number, at: Date) {
  return { attempts: attempts + 1, lastAttemptAt: at, lastStatus: httpStatus };
}
