import { z } from 'zod';
import {
  DELIVERY_TIMEOUT_MS,
  type DeliveryProblem,
  type DisabledReason,
} from '../../core/operations/webhook-plan.ts';
import { deliveryStatuses } from '../../core/records.ts';
import { SECOND } from '../../core/time.ts';
import { deliveryOfCursor } from '../pipeline/cursor.ts';
import { int64, text, time, uuid, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { cursorOf, limitOf, pageQuery } from '../pipeline/paging.ts';
import { inTheseWords } from '../pipeline/validate.ts';
import { component, explainedEnum, requestComponent } from './common.ts';
import { eventType } from './events.ts';
import { docsProject, projectId } from './projects.ts';

const disabledReason = explainedEnum('WebhookDisabledReason', 'Why the webhook is disabled', {
  requested: 'Disabled through the API',
  gone: 'The receiver answered 410',
  failing: 'No delivery succeeded for 5 days',
} satisfies Readonly<Record<DisabledReason, string>>);

/** Nothing else about a receiver's response is stored. */
const problem = explainedEnum('DeliveryProblem', 'Why the last attempt failed or was not made', {
  not_accepted: 'The receiver did not answer with 2xx; see `lastStatus`',
  redirected: 'The receiver answered with a redirect, which is not followed; change the URL',
  gone: 'The receiver answered 410, which disables the webhook',
  timed_out: `No answer within ${DELIVERY_TIMEOUT_MS / SECOND} seconds`,
  connection_failed: 'The connection failed, or broke before the answer',
  tls_failed: 'The TLS handshake failed; usually the certificate is not valid for the name',
  name_not_resolved: 'The host name has no address',
  name_not_told: 'The host name could not be resolved',
  address_refused: 'The host name resolves to a private network',
  url_refused: 'The URL is no longer allowed',
  webhook_deleted: 'The webhook was deleted',
  webhook_disabled: 'The webhook was disabled',
  replayed: 'A replay replaced this delivery',
} satisfies Readonly<Record<DeliveryProblem, string>>);

/** src/net/destination.ts checks the address when the URL is stored and before each attempt. */
const url = text({ max: 2_048 })
  .register(wireTypes, { type: 'string', format: 'uri', minLength: 1, maxLength: 2_048 })
  .describe(
    'Where events are sent: an https URL on a public address, without credentials or fragment',
  );

const events = z
  .array(eventType, { error: inTheseWords('must be a list') })
  .refine((list) => new Set(list).size === list.length, 'must not name a type twice')
  .meta({ description: 'Event types to send; empty for all', uniqueItems: true });

const enabled = z.boolean().describe('Whether events are sent');

/** Without `events`, all types are sent. */
export const newWebhook = requestComponent('NewWebhook', 'Webhook to create', {
  url,
  events: events.default([]),
});

/** Enabling a webhook does not send the events it missed. */
export const webhookChange = requestComponent(
  'WebhookChange',
  'Fields to change; omitted fields keep their values',
  {
    url: url.optional(),
    events: events.optional(),
    enabled: enabled.optional(),
  },
);

const after = int64().describe('Send the events after this number');
const oneEvent = int64().describe('Send only this event, regardless of its type');

export const replay = z
  .strictObject({ after: after.optional(), event: oneEvent.optional() })
  .refine(isOne, 'must have either after or event')
  .meta({ id: 'Replay', description: 'What to resend: either `after` or `event`' });

/** The number counts the events of the given project. */
export const operatorReplay = z
  .strictObject({ projectId, after: after.optional(), event: oneEvent.optional() })
  .refine(isOne, 'must have either after or event')
  .meta({
    id: 'OperatorReplay',
    description: 'What to resend of a project: either `after` or `event`',
  });

const shown = {
  id: uuid().describe('ID of the webhook'),
  projectId: z.nullable(uuid()).describe('Project whose events are sent; null for all projects'),
  url: z.string().describe('Where events are sent'),
  events: z.array(eventType).describe('Event types that are sent; empty for all'),
  enabled,
  disabledAt: z.nullable(time()).describe('When the webhook was disabled'),
  disabledReason: z.nullable(disabledReason),
  oldSecretEndsAt: z
    .nullable(time())
    .describe('Until when the previous secret also signs; null if there is none'),
  createdAt: time().describe('When the webhook was created'),
};

export const webhook = component('Webhook', 'Webhook without its secret', shown);

export const webhookList = z.array(webhook);
export const webhooksQuery = pageQuery('webhooks');

/** Only creating a webhook and rotating its secret return it. It starts with `whsec_`. */
export const webhookWithSecret = component('WebhookWithSecret', 'Webhook with its new secret', {
  ...shown,
  secret: z
    .nullable(z.string())
    .describe('The signing secret, shown only once; null if the response is replayed'),
});

/** `queued` includes deliveries that were already queued. */
export const replayed = component('Replayed', 'Result of a replay', {
  queued: wholeNumber({ min: 0, max: 1_000 }).describe('Number of events to send'),
  lastEvent: z
    .nullable(int64())
    .describe(
      'Number of the last queued event; if 1000 were queued, continue with `after` set to it',
    ),
});

/** `delivered` and `failed` are final. */
const delivery = component('Delivery', 'Delivery of one event to one webhook', {
  id: uuid().describe('ID of the delivery'),
  messageId: z.string().describe('The `webhook-id` header of the message'),
  projectId,
  event: int64().describe('Number of the event'),
  type: z.string().describe('Type of the event'),
  status: z
    .enum(deliveryStatuses)
    .meta({ id: 'DeliveryStatus', description: 'Status of a delivery' }),
  attempts: wholeNumber({ min: 0, max: 2_147_483_647 }).describe('Attempts so far'),
  createdAt: time(),
  lastAttemptAt: z.nullable(time()),
  lastStatus: z
    .nullable(wholeNumber({ min: 100, max: 599 }))
    .describe('HTTP status of the last answer; null if none came'),
  lastError: z.nullable(problem),
  nextAttemptAt: z.nullable(time()).describe('Null once delivered or failed'),
});

/** The error is a DeliveryProblem. */
export const webhookTest = component('WebhookTest', 'Result of a test message', {
  messageId: z.string().describe('The `webhook-id` of the message'),
  delivered: z.boolean().describe('Whether the receiver answered with 2xx'),
  status: z
    .nullable(wholeNumber({ min: 100, max: 599 }))
    .describe("HTTP status of the receiver's answer; null without an answer"),
  error: z.nullable(problem),
  at: time().describe('When the message was sent'),
});

export const docsWebhookTest = {
  messageId: 'msg_5f0c7a52-6f0e-4a0b-9a6d-1d2c3b4a5968',
  delivered: true,
  status: 200,
  error: null,
  at: '2026-11-20T12:00:00.000Z',
};

export const deliveryList = z.array(delivery);
export const deliveriesQuery = z.strictObject({
  limit: limitOf('deliveries'),
  cursor: cursorOf(deliveryOfCursor),
});

function isOne(asked: { readonly after?: unknown; readonly event?: unknown }): boolean {
  return (asked.after === undefined) !== (asked.event === undefined);
}

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

/** Well-formed, but unused. */
export const docsSecret = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';

/** Two attempts failed, the third is due in five minutes. */
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
