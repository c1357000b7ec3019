/** Webhooks and their deliveries as schemas: they validate, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { isUuid } from '../../core/operations/jobs.ts';
import type { DeliveryProblem, DisabledReason } from '../../core/operations/webhook-plan.ts';
import { deliveryStatuses } from '../../core/records.ts';
import { int64, text, time, uuid, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { pageFields } from '../pipeline/page.ts';
import { inTheseWords } from '../pipeline/validate.ts';
import { explainedEnum } from './common.ts';
import { eventType } from './events.ts';
import { docsProject, projectId } from './projects.ts';

/** Exactly those of src/core/operations/webhook-plan.ts. */
const disabledReason = explainedEnum('WebhookDisabledReason', 'Why it is switched off', {
  requested: 'Somebody asked for it',
  gone: 'Its receiver answered 410',
  failing: 'Nothing has arrived for 5 days',
} satisfies Readonly<Record<DisabledReason, string>>);

/** Nothing else of what a receiver answered is kept. */
const problem = explainedEnum('DeliveryProblem', 'Why the last attempt failed, or none was made', {
  not_accepted: 'The receiver answered, and not with a 2xx; `lastStatus` says with what',
  redirected: 'The receiver answered with a redirect, which is not followed; change the URL',
  gone: 'The receiver answered 410, which switches the webhook off',
  timed_out: 'There was no answer within 10 seconds',
  connection_failed: 'No connection, or it broke off before the answer',
  tls_failed: 'The handshake failed; most often the certificate is not valid for the name',
  name_not_resolved: 'The host name has no address',
  name_not_told: 'The host name did not resolve',
  address_refused: 'The host name leads to a private network',
  url_refused: 'The URL is not one that may be called any more',
  webhook_deleted: 'The webhook was deleted',
  webhook_disabled: 'The webhook was switched off',
  replayed: 'A replay took its place',
} satisfies Readonly<Record<DeliveryProblem, string>>);

/** Its form is checked here; where it leads, by src/net/destination.ts, when it is stored and before each attempt. */
const url = text({ max: 2_048 })
  .register(wireTypes, { type: 'string', format: 'uri', minLength: 1, maxLength: 2_048 })
  .meta({
    description:
      'Where events are sent: an https URL without credentials or fragment, on a public address',
  });

/** No type twice; the order means nothing. */
const events = z
  .array(eventType, { error: inTheseWords('must be a list') })
  .refine((list) => new Set(list).size === list.length, 'must not name a type twice')
  .meta({ description: 'The types to send; empty for all', uniqueItems: true });

const enabled = z.boolean().meta({ description: 'Whether events are sent' });

/** Body of making a webhook, a project's or an operator's. Without `events`, all types are sent. */
export const newWebhook = z
  .strictObject({ url, events: events.default([]) })
  .meta({ id: 'NewWebhook', description: 'A webhook to be made' });

/** Body of `PATCH`. `enabled` switches the webhook off and on; switching it on sends nothing of the time before. */
export const webhookChange = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    enabled: enabled.optional(),
  })
  .meta({ id: 'WebhookChange', description: 'The fields to change; the others stay as they are' });

const after = int64().meta({ description: 'The events after this number' });
const oneEvent = int64().meta({ description: 'This event alone, whatever its type' });

/** Body of a replay for a project's webhook: exactly one of both, which the refusal says in words. */
export const replay = z
  .strictObject({ after: after.optional(), event: oneEvent.optional() })
  .refine(isOne, 'must have either after or event')
  .meta({ id: 'Replay', description: 'What to send again: either `after` or `event`' });

/** Body of a replay for an operator's webhook; the number is one of the named project's. */
export const operatorReplay = z
  .strictObject({ projectId, after: after.optional(), event: oneEvent.optional() })
  .refine(isOne, 'must have either after or event')
  .meta({
    id: 'OperatorReplay',
    description: 'What to send again of a project: either `after` or `event`',
  });

/** The fields of a webhook that may be shown. */
const shown = {
  id: uuid().meta({ description: 'ID of the webhook' }),
  projectId: z
    .nullable(uuid())
    .meta({ description: 'Whose events are sent; null for those of every project' }),
  url: z.string().meta({ description: 'Where events are sent' }),
  events: z.array(eventType).meta({ description: 'The types that are sent; empty for all' }),
  enabled,
  disabledAt: z.nullable(time()).meta({ description: 'When it was switched off' }),
  disabledReason: z.nullable(disabledReason),
  oldSecretEndsAt: z
    .nullable(time())
    .meta({ description: 'Until when the secret of before signs, too; null where there is none' }),
  createdAt: time().meta({ description: 'When it was made' }),
};

/** Answer about one webhook. */
export const webhook = z
  .object(shown)
  .meta({ id: 'Webhook', description: 'A webhook without its secret' });

/** Answer of listing webhooks: all of the owner's, the oldest first. */
export const webhookList = z.array(webhook);

/** Answer of making a webhook and of rotating its secret: the only ones that have one. The secret begins with `whsec_`. */
export const webhookWithSecret = z
  .object({
    ...shown,
    secret: z.nullable(z.string()).meta({
      description: 'What signs, shown only now; null where the answer is replayed',
    }),
  })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with its new secret' });

/** Answer of a replay. `queued` counts what waited already, too. */
export const replayed = z
  .object({
    queued: wholeNumber({ min: 0, max: 1_000 }).meta({ description: 'How many will be sent' }),
    lastEvent: z
      .nullable(int64())
      .meta({ description: 'The number of the last one; go on `after` it where 1000 were queued' }),
  })
  .meta({ id: 'Replayed', description: 'What will be sent again' });

/** Entry of a webhook's deliveries. Ended are those that are `delivered` or `failed`. */
export const delivery = z
  .object({
    id: uuid().meta({ description: 'ID of the delivery' }),
    messageId: z.string().meta({ description: 'The `webhook-id` that the receiver gets' }),
    projectId,
    event: int64().meta({ description: 'The number of the event' }),
    type: z.string().meta({ description: 'The type of the event' }),
    status: z.enum(deliveryStatuses).meta({ id: 'DeliveryStatus', description: 'Its status' }),
    attempts: wholeNumber({ min: 0, max: 2_147_483_647 }).meta({ description: 'Attempts so far' }),
    createdAt: time(),
    lastAttemptAt: z.nullable(time()),
    lastStatus: z
      .nullable(wholeNumber({ min: 100, max: 599 }))
      .meta({ description: 'The HTTP status of the last answer; null where none came' }),
    lastError: z.nullable(problem),
    nextAttemptAt: z.nullable(time()).meta({ description: 'Null once it has ended' }),
  })
  .meta({ id: 'Delivery', description: 'One event for one webhook' });

/** Answer of listing deliveries: those of the newest events first. */
export const deliveryList = z.array(delivery);

/** Whether exactly one of both is given. */
function isOne(asked: { readonly after?: unknown; readonly event?: unknown }): boolean {
  return (asked.after === undefined) !== (asked.event === undefined);
}

/** The example of a Webhook in the OpenAPI document. */
export const docsWebhook = {
  id: '0198c2a7-5d1e-4f60-9b1c-2f6e8a3d4c55',
  projectId: docsProject.id,
  url: 'https://hooks.example.com/signpost',
  events: ['domain.live', 'domain.drifted'],
  enabled: true,
  disabledAt: null,
  disabledReason: null,
  oldSecretEndsAt: null,
  createdAt: '2026-11-20T12:00:00.000Z',
} as const;

/** A secret of the right form that signs for nobody. */
export const docsSecret = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';

/** The example of a Delivery: two attempts failed, the third is due in five minutes. */
export const docsDelivery = {
  id: '0198c2b0-77aa-4f3e-8c15-6d2f0b9e1a44',
  messageId: 'msg_5f0c7a52-6f0e-4a0b-9a6d-1d2c3b4a5968',
  projectId: docsProject.id,
  event: 4n,
  type: 'domain.live',
  status: 'pending',
  attempts: 2,
  createdAt: '2026-11-20T12:04:00.000Z',
  lastAttemptAt: '2026-11-20T12:04:05.000Z',
  lastStatus: 503,
  lastError: 'not_accepted',
  nextAttemptAt: '2026-11-20T12:09:05.000Z',
} as const;

/** Query of the lists of webhooks. */
export const webhookQuery = z.strictObject(pageFields('webhooks', isUuid));
