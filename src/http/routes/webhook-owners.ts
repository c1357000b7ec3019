/**
 * Whose webhooks a path is about: a project's, or an operator's, which get the events of every project. The routes are the
 * same.
 */
import type { Vault } from '../../certificates/vault/vault.ts';
import type { Access } from '../../core/accounts/access.ts';
import type { Subject } from '../../core/operations/audit.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { Webhook } from '../../core/records.ts';
import type { WithinLimits } from '../../db/account-limits.ts';
import type { DeliveryRow, DeliveryStore } from '../../db/delivery/deliveries.ts';
import type { WebhookOwner, WebhookStore } from '../../db/delivery/webhooks.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { messageIdOf } from '../../webhooks/message.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
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
  /** What making one more is refused with beside. */
  readonly limitRefusals: readonly ['account_not_found', 'account_limit'] | readonly [];
  /** The operation's id: `listWebhooks`, `listOperatorWebhooks`. */
  readonly named: (verb: string, noun: string) => string;
  /** Whether only the installation's keys may call them. */
  readonly operators: boolean;
  /** The path's project, or operators; null where the key that asks does not reach them, or there is no such project. */
  readonly ownerOf: (
    access: Access,
    params: { readonly projectId?: string },
  ) => Promise<WebhookOwner | null>;
  /** The account that a webhook of the path counts for; null: an operators', which counts for none. */
  readonly accountOf: (
    access: Access,
    params: { readonly projectId?: string },
  ) => Promise<string | null>;
  /** How many there may be at once: the event of one change is sent to each of them. Our choice. */
  readonly most: number;
  /** What is said to one more. */
  readonly fullInWords: string;
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
    limitRefusals: ['account_not_found', 'account_limit'],
    named: (verb, noun) => `${verb}${noun}`,
    operators: false,
    ownerOf: async (access, { projectId = '' }) =>
      (await findProject(projects, access, projectId))?.id ?? null,
    accountOf: async (access, { projectId = '' }) =>
      (await findProject(projects, access, projectId))?.accountId ?? null,
    most: 10,
    fullInWords: 'This project has 10 of 10 webhooks; delete one first.',
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
  limitRefusals: [],
  named: (verb, noun) => `${verb}Operator${noun}`,
  operators: true,
  ownerOf: async (access) => (access.kind === 'installation' ? access : null),
  accountOf: async () => null,
  most: 20,
  fullInWords: 'Operators have 20 of 20 webhooks; delete one first.',
  receives: 'It receives the events of every project, including projects created later.',
};

/** What the operations on webhooks call. */
export type WebhookRoutesDeps = {
  readonly projects: ProjectStore;
  readonly webhooks: WebhookStore;
  readonly withinLimits: WithinLimits;
  readonly deliveries: Pick<DeliveryStore, 'list' | 'replay'>;
  /** Seals the secrets that sign. */
  readonly vault: Vault;
  /** For laboratories: URLs may be http and lead to private addresses. */
  readonly allowPrivate: boolean;
  now(): Date;
};

type Asking = {
  readonly access: Access;
  readonly projectId?: string;
  readonly webhookId: string;
};

/** Runs `act` with the webhook of the path; 404 where its owner does not have it, or does not exist. */
export async function withWebhook<Answer extends ApiResponse>(
  { webhooks }: Pick<WebhookRoutesDeps, 'webhooks'>,
  owners: Owners,
  { access, ...params }: Asking,
  act: (webhook: Webhook, owner: WebhookOwner) => Promise<Answer>,
): Promise<Answer | Refusal> {
  const owner = await owners.ownerOf(access, params);
  if (owner === null) return refuse('project_not_found');
  const found = isUuid(params.webhookId) ? await webhooks.find(owner, params.webhookId) : null;
  return found === null ? refuse('webhook_not_found') : act(found, owner);
}

/** A webhook as the audit log names it. */
export function subjectOf(owner: WebhookOwner, webhookId: string): Subject {
  const whose = typeof owner === 'string' ? { projectId: owner } : { accountId: null };
  return { kind: 'webhook', id: webhookId, ...whose };
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
