import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createVault } from '../../src/certificates/vault/vault.ts';
import type { Webhook } from '../../src/core/records.ts';
import { createSendTest } from '../../src/http/routes/send-test.ts';
import { mintSecret } from '../../src/webhooks/message.ts';
import type { Send } from '../../src/webhooks/send.ts';
import { noon } from '../support/builders.ts';

const vault = createVault(randomBytes(32));

it('Test messages to one host are limited, and a finished one frees its place', async () => {
  const waiting: (() => void)[] = [];
  const send: Send = () =>
    new Promise((resolve) => {
      waiting.push(() => resolve({ kind: 'answered', status: 204, retryAfter: null }));
    });
  const sendTest = createSendTest({ send, vault });
  const { sealed } = mintSecret(vault, 'w1');
  const aWebhook = (url: string) =>
    ({ id: 'w1', projectId: 'p1', url, sealedSecret: sealed, sealedOldSecret: null }) as Webhook;
  const [one, two] = ['https://hooks.example.com/a', 'https://hooks.example.com/b'];
  const running = [sendTest(aWebhook(one), noon), sendTest(aWebhook(two), noon)];
  expect(await sendTest(aWebhook(one), noon)).toBeNull();
  const elsewhere = sendTest(aWebhook('https://other.example.com/'), noon);
  for (const finish of waiting) finish();
  expect(await Promise.all([...running, elsewhere])).not.toContain(null);
  const again = sendTest(aWebhook(one), noon);
  for (const finish of waiting) finish();
  expect(await again).toMatchObject({ answer: { status: 204 } });
});
