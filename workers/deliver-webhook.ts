/**
 * pending → delivered, or the next attempt; failed after the last one, after a 410, or if the
 * webhook is deleted or disabled.
 * Woken by: the relay, for each attempt; no job waits in the queue for a later attempt.
 * Reads: the delivery with its webhook and its event.
 * Writes: the result of the attempt; disables a failing webhook.
 * May run twice: the receiver gets the same webhook-id again, and the save succeeds only for the
 * attempt that was loaded.
 */
import {
  DELIVERY_TIMEOUT_MS,
  type DeliveryDecision,
  decideAttempt,
  type WebhookResponse,
} from '../src/core/operations/webhook-plan.ts';
import type { DeliveryOutcome, LoadedDelivery } from '../src/db/delivery/deliveries.ts';
import { hostOf } from '../src/net/destination.ts';
import type { Service } from '../src/service/service.ts';
import { bodyOf, messageIdOf, signedHeaders } from '../src/webhooks/message.ts';
import { done, type JobResult } from './running/job.ts';

/** Per account's receiver, project and account, so that slow receivers do not delay others. */
export const deliveriesInFlight = { host: 4, project: 8, account: 150 } as const;

/** Without a slot: short, but longer than the queue takes to forget this job. */
const CROWDED_WAIT_MS = { least: 1_000, spread: 500 } as const;

/** Does nothing if the delivery is no longer queued. Each attempt is a new job. */
export async function deliverWebhook(
  service: Service,
  { deliveryId }: { readonly deliveryId: string },
): Promise<JobResult> {
  const delivery = await service.deliveries.load(deliveryId);
  if (delivery === null || delivery.status !== 'pending') return done;
  // Another run of this job was faster, and the row waits for its next attempt.
  if (delivery.queuedAt === null) return done;
  const ended = endOf(delivery);
  if (ended !== null) return save(service, delivery, ended, service.now());
  const leave = enterAll(service, delivery);
  if (leave === null) {
    await service.deliveries.putBack(delivery, afterTheCrowd(service));
    return done;
  }
  try {
    return await attempt(service, delivery);
  } finally {
    leave();
  }
}

async function attempt(service: Service, delivery: LoadedDelivery): Promise<JobResult> {
  const answer = await post(service, delivery, service.now());
  const now = service.now();
  const { attempts, webhook } = delivery;
  const verdict = decideAttempt({
    answer,
    attempts,
    failingSince: webhook.failingSince,
    now,
    timeScale: service.config.timeScale,
    jitter: service.random(),
  });
  return save(service, delivery, verdict, now);
}

async function save(
  service: Service,
  delivery: LoadedDelivery,
  outcome: DeliveryOutcome,
  now: Date,
): Promise<JobResult> {
  // Another save came first and decides what happens next.
  if (!(await service.deliveries.save(delivery, outcome, now))) return done;
  switch (outcome.kind) {
    case 'delivered':
    case 'again':
      return done;
    case 'failed':
      return { kind: 'over', reason: inWords(outcome) };
    case 'ended':
      return { kind: 'over', reason: outcome.problem };
  }
}

/** A receiver's failure is a result. */
function post(
  { send, vault }: Service,
  { event, webhook }: LoadedDelivery,
  at: Date,
): Promise<WebhookResponse> {
  const body = bodyOf(event);
  const headers = signedHeaders(vault, webhook, { messageId: messageIdOf(event), at, body });
  return send({ url: webhook.url, headers, body, timeoutMs: DELIVERY_TIMEOUT_MS });
}

/** A slot of the account's receiver, the project and the account, or none. Returns the release function. */
function enterAll({ deliverySlots }: Service, { webhook }: LoadedDelivery): (() => void) | null {
  const host = URL.canParse(webhook.url) ? hostOf(new URL(webhook.url)) : '';
  const { projectId, project } = webhook;
  const account = project?.accountId ?? null;
  const names = { host: `${host} of ${account}`, project: projectId, account };
  const entered: (() => void)[] = [];
  const leaveAll = () => {
    for (const leave of entered.toReversed()) leave();
  };
  for (const kind of ['host', 'project', 'account'] as const) {
    const leave = deliverySlots.admit(`${kind} ${names[kind]}`, deliveriesInFlight[kind]);
    if (typeof leave !== 'function') {
      leaveAll();
      return null;
    }
    entered.push(leave);
  }
  return leaveAll;
}

function endOf({ webhook }: LoadedDelivery): DeliveryOutcome | null {
  if (webhook.deletedAt !== null) return { kind: 'ended', problem: 'webhook_deleted' };
  return webhook.disabledAt === null ? null : { kind: 'ended', problem: 'webhook_disabled' };
}

function afterTheCrowd({ now, random }: Service): Date {
  const waitMs = CROWDED_WAIT_MS.least + CROWDED_WAIT_MS.spread * random();
  return new Date(now().getTime() + Math.round(waitMs));
}

function inWords({
  problem,
  httpStatus,
}: Exclude<DeliveryDecision, { kind: 'delivered' }>): string {
  return httpStatus === null ? problem : `${problem} (${httpStatus})`;
}
