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
