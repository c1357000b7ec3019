/**
 * Whose webhooks a path is about: a project's, or an operator's, which get the events of every project. The routes are the
 * same.
 */
import type { Vault } from '../../certificates/vault/vault.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { Webhook } from '../../core/records.ts';
import type { DeliveryRow, DeliveryStore } from '../../db/delivery/deliveries.ts';
import type { WebhookStore } from '../../db/delivery/webhooks.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { messageIdOf } from '../../webhooks/message.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import type { Scope } from '../pipeline/route.ts';
import { findProject } from './projects.ts';

/** What differs between the two kinds of webhooks. */
export type Owners = {
  readonly base: '/v1/projects/:projectId/webhooks' | '/v1/webhooks';
  readonly tag: 'Webhooks' | 'Operations';
  readonly read: Scope;
  readonly write: Scope;
  /** `project_not_found` where the path names a project. */
  readonly refusals: readonly ['project_not_found'] | readonly [];
  /** The operation's id: `listWebhooks`, `listOperatorWebhooks`. */
  readonly named: (verb: string, noun: string) => string;
  /** The id of the path's project; null for operators' webhooks, undefined where there is no such project. */
  readonly ownerOf: (params: { readonly projectId?: string }) => Promise<string | null | undefined>;
  /** How many there may be at once: the event of one change is sent to each of them. Our choice. */
  readonly most: number;
  /** Whose events the webhooks get, in a sentence. */
  readonly receives: string;
};

/** A project's webhooks: ten at most, for keys with `domains:read` and `domains:write`. */
export function ofProjects(projects: ProjectStore): Owners {
  return {
    base: '/v1/projects/:projectId/webhooks',
    tag: 'Webhooks',
    read: 'domains:read',
    write: 'domains:write',
    refusals: ['project_not_found'],
    named: (verb, noun) => `${verb}${noun}`,
    ownerOf: async ({ projectId = '' }) => (await findProject(projects, projectId))?.id,
    most: 10,
    receives: 'It receives the events of the project.',
  };
}

/** Operators' webhooks: twenty at most, for keys with `admin`. */
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

/** What the operations on webhooks call. */
export type WebhookRoutesDeps = {
  readonly projects: ProjectStore;
  readonly webhooks: WebhookStore;
  readonly deliveries: Pick<DeliveryStore, 'list' | 'replay'>;
  /** Seals the secrets that sign. */
  readonly vault: Vault;
  /** For laboratories: URLs may be http and lead to private addresses. */
  readonly allowPrivate: boolean;
  now(): Date;
};

/** Runs `act` with the webhook of the path; 404 where its owner does not have it, or does not exist. */
export async function withWebhook(
  { webhooks }: Pick<WebhookRoutesDeps, 'webhooks'>,
  owners: Owners,
  params: { readonly projectId?: string; readonly webhookId: string },
  act: (webhook: Webhook) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const owner = await owners.ownerOf(params);
  if (owner === undefined) return refuse('project_not_found');
  const found = isUuid(params.webhookId) ? await webhooks.find(owner, params.webhookId) : null;
  return found === null ? refuse('webhook_not_found') : act(found);
}

/** The Webhook of docs/api.md, without its secrets. An old secret that signs no more at `now` is not shown. */
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

/** The Delivery of docs/api.md. It has nothing of what the receiver answered but the status. */
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
