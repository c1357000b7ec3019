/** Webhooks and their deliveries as the API shows them: never a secret, never what a receiver answered but its status. */
import type { DeliveryRow } from '../../db/delivery/deliveries.ts';
import type { Webhook } from '../../db/generated/client.ts';
import { messageIdOf } from '../../webhooks/message.ts';

/** The Webhook of docs/api.md. */
export function webhookView(webhook: Webhook, now: Date) {
  const { id, projectId, url, eventTypes, disabledAt, disabledReason, oldSecretEndsAt } = webhook;
  return {
    id,
    projectId,
    url,
    events: eventTypes,
    enabled: disabledAt === null,
    disabledAt,
    disabledReason,
    oldSecretEndsAt: oldSecretEndsAt !== null && oldSecretEndsAt > now ? oldSecretEndsAt : null,
    createdAt: webhook.createdAt,
  };
}

/** The Delivery of docs/api.md. */
export function deliveryView({ event, ...delivery }: DeliveryRow) {
  return {
    id: delivery.id,
    messageId: messageIdOf(event),
    projectId: event.projectId,
    event: event.number,
    type: event.type,
    status: delivery.status,
    attempts: delivery.attempts,
    createdAt: delivery.createdAt,
    lastAttemptAt: delivery.lastAttemptAt,
    lastStatus: delivery.lastStatus,
    lastError: delivery.lastError,
    nextAttemptAt: delivery.nextAttemptAt,
  };
}
