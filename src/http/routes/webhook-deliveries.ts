/** What became of a webhook's messages, and sending events again. */

import type { GrantedProjectId } from '../../core/accounts/access.ts';
import type { Webhook } from '../../core/records.ts';
import type { ReplayedEvents } from '../../db/delivery/replay-deliveries.ts';
import type { AuditedAnswer } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { docsProject } from '../schemas/projects.ts';
import {
  deliveryList,
  docsDelivery,
  operatorReplay,
  replay,
  replayed,
} from '../schemas/webhooks.ts';
import { findProject } from './projects.ts';
import {
  deliveryView,
  type Owners,
  type WebhookRoutesDeps,
  withWebhook,
} from './webhook-owners.ts';

/** Our choice: as many as a list stays readable with. */
const DELIVERIES_SHOWN = 200;
/** Our choice: what a receiver that was down for a day may have missed, and no more than a batch or two of the queue. */
const REPLAYED_AT_ONCE = 1_000;

const stability = 'beta';
const words = {
  summary: 'Send events again',
  description: `Either those after a number, of the types that the webhook wants, or one. At most ${REPLAYED_AT_ONCE} at once, the oldest first: where as many were queued, go on after \`lastEvent\`. Each has the \`webhook-id\` that it had before. What still waits for its next attempt begins again, at once; what is on its way already stays so.`,
  success: {
    status: 202,
    description: 'They will be sent',
    schema: replayed,
    example: { queued: 3, lastEvent: 7n },
  },
} as const;

/** The deliveries of a webhook, those of the newest events first. For the webhooks of either kind of owner. */
export function listDeliveries(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    method: 'GET',
    path: `${owners.base}/:webhookId/deliveries`,
    scope: owners.read,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('list', 'WebhookDeliveries'),
    summary: 'What became of the messages',
    description: `The deliveries of the newest events, at most ${DELIVERIES_SHOWN}. They are kept for 30 days.`,
    success: {
      status: 200,
      description: 'The deliveries',
      schema: deliveryList,
      example: [docsDelivery],
    },
    refusals: [...owners.refusals, 'webhook_not_found'],
    handle: ({ key, params }) =>
      withWebhook(deps, owners, { access: key.access, ...params }, async ({ id }, owner) => {
        const rows = await deps.deliveries.list(owner, id, DELIVERIES_SHOWN);
        return { status: 200, body: rows.map(deliveryView) };
      }),
  });
}

/**
 * Sends events of the project again to one of its webhooks. Asked twice at once, it leaves one waiting delivery for each
 * event.
 */
export function replayEvents(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    ...words,
    audits: 'webhook',
    method: 'POST',
    path: '/v1/projects/:projectId/webhooks/:webhookId/replay',
    scope: owners.write,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('replay', 'WebhookEvents'),
    body: replay,
    bodyExample: { after: 4n },
    refusals: [...owners.refusals, 'webhook_not_found', 'event_not_found', 'webhook_disabled'],
    handle: ({ key, params, body }) =>
      withWebhook(deps, owners, { access: key.access, ...params }, async (webhook, owner) => {
        // Of a project's webhook the project is the owner.
        const project = typeof owner === 'string' ? owner : null;
        return project === null
          ? refuse('project_not_found')
          : again(deps, webhook, { ...body, projectId: project });
      }),
  });
}

/** The same for an operator's webhook, which has to name the project: every project numbers its own events. */
export function replayProjectEvents(deps: WebhookRoutesDeps, owners: Owners): Route {
  return route({
    ...words,
    audits: 'webhook',
    method: 'POST',
    path: '/v1/webhooks/:webhookId/replay',
    scope: owners.write,
    operators: owners.operators,
    tag: owners.tag,
    stability,
    operationId: owners.named('replay', 'WebhookEvents'),
    body: operatorReplay,
    bodyExample: { projectId: docsProject.id, after: 4n },
    refusals: ['webhook_not_found', 'project_not_found', 'event_not_found', 'webhook_disabled'],
    handle: ({ key, params, body }) =>
      withWebhook(deps, owners, { access: key.access, ...params }, async (webhook) => {
        const project = await findProject(deps.projects, key.access, body.projectId);
        if (project === null) return refuse('project_not_found');
        return again(deps, webhook, { ...body, projectId: project.id });
      }),
  });
}

/** Which events: those after a number, or one. */
type Asked = {
  readonly projectId: GrantedProjectId;
  readonly after?: bigint | undefined;
  readonly event?: bigint | undefined;
};

/** 202 with how many are on their way. A webhook that is switched off is refused, because nothing would be sent. */
async function again(
  { deliveries, now }: WebhookRoutesDeps,
  webhook: Webhook,
  asked: Asked,
): Promise<AuditedAnswer> {
  if (webhook.disabledAt !== null) return refuse('webhook_disabled');
  const done = await deliveries.replay({
    webhook,
    events: eventsOf(asked),
    at: now(),
    limit: REPLAYED_AT_ONCE,
  });
  // A range that is empty is no mistake; one event that does not exist is.
  if (asked.event !== undefined && done.queued === 0) return refuse('event_not_found');
  // An operator's webhook is the installation's, whichever project's events it is sent.
  const owner = webhook.projectId === null ? { accountId: null } : { projectId: webhook.projectId };
  const about = { kind: 'webhook', id: webhook.id, ...owner } as const;
  return { status: 202, body: done, about };
}

/** The schema makes sure that there is one of both. A number below 1 is of no event. */
function eventsOf({ projectId, after = 0n, event }: Asked): ReplayedEvents {
  const fromZero = (number: bigint) => (number < 0n ? 0n : number);
  return event === undefined
    ? { projectId, after: fromZero(after) }
    : { projectId, event: fromZero(event) };
}
