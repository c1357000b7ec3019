import { randomBytes } from 'node:crypto';
import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createVault } from '../../src/certificates/vault/vault.ts';
import type { Webhook } from '../../src/core/records.ts';
import { createSendTest } from '../../src/http/routes/webhook-deliveries.ts';
import { mintSecret } from '../../src/webhooks/message.ts';
import type { Send } from '../../src/webhooks/send.ts';
import { noon } from '../support/builders.ts';

const vault = createVault(randomBytes(32));
const { sealed } = mintSecret(vault, 'w1');

/** `finish`: every receiver answers. Each project has its own account. */
function start() {
  let waiting: (() => void)[] = [];
  const send: Send = () =>
    new Promise((resolve) => {
      waiting.push(() => resolve({ kind: 'answered', status: 204, retryAfter: null }));
    });
  const sendTest = createSendTest({ send, vault, accountOf: async (id) => `account of ${id}` });
  return {
    to: (url: string, projectId: string | null = 'p1') => {
      const webhook = { id: 'w1', projectId, url, sealedSecret: sealed, sealedOldSecret: null };
      return sendTest(webhook as Webhook, noon);
    },
    async finish() {
      await tick();
      for (const answer of waiting) answer();
      waiting = [];
    },
  };
}

it('Test messages to one host are limited, and a finished one frees its place', async () => {
  const { to, finish } = start();
  const running = [to('https://hooks.example.com/a'), to('https://hooks.example.com/b')];
  expect(await to('https://hooks.example.com/a')).toBeNull();
  const elsewhere = to('https://other.example.com/');
  await finish();
  expect(await Promise.all([...running, elsewhere])).not.toContain(null);
  const again = to('https://hooks.example.com/a');
  await finish();
  expect(await again).toMatchObject({ answer: { status: 204 } });
});

it('Test messages of one account leave places for others', async () => {
  const { to, finish } = start();
  const running = Array.from({ length: 15 }, (_, nth) => to(`https://h${nth}.example.com/`));
  expect(await to('https://one-more.example.com/')).toBeNull();
  const others = [to('https://one-more.example.com/', 'p2'), to('https://h0.example.com/', null)];
  await finish();
  expect(await Promise.all([...running, ...others])).not.toContain(null);
  const again = to('https://one-more.example.com/');
  await finish();
  expect(await again).not.toBeNull();
});
