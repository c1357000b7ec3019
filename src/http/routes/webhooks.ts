import { randomUUID } from 'node:crypto';
import { OLD_SECRET_MS } from '../../core/operations/webhook-plan.ts';
import type { Webhook } from '../../core/records.ts';
import { isUuid } from '../../core/uuid.ts';
import { urlProblem } from '../../net/destination.ts';
import type { Service } from '../../service/service.ts';
import { mintSecret } from '../../webhooks/message.ts';
import { withinLimits } from '../limits/account-limits.ts';
import { cursorAfterPlace } from '../pipeline/cursor.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Refusal, refuse, refuseField } from '../pipeline/errors.ts';
import { pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import {
  docsSecret,
  docsWebhook,
  newWebhook,
  webhook,
  webhookChange,
  webhookList,
  webhooksQuery,
  webhookWithSecret,
} from '../schemas/webhooks.ts';
import {
  createSendTest,
  listDeliveries,
  replayEvents,
  replayProjectEvents,
  testWebhook,
} from './webhook-deliveries.ts';
import {
  type Owners,
  ofOperators,
  ofProjects,
  pathIn,
  webhookView,
  withWebhook,
} from './webhook-owners.ts';

const forBoth = [
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateSecret,
  listDeliveries,
] as const;

export function webhookRoutes(service: Service): readonly Route[] {
  const project = ofProjects(service);
  const sendTest = createSendTest(service);
  return [
    ...forBoth.map((make) => make(service, project)),
    testWebhook(service, project, sendTest),
    replayEvents(service, project),
    ...forBoth.map((make) => make(service, ofOperators)),
    testWebhook(service, ofOperators, sendTest),
    replayProjectEvents(service, ofOperators),
  ];
}

const exampleWithSecret = { ...docsWebhook, secret: docsSecret };

function listWebhooks(service: Service, owners: Owners): Route {
  return route({
    at: `GET ${owners.base}`,
    ...owners.common('read', 'list', 'Webhooks'),
    summary: 'List webhooks',
    description: 'Lists webhooks in pages, oldest first, including disabled ones.',
    query: webhooksQuery,
    success: success(200, 'A page of webhooks', webhookList, [docsWebhook]),
    refusals: owners.refusals,
    handle: async ({ access, params, query: { limit, cursor = null } }) => {
      const owner = await owners.ownerOf(access, params);
      if (owner === null) return refuse('project_not_found');
      const page = await service.webhooks.list(owner, { after: cursor, limit });
      return pageAnswer(page, cursorAfterPlace, (row) => webhookView(row, service.now()));
    },
  });
}

/** The response has the secret; the stored copy is encrypted. */
function createWebhook(service: Service, owners: Owners): Route {
  return route({
    at: `POST ${owners.base}`,
    ...owners.common('write', 'create', 'Webhook'),
    summary: 'Create a webhook',
    description: `${owners.receives} Messages follow Standard Webhooks 1.0.0. The response shows the signing secret once. A response replayed for an Idempotency-Key has null instead; rotate the secret in that case. At most ${owners.most} webhooks.`,
    body: newWebhook,
    bodyExample: { url: docsWebhook.url, events: docsWebhook.events },
    success: success(201, 'The webhook was created', webhookWithSecret, exampleWithSecret, {
      location: 'Path of the webhook',
    }),
    refusals: [...owners.refusals, ...owners.limits, 'too_many_webhooks'],
    handle: async ({ access, params, body: { url, events } }) => {
      const owner = await owners.ownerOf(access, params);
      if (owner === null) return refuse('project_not_found');
      const misfit = refuseUrl(service, url);
      if (misfit !== null) return misfit;
      const id = randomUUID();
      const { secret, sealed } = mintSecret(service.vault, id);
      const row = { id, url, eventTypes: events, sealedSecret: sealed, createdAt: service.now() };
      const create = async () => {
        const made = await service.webhooks.create(owner, row, owners.most);
        if (made === null) return refuse('too_many_webhooks');
        const location = `${pathIn(owners, owner)}/${id}`;
        return { ...withSecret(service, made, secret, 201), headers: { location } };
      };
      const account = await owners.accountOf(owner);
      return account === null
        ? create()
        : withinLimits(service, access, account, ['webhooks'], create);
    },
  });
}

function getWebhook(service: Service, owners: Owners): Route {
  return route({
    at: `GET ${owners.base}/:webhookId`,
    ...owners.common('read', 'get', 'Webhook'),
    summary: 'Show a webhook',
    success: success(200, 'The webhook', webhook, docsWebhook),
    refusals: [...owners.refusals, 'webhook_not_found'],
    handle: ({ access, params }) =>
      withWebhook(service, owners, { access, params }, async (found) => shown(service, found)),
  });
}

/** Idempotent. An empty body changes nothing. */
function updateWebhook(service: Service, owners: Owners): Route {
  return route({
    at: `PATCH ${owners.base}/:webhookId`,
    ...owners.common('write', 'update', 'Webhook'),
    summary: 'Change a webhook',
    description:
      'Changes the given fields. Pending deliveries go to the new URL; `enabled: false` ends them. Events that occur while a webhook is disabled are not sent later; replay them if needed.',
    body: webhookChange,
    bodyExample: { enabled: true },
    success: success(200, 'The changed webhook', webhook, docsWebhook),
    refusals: [...owners.refusals, 'webhook_not_found'],
    handle: ({ access, params, body: { url, events, enabled } }) =>
      withWebhook(service, owners, { access, params }, async ({ id }, owner) => {
        const misfit = url === undefined ? null : refuseUrl(service, url);
        if (misfit !== null) return misfit;
        const change = { url, eventTypes: events, enabled };
        return shown(service, await service.webhooks.update(owner, id, change, service.now()));
      }),
  });
}

/** Idempotent: 204 also for an unknown webhook. */
function deleteWebhook(service: Service, owners: Owners): Route {
  return route({
    at: `DELETE ${owners.base}/:webhookId`,
    ...owners.common('write', 'delete', 'Webhook'),
    summary: 'Delete a webhook',
    description:
      'Stops all deliveries except an attempt in progress. Also answers 204 if there is no such webhook.',
    success: success(204, 'The webhook does not exist'),
    refusals: owners.refusals,
    handle: async ({ access, params }) => {
      const owner = await owners.ownerOf(access, params);
      if (owner === null) return refuse('project_not_found');
      if (isUuid(params.webhookId)) {
        await service.webhooks.remove(owner, params.webhookId, service.now());
      }
      return { status: 204 };
    },
  });
}

/** Each request creates another secret, except for repetitions with the same Idempotency-Key. */
function rotateSecret(service: Service, owners: Owners): Route {
  return route({
    at: `POST ${owners.base}/:webhookId/rotate-secret`,
    ...owners.common('write', 'rotate', 'WebhookSecret'),
    summary: "Rotate a webhook's secret",
    description:
      'The response shows the new secret once; a response replayed for an Idempotency-Key has null instead. For 24 hours, every message is signed with both secrets, so a receiver that knows either one accepts it. A second rotation ends the first secret at once.',
    success: success(200, 'The webhook with its new secret', webhookWithSecret, {
      ...exampleWithSecret,
      oldSecretEndsAt: '2026-11-21T12:00:00.000Z',
    }),
    refusals: [...owners.refusals, 'webhook_not_found'],
    handle: ({ access, params }) =>
      withWebhook(service, owners, { access, params }, async ({ id }, owner) => {
        const { secret, sealed } = mintSecret(service.vault, id);
        const oldSecretEndsAt = new Date(service.now().getTime() + OLD_SECRET_MS);
        const rotation = { sealedSecret: sealed, oldSecretEndsAt };
        const rotated = await service.webhooks.rotate(owner, id, rotation);
        return rotated === null
          ? refuse('webhook_not_found')
          : withSecret(service, rotated, secret, 200);
      }),
  });
}

function shown({ now }: Service, found: Webhook | null): ApiResponse {
  return found === null
    ? refuse('webhook_not_found')
    : { status: 200, body: webhookView(found, now()) };
}

/** The copy stored for replays has no secret. */
function withSecret(
  { now }: Service,
  row: Webhook,
  secret: string,
  status: 200 | 201,
): ApiResponse {
  const view = webhookView(row, now());
  return { status, body: { ...view, secret }, replayBody: { ...view, secret: null } };
}

/** The host name is resolved only when a message is sent. */
function refuseUrl({ config }: Service, url: string): Refusal | null {
  const problem = urlProblem(url, config.webhooks);
  return problem === null ? null : refuseField('invalid_body', 'url', problem);
}
