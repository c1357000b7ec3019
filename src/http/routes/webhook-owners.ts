/** A project owns its webhooks; operators' webhooks get the events of every project. */
import { type Access, asInstallation, wholeInstallation } from '../../core/access.ts';
import type { Account, Webhook } from '../../core/records.ts';
import { isUuid } from '../../core/uuid.ts';
import type { DeliveryRow } from '../../db/delivery/deliveries.ts';
import type { WebhookOwner } from '../../db/delivery/webhooks.ts';
import type { Service } from '../../service/service.ts';
import { messageIdOf } from '../../webhooks/message.ts';
import { type ApiResponse, type Refusal, refuse } from '../pipeline/errors.ts';
import type { Route } from '../pipeline/route.ts';
import { findProject } from './projects.ts';

type OwnerParams = { readonly projectId?: string };

export type Owners = {
  readonly base: '/v1/projects/:projectId/webhooks' | '/v1/webhooks';
  /** The fields of each route; the operation is `listWebhooks` or `listOperatorWebhooks`. */
  readonly common: (
    need: 'read' | 'write',
    verb: string,
    noun: string,
  ) => Pick<Route, 'tag' | 'scope' | 'stability' | 'operationId'>;
  /** `project_not_found` if the path names a project. */
  readonly refusals: readonly ['project_not_found'] | readonly [];
  /** Null if the project does not exist. */
  readonly ownerOf: (access: Access, params: OwnerParams) => Promise<WebhookOwner | null>;
  /** Whose limits count; null for operators. */
  readonly accountOf: (owner: WebhookOwner) => Promise<Account | null>;
  readonly limits: readonly ['limit_reached'] | readonly [];
  readonly most: number;
  /** A sentence about which events the webhooks receive. */
  readonly receives: string;
};

export function ofProjects(service: Service): Owners {
  return {
    base: '/v1/projects/:projectId/webhooks',
    common: (need, verb, noun) => ({
      tag: 'Webhooks',
      scope: `domains:${need}`,
      stability: 'stable',
      operationId: verb + noun,
    }),
    refusals: ['project_not_found'],
    async ownerOf(access, { projectId = '' }) {
      const project = await findProject(service, access, projectId);
      return project && { access, projectId: project.id };
    },
    async accountOf({ projectId }) {
      const project = await findProject(service, wholeInstallation, projectId ?? '');
      return project && service.accounts.find(wholeInstallation, project.accountId);
    },
    limits: ['limit_reached'],
    most: 10,
    receives: 'It receives the events of the project.',
  };
}

export const ofOperators: Owners = {
  base: '/v1/webhooks',
  common: (_need, verb, noun) => ({
    tag: 'Operations',
    scope: 'admin',
    stability: 'stable',
    operationId: `${verb}Operator${noun}`,
  }),
  refusals: [],
  accountOf: async () => null,
  limits: [],
  ownerOf: async (access) => ({ access: asInstallation(access), projectId: null }),
  most: 20,
  receives: 'It receives the events of every project, including projects created later.',
};

/** The path of the owner's webhooks. */
export function pathIn({ base }: Owners, { projectId }: Pick<WebhookOwner, 'projectId'>): string {
  return base.replace(':projectId', projectId ?? '');
}

type WebhookRequest = {
  readonly access: Access;
  readonly params: OwnerParams & { readonly webhookId: string };
};

/** 404 if its owner does not have it or does not exist. */
export async function withWebhook<Answer extends ApiResponse>(
  { webhooks }: Service,
  owners: Owners,
  { access, params }: WebhookRequest,
  act: (webhook: Webhook, owner: WebhookOwner) => Promise<Answer>,
): Promise<Answer | Refusal> {
  const owner = await owners.ownerOf(access, params);
  if (owner === null) return refuse('project_not_found');
  const found = isUuid(params.webhookId) ? await webhooks.find(owner, params.webhookId) : null;
  return found === null ? refuse('webhook_not_found') : act(found, owner);
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
