/** A live API with a thing for every operation to be about, and its audit log as the database has it. */
import { randomUUID } from 'node:crypto';
import type { PrismaClient } from '../../../src/db/generated/client.ts';
import type { Route } from '../../../src/http/pipeline/route.ts';
import { type Context, makeContext } from '../../contract/context.ts';
import { type DocumentedOperation, fetchDocument, operationsOf } from '../../contract/document.ts';
import { type OperationAsks, operations } from '../../contract/operations.ts';
import { type Answer, type Ask, adding, send } from '../../contract/requests.ts';
import { escalationIds } from '../../contract/services.ts';
import { everyRoute } from '../../support/every-route.ts';
import { startApi } from '../../support/service.ts';

/** A thing for every operation. */
export type Things = Context & {
  /** There to be deleted: where there is none, deleting succeeds as well, and changes nothing. */
  readonly doomedWebhookId: string;
  readonly doomedOperatorWebhookId: string;
};

/** What is asked of an operation: that which succeeds changes something. */
export type Asked = Omit<OperationAsks, 'success'> & {
  readonly success: readonly [status: number, asking: (things: Things) => Ask];
};

/** What is asked of each operation, by its id. */
export const asked: Readonly<Record<string, Asked>> = {
  ...operations,
  deleteWebhook: {
    ...operations['deleteWebhook'],
    success: [
      204,
      ({ projectId, doomedWebhookId: webhookId }) => ({ params: { projectId, webhookId } }),
    ],
  },
  deleteOperatorWebhook: {
    ...operations['deleteOperatorWebhook'],
    success: [204, ({ doomedOperatorWebhookId: webhookId }) => ({ params: { webhookId } })],
  },
};

export type AuditedApi = {
  readonly origin: string;
  readonly apiKey: string;
  readonly prisma: PrismaClient;
  /** As /openapi.json has them. */
  readonly operations: readonly DocumentedOperation[];
  /** Those whose method may change something, and those that leave an entry though they do not. */
  readonly changing: readonly DocumentedOperation[];
  things(): Promise<Things>;
  /** Sends a request with the administrator's key, unless the headers have another. */
  ask(operation: DocumentedOperation, ask: Ask): Promise<Answer>;
  /** What the operation is there for, with this id of the request. */
  succeed(operation: DocumentedOperation, things: Things, requestId: string): Promise<Answer>;
  entriesOf(requestId: string): ReturnType<PrismaClient['auditEntry']['findMany']>;
  close(): Promise<void>;
};

const routes: ReadonlyMap<string, Route> = new Map(
  everyRoute().map((route) => [route.operationId, route]),
);

/** The route of a documented operation. */
export function routeOf({ operationId }: DocumentedOperation): Route {
  const route = routes.get(operationId);
  if (route === undefined) throw new Error(`${operationId} has no route`);
  return route;
}

export async function startAuditedApi(): Promise<AuditedApi> {
  const service = await startApi();
  const { apiUrl: origin, apiKey } = service.world;
  const { prisma } = service.signpost.parts.database;
  await openEscalations(prisma);
  const documented = operationsOf(await fetchDocument(origin));
  const ask: AuditedApi['ask'] = (operation, { headers, ...rest }) =>
    send(`${origin}${operation.base}`, operation, {
      ...rest,
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
    });
  return {
    origin,
    apiKey,
    prisma,
    operations: documented,
    changing: documented.filter(
      (operation) => operation.method !== 'GET' || routeOf(operation).audits !== undefined,
    ),
    async things() {
      const context = await makeContext(origin, apiKey);
      const make = async (path: string) => {
        const authorization = `Bearer ${apiKey}`;
        const headers = { authorization, 'content-type': 'application/json' };
        const body = '{"url":"https://hooks.example.com/"}';
        const made = await fetch(origin + path, { method: 'POST', headers, body });
        return ((await made.json()) as { readonly id: string }).id; // the documented answer
      };
      return {
        ...context,
        doomedWebhookId: await make(`/v1/projects/${context.projectId}/webhooks`),
        doomedOperatorWebhookId: await make('/v1/webhooks'),
      };
    },
    ask,
    async succeed(operation, things, requestId) {
      const { operationId } = operation;
      const success = asked[operationId]?.success;
      if (success === undefined) throw new Error(`nothing is known of ${operationId}`);
      const [status, asking] = success;
      const answer = await ask(operation, adding(asking(things), { 'x-request-id': requestId }));
      if (answer.status !== status) {
        throw new Error(`${operationId} answered ${answer.status} ${answer.text}`);
      }
      return answer;
    },
    entriesOf: (requestId) => prisma.auditEntry.findMany({ where: { requestId } }),
    close: service.close,
  };
}

/** Escalations that an operator can close: those that contexts name. */
async function openEscalations(prisma: PrismaClient): Promise<void> {
  const at = new Date();
  const times = { addedAt: at, pendingSince: at, verifiedAt: at };
  const names = { hostname: 'held.shop.test', target: 'x.edge.signpost.test' };
  const domain = { id: randomUUID(), status: 'verified', ...names, ...times } as const;
  const project = { id: randomUUID(), name: 'Held', slug: 'held' };
  await prisma.project.create({ data: { ...project, domains: { create: domain } } });
  const words = { cause: 'platform_fault', evidence: {}, nextAction: '' };
  const data = escalationIds.map((id) => {
    return { id, domainId: domain.id, ...words, openedAt: at, closedAt: at };
  });
  await prisma.escalation.createMany({ data });
}
