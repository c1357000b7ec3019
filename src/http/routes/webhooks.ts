/** Webhooks: URLs that events are sent to. A project's, and with the same code an operator's. */
import { randomUUID } from 'node:crypto';
import { isUuid } from '../../core/operations/jobs.ts';
import { OLD_SECRET_MS } from '../../core/operations/webhook-plan.ts';
import type { Webhook } from '../../core/records.ts';
import { urlProblem } from '../../net/destination.ts';
import { mintSecret } from '../../webhooks/message.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { asked, linkDocs, pageOf, placeOfMade } from '../pipeline/page.ts';
import { type Route, route } from '../pipeline/route.ts';
import {
  docsSecret,
  docsWebhook,
  newWebhook,
  webhook,
  webhookChange,
  webhookList,
  webhookQuery,
  webhookWithSecret,
} from '../schemas/webhooks.ts';
import { refuseMaking } from './account-limits.ts';
import { listDeliveries, replayEvents, replayProjectEvents } from './webhook-deliveries.ts';
import {
  type Owners,
  ofOperators,
  ofProjects,
  subjectOf,
  type WebhookRoutesDeps,
  webhookView,
  withWebhook,
} from './webhook-owners.ts';

/** Operations that both kinds of owners have. */
const forBoth = [
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateSecret,
  listDeliveries,
] as const;

/** The operations on a project's webhooks, then those on operators' webhooks. */
export function webhookRoutes(deps: WebhookRoutesDeps): readonly Route[] {
  const project = ofProjects(deps.projects);
  return [
    ...forBoth.map((make) => make(deps, project)),
    replayEvents(deps, project),
    ...forBoth.map((make) => make(deps, ofOperators)),
    replayProjectEvents(deps, ofOperators),
  ];
}

const stability = 'beta';
const exampleWithSecret = { ...docsWebhook, secret: docsSecret };

/** A page of the owner's. */
function listWebhooks(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    method: 'GET',
    path: owners.base,
    scope: owners.read,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('list', 'Webhooks'),
    summary: 'List webhooks',
    description: 'The oldest first, those that are switched off among them.',
    query: webhookQuery,
    success: {
      status: 200,
      description: 'A page of webhooks',
      schema: webhookList,
      example: [docsWebhook],
      headers: linkDocs('webhooks'),
    },
    refusals: owners.refusals,
    handle: async ({ key, params, query }) => {
      const owner = await owners.ownerOf(key.access, params);
      if (owner === null) return refuse('project_not_found');
      const found = await deps.webhooks.list(owner, asked(query));
      const path = owners.base.replace(':projectId', typeof owner === 'string' ? owner : '');
      const { rows, headers } = pageOf(found, placeOfMade, { path, limit: query.limit });
      return { status: 200, body: rows.map((row) => webhookView(row, deps.now())), headers };
    },
  });
}

/** The answer has the secret; what is stored of it is sealed for this webhook alone. */
function createWebhook(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    audits: 'webhook',
    method: 'POST',
    path: owners.base,
    scope: owners.write,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('create', 'Webhook'),
    summary: 'Make a webhook',
    description: `${owners.receives} Messages are those of Standard Webhooks 1.0.0. The answer shows the secret that signs them, once; a replay for an Idempotency-Key has null in its place: rotate it then. At most ${owners.most}.`,
    body: newWebhook,
    bodyExample: { url: docsWebhook.url, events: docsWebhook.events },
    success: {
      status: 201,
      description: 'The webhook was made',
      schema: webhookWithSecret,
      example: exampleWithSecret,
      headers: { location: 'The path of the webhook' },
    },
    refusals: [...owners.refusals, ...owners.limitRefusals, 'too_many_webhooks'],
    handle: async ({ key, params, body: { url, events } }) => {
      const owner = await owners.ownerOf(key.access, params);
      if (owner === null) return refuse('project_not_found');
      const misfit = refuseUrl(deps, url);
      if (misfit !== null) return misfit;
      const id = randomUUID();
      const { secret, sealed } = mintSecret(deps.vault, id);
      const row = { id, owner, url, eventTypes: events, sealedSecret: sealed };
      const at = deps.now();
      const make = () => deps.webhooks.create({ ...row, createdAt: at }, owners.most);
      const accountId = await owners.accountOf(key.access, params);
      const result =
        accountId === null
          ? { kind: 'made' as const, made: await make() }
          : await deps.withinLimits(accountId, ['webhooks'], at, make);
      if (result.kind !== 'made') return refuseMaking(result, at);
      const { made } = result;
      if (made === null) return refuse('too_many_webhooks', owners.fullInWords);
      const location = `${owners.base.replace(':projectId', made.projectId ?? '')}/${id}`;
      const about = subjectOf(owner, id);
      return { ...withSecret(deps, made, secret, 201), headers: { location }, about };
    },
  });
}

function getWebhook(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    method: 'GET',
    path: `${owners.base}/:webhookId`,
    scope: owners.read,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('get', 'Webhook'),
    summary: 'Show a webhook',
    success: { status: 200, description: 'The webhook', schema: webhook, example: docsWebhook },
    refusals: [...owners.refusals, 'webhook_not_found'],
    handle: ({ key, params }) =>
      withWebhook(deps, owners, { access: key.access, ...params }, async (found) =>
        shown(deps, found),
      ),
  });
}

/** Idempotent. An empty body changes nothing. */
function updateWebhook(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    audits: 'webhook',
    method: 'PATCH',
    path: `${owners.base}/:webhookId`,
    scope: owners.write,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('update', 'Webhook'),
    summary: 'Change a webhook',
    description:
      'Changes the fields that are given. What still waits to be delivered goes to the new URL; `enabled: false` ends it. Events of the time when a webhook was switched off are not sent by themselves once it is on again: replay them.',
    body: webhookChange,
    bodyExample: { enabled: true },
    success: {
      status: 200,
      description: 'The webhook as it is now',
      schema: webhook,
      example: docsWebhook,
    },
    refusals: [...owners.refusals, 'webhook_not_found'],
    handle: ({ key, params, body: { url, events, enabled } }) =>
      withWebhook(deps, owners, { access: key.access, ...params }, async ({ id }, owner) => {
        const misfit = url === undefined ? null : refuseUrl(deps, url);
        if (misfit !== null) return misfit;
        const change = { url, eventTypes: events, enabled };
        const updated = await deps.webhooks.update(owner, id, change, deps.now());
        return { ...shown(deps, updated), about: subjectOf(owner, id) };
      }),
  });
}

/** Idempotent: 204 also where there is no such webhook. */
function deleteWebhook(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    audits: 'webhook',
    method: 'DELETE',
    path: `${owners.base}/:webhookId`,
    scope: owners.write,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('delete', 'Webhook'),
    summary: 'Delete a webhook',
    description:
      'Nothing is sent any more, but for an attempt under way. Also 204 where there is no such webhook.',
    success: { status: 204, description: 'There is no such webhook' },
    refusals: owners.refusals,
    handle: async ({ key, params }) => {
      const owner = await owners.ownerOf(key.access, params);
      if (owner === null) return refuse('project_not_found');
      const { webhookId } = params;
      const wasThere =
        isUuid(webhookId) && (await deps.webhooks.remove(owner, webhookId, deps.now()));
      return { status: 204, about: wasThere ? subjectOf(owner, webhookId) : null };
    },
  });
}

/** Not idempotent: each request makes another secret, unless it repeats one with the same Idempotency-Key. */
function rotateSecret(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    audits: 'webhook',
    method: 'POST',
    path: `${owners.base}/:webhookId/rotate-secret`,
    scope: owners.write,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('rotate', 'WebhookSecret'),
    summary: 'Give a webhook a new secret',
    description:
      'The answer shows it, once; a replay for an Idempotency-Key has null in its place. For 24 hours the secret of before signs, too: every message has two signatures, and a receiver that knows either accepts it. Rotating twice ends the first secret at once.',
    success: {
      status: 200,
      description: 'The webhook with its new secret',
      schema: webhookWithSecret,
      example: { ...exampleWithSecret, oldSecretEndsAt: '2026-11-21T12:00:00.000Z' },
    },
    refusals: [...owners.refusals, 'webhook_not_found'],
    handle: ({ key, params }) =>
      withWebhook(deps, owners, { access: key.access, ...params }, async ({ id }, owner) => {
        const { secret, sealed } = mintSecret(deps.vault, id);
        const oldSecretEndsAt = new Date(deps.now().getTime() + OLD_SECRET_MS);
        const rotation = { sealedSecret: sealed, oldSecretEndsAt };
        const rotated = await deps.webhooks.rotate(owner, id, rotation);
        return rotated === null
          ? refuse('webhook_not_found')
          : { ...withSecret(deps, rotated, secret, 200), about: subjectOf(owner, id) };
      }),
  });
}

/** 200 with the webhook; 404 where it is gone. */
function shown({ now }: WebhookRoutesDeps, found: Webhook | null): ApiResponse {
  return found === null
    ? refuse('webhook_not_found')
    : { status: 200, body: webhookView(found, now()) };
}

/** An answer with the secret, which leaves with this answer alone: what is stored for a replay has null in its place. */
function withSecret(
  { now }: WebhookRoutesDeps,
  row: Webhook,
  secret: string,
  status: 200 | 201,
): ApiResponse {
  const view = webhookView(row, now());
  return { status, body: { ...view, secret }, replayBody: { ...view, secret: null } };
}

/** Null where the URL may be called; a name in it is resolved only when a message is sent. */
function refuseUrl(rules: WebhookRoutesDeps, url: string): Refusal | null {
  const problem = urlProblem(url, rules);
  return problem === null ? null : refuse('invalid_body', `url: ${problem}`);
}
