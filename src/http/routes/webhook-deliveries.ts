import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { Access } from '../../core/access.ts';
import {
  DELIVERIES_KEPT_MS,
  outcomeOf,
  type WebhookResponse,
} from '../../core/operations/webhook-plan.ts';
import type { Webhook } from '../../core/records.ts';
import { DAY } from '../../core/time.ts';
import type { ReplayedEvents } from '../../db/delivery/replay-deliveries.ts';
import { hostOf } from '../../net/destination.ts';
import { createKeyedCount } from '../../net/keyed-count.ts';
import type { Service } from '../../service/service.ts';
import { signedHeaders, testBodyOf } from '../../webhooks/message.ts';
import { cursorAfterDelivery } from '../pipeline/cursor.ts';
import { type ApiResponse, refuse } from '../pipeline/errors.ts';
import { pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { docsProject } from '../schemas/projects.ts';
import {
  deliveriesQuery,
  deliveryList,
  docsDelivery,
  docsWebhookTest,
  operatorReplay,
  replay,
  replayed,
  webhookTest,
} from '../schemas/webhooks.ts';
import { findProject } from './projects.ts';
import { deliveryView, type Owners, withWebhook } from './webhook-owners.ts';

/** Covers a receiver that was down for a day, in one or two batches of the queue. */
const REPLAYED_AT_ONCE = 1_000;

const words = {
  summary: 'Replay events',
  description: `Sends either the events after a number, of the types that the webhook receives, or one event. Sends at most ${REPLAYED_AT_ONCE}, oldest first; if that many were queued, continue after \`lastEvent\`. Each message keeps its \`webhook-id\`. Deliveries that wait for a retry restart at once. Deliveries in progress are not repeated.`,
  success: success(202, 'The events are queued', replayed, { queued: 3, lastEvent: 7n }),
} as const;

/** Newest events first, for both kinds of owner. */
export function listDeliveries(service: Service, owners: Owners): Route {
  return route({
    at: `GET ${owners.base}/:webhookId/deliveries`,
    ...owners.common('read', 'list', 'WebhookDeliveries'),
    summary: 'List deliveries',
    description: `Lists deliveries in pages, those of the newest events first. Deliveries are kept for ${DELIVERIES_KEPT_MS / DAY} days.`,
    query: deliveriesQuery,
    success: success(200, 'A page of deliveries', deliveryList, [docsDelivery]),
    refusals: [...owners.refusals, 'webhook_not_found'],
    handle: ({ access, params, query: { limit, cursor = null } }) =>
      withWebhook(service, owners, { access, params }, async ({ id }) => {
        const page = await service.deliveries.list(access, id, { after: cursor, limit });
        return pageAnswer(page, cursorAfterDelivery, deliveryView);
      }),
  });
}

/** Works for a disabled webhook, too. Not a delivery: it is not retried, counted or listed. */
export function testWebhook(service: Service, owners: Owners, sendTest: SendTest): Route {
  return route({
    at: `POST ${owners.base}/:webhookId/test`,
    ...owners.common('write', 'test', 'Webhook'),
    summary: 'Send a test message',
    description:
      'Sends one signed message of the type `webhook.test` at once, and returns the result. Also works while the webhook is disabled. It is not retried, and changes nothing about the webhook. Every request sends a message, also with an `Idempotency-Key`.',
    success: success(200, 'The result', webhookTest, docsWebhookTest),
    isRepeated: true,
    waitsForOthers: true,
    refusals: [...owners.refusals, 'webhook_not_found', 'too_many_tests'],
    handle: ({ access, params }) =>
      withWebhook(service, owners, { access, params }, async (webhook) => {
        const at = service.now();
        const sent = await sendTest(webhook, at);
        if (sent === null) return refuse('too_many_tests', undefined, { 'retry-after': '5' });
        const { messageId, answer } = sent;
        const { httpStatus, problem } = outcomeOf(answer);
        const delivered = problem === null;
        const body = { messageId, delivered, status: httpStatus, error: problem, at };
        return { status: 200, body };
      }),
  });
}

/** Concurrent requests leave one waiting delivery per event. */
export function replayEvents(service: Service, owners: Owners): Route {
  return route({
    ...words,
    at: 'POST /v1/projects/:projectId/webhooks/:webhookId/replay',
    ...owners.common('write', 'replay', 'WebhookEvents'),
    body: replay,
    bodyExample: { after: 4n },
    refusals: [...owners.refusals, 'webhook_not_found', 'event_not_found', 'webhook_disabled'],
    handle: ({ access, params, body }) =>
      withWebhook(service, owners, { access, params }, (webhook) =>
        again(service, access, webhook, { ...body, projectId: params.projectId }),
      ),
  });
}

/** The body names the project, because every project numbers its own events. */
export function replayProjectEvents(service: Service, owners: Owners): Route {
  return route({
    ...words,
    at: 'POST /v1/webhooks/:webhookId/replay',
    ...owners.common('write', 'replay', 'WebhookEvents'),
    body: operatorReplay,
    bodyExample: { projectId: docsProject.id, after: 4n },
    refusals: ['webhook_not_found', 'project_not_found', 'event_not_found', 'webhook_disabled'],
    handle: ({ access, params, body }) =>
      withWebhook(service, owners, { access, params }, async (webhook) => {
        const project = await findProject(service, access, body.projectId);
        return project === null
          ? refuse('project_not_found')
          : again(service, access, webhook, body);
      }),
  });
}

type Asked = z.infer<typeof operatorReplay>;

/** Refuses a disabled webhook, because nothing would be sent. */
async function again(
  { deliveries, now }: Service,
  access: Access,
  webhook: Webhook,
  asked: Asked,
): Promise<ApiResponse> {
  if (webhook.disabledAt !== null) return refuse('webhook_disabled');
  const done = await deliveries.replay({
    access,
    webhook,
    events: eventsOf(asked),
    at: now(),
    limit: REPLAYED_AT_ONCE,
  });
  // An empty range is valid; a single event must exist.
  if (asked.event !== undefined && done.queued === 0) return refuse('event_not_found');
  return { status: 202, body: done };
}

/** The schema guarantees exactly one of both. Event numbers start at 1. */
function eventsOf({ projectId, after = 0n, event }: Asked): ReplayedEvents {
  const fromZero = (number: bigint) => (number < 0n ? 0n : number);
  return event === undefined
    ? { projectId, after: fromZero(after) }
    : { projectId, event: fromZero(event) };
}

type TestSent = { readonly messageId: string; readonly answer: WebhookResponse };

/** At most 5 s. Null if too many are being sent. Rejects only on internal errors. */
type SendTest = (webhook: Webhook, at: Date) => Promise<TestSent | null>;

/** Per process, and of those per host and per account. */
const testsAtOnce = { total: 20, host: 2, account: 15 } as const;

/** A request waits for it, so it is shorter than an attempt. */
const TEST_TIMEOUT_MS = 5_000;

/** Sends one `webhook.test` from this process, outside the queue. */
export function createSendTest({
  accountOf,
  send,
  vault,
}: Pick<Service, 'accountOf' | 'send' | 'vault'>): SendTest {
  const admit = createAdmit();
  return async (webhook, at) => {
    const account = webhook.projectId === null ? '' : await accountOf(webhook.projectId);
    const leave = admit(hostOf(new URL(webhook.url)), account);
    if (leave === null) return null;
    const messageId = `msg_${randomUUID()}`;
    const body = testBodyOf(webhook, at);
    const headers = signedHeaders(vault, webhook, { messageId, at, body });
    try {
      return {
        messageId,
        answer: await send({ url: webhook.url, headers, body, timeoutMs: TEST_TIMEOUT_MS }),
      };
    } finally {
      leave();
    }
  };
}

/** Returns the release function, or null. */
function createAdmit() {
  const { total, host: perHost, account: perAccount } = testsAtOnce;
  const hosts = createKeyedCount({ total, perKey: perHost });
  const accounts = createKeyedCount({ total, perKey: perAccount });
  return (host: string, account: string): (() => void) | null => {
    const leaveHost = hosts.admit(host);
    if (typeof leaveHost !== 'function') return null;
    const leaveAccount = accounts.admit(account);
    if (typeof leaveAccount !== 'function') {
      leaveHost();
      return null;
    }
    return () => {
      leaveHost();
      leaveAccount();
    };
  };
}
