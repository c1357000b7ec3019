import { randomUUID } from 'node:crypto';
import type { WebhookResponse } from '../../core/operations/webhook-plan.ts';
import type { Webhook } from '../../core/records.ts';
import { hostOf } from '../../net/destination.ts';
import { createKeyedCount } from '../../net/keyed-count.ts';
import type { Service } from '../../service/service.ts';
import { signedHeaders, testBodyOf } from '../../webhooks/message.ts';

type TestSent = { readonly messageId: string; readonly answer: WebhookResponse };

/** At most 5 s. Null if too many are being sent. Rejects only on internal errors. */
export type SendTest = (webhook: Webhook, at: Date) => Promise<TestSent | null>;

/** Per process, and per host. */
const testsAtOnce = { total: 20, perKey: 2 } as const;

/** A request waits for it, so it is shorter than an attempt. */
const TEST_TIMEOUT_MS = 5_000;

/** Sends one `webhook.test` from this process, outside the queue. */
export function createSendTest({ send, vault }: Pick<Service, 'send' | 'vault'>): SendTest {
  const underWay = createKeyedCount(testsAtOnce);
  return async (webhook, at) => {
    const leave = underWay.admit(hostOf(new URL(webhook.url)));
    if (typeof leave !== 'function') return null;
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
