/** A project owns its webhooks; operators' webhooks get the events of every project. */
import { isUuid } from '../../core/operations/jobs.ts';
import type { Scope } from '../../core/operations/scopes.ts';
import type { Webhook } from '../../core/records.ts';
import type { DeliveryRow } from '../../db/delivery/deliveries.ts';
import type { Service } from '../../service/service.ts';
import { messageIdOf } from '../../webhooks/message.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { findProject } from './projects.ts';

export type Owners = {
  readonly base: '/v1/projects/:projectId/webhooks' | '/v1/webhooks';
  readonly tag: 'Webhooks' | 'Operations';
  readonly read: Scope;
  readonly write: Scope;
  /** `project_not_found` if the path names a project. */
  readonly refusals: readonly ['project_not_found'] | readonly [];
  /** The operation's ID: `listWebhooks`, `listOperatorWebhooks`. */
  readonly named: (verb: string, noun: string) => string;
  /** Null for operators' webhooks; undefined if the project does not exist. */
  readonly ownerOf: (params: { readonly projectId?: string }) => Promise<string | null | undefined>;
  readonly most: number;
  /** A sentence about which events the webhooks receive. */
  readonly receives: string;
};

export function ofProjects(service: Service): Owners {
  return {
    base: '/v1/projects/:projectId/webhooks',
    tag: 'Webhooks',
    read: 'domains:read',
    write: 'domains:write',
    refusals: ['project_not_found'],
    named: (verb, noun) => `${verb}${noun}`,
    ownerOf: async ({ projectId = '' }) => (await findProject(service, projectId))?.id,
    most: 10,
    receives: 'It receives the events of the project.',
  };
}

export const ofOperators: Owners = {
  base: '/v1/webhooks',
  tag: 'Operations',
  read: 'admin',
  write: 'admin',
  refusals: [],
  named: (verb, noun) => `${verb}Operator${noun}`,
  ownerOf: async () => null,
  most: 20,
  receives: 'It receives the events of every project, including projects created later.',
};

/** The path of the owner's webhooks. */
export function pathIn({ base }: Owners, owner: string | null): string {
  return owner === null ? base : base.replace(':projectId', owner);
}

/** 404 if its owner does not have it or does not exist. */
export async function withWebhook(
  { webhooks }: Service,
  owners: Owners,
  params: { readonly projectId?: string; readonly webhookId: string },
  act: (webhook: Webhook) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const owner = await owners.ownerOf(params);
  if (owner === undefined) return refuse('project_not_found');
  const found = isUuid(params.webhookId) ? await webhooks.find(owner, params.webhookId) : null;
  return found === null ? refuse('webhook_not_found') : act(found);
}

/** The Webhook of docs/integrate/webhooks.md, without secrets. Omits an expired previous secret. */
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

/** The Delivery of docs/integrate/webhooks.md. Shows only the status of the receiver's response. */
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
