/** Test messages, and what the OpenAPI document says about every message. */
import { expect, it } from 'vitest';
import { webhookMessage } from '../../src/http/schemas/events.ts';
import { parseJson } from '../../src/net/json.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startReceiver, status, verified } from '../support/receiver.ts';
import { startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

async function start() {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true' };
  const service = await startService({ storage, ca: 'local authority', env });
  const receiver = await startReceiver();
  closings.push(service.close, receiver.close);
  const { record } = await service.client.addDomain();
  const webhooks = service.client.domainPath.replace(/\/domains\/.*/, '/webhooks');
  const made = await service.client.call('POST', webhooks, { url: receiver.url });
  const { id, secret } = made.body as { readonly id: string; readonly secret: string };
  const ofWebhook = `${webhooks}/${id}`;
  // An event that the webhook gets for certain: the first check can have been before it.
  await service.client.call('POST', `${service.client.domainPath}/verify`);
  const test = async () => (await service.client.call('POST', `${ofWebhook}/test`)).body;
  return { service, receiver, record, secret, ofWebhook, id, test };
}

it('A test message is signed and its result is returned', async () => {
  const { service, receiver, secret, ofWebhook, id, test } = await start();
  await until('the first event', async () => receiver.received.length > 0);
  const before = receiver.received.length;
  const result = await test();
  const received = receiver.received.filter(({ body }) => body.includes('webhook.test'));
  expect(received).toHaveLength(1);
  const [message] = received;
  if (message === undefined) throw new Error('checked above');
  expect(result).toEqual({
    messageId: message.headers['webhook-id'],
    delivered: true,
    status: 204,
    error: null,
    at: expect.any(String),
  });
  expect(verified(secret, message)).toMatchObject({
    type: 'webhook.test',
    data: { webhookId: id },
  });

  receiver.respond = status(500);
  expect(await test()).toMatchObject({ delivered: false, status: 500, error: 'not_accepted' });
  await service.client.call('PATCH', ofWebhook, { enabled: false });
  receiver.respond = status(204);
  expect(await test()).toMatchObject({ delivered: true });
  await receiver.close();
  expect(await test()).toMatchObject({ delivered: false, error: 'connection_failed' });

  const shown = await service.client.call('GET', `${ofWebhook}/deliveries`);
  expect(JSON.stringify(shown.body)).not.toContain('webhook.test');
  expect(before).toBeGreaterThan(0);
});

it('Every message is as the document describes it', async () => {
  const { service, receiver, record, test } = await start();
  await service.world.publish([`docs CNAME ${record.value}.`]);
  const types = () =>
    receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
  await until('live', async () => types().includes('domain.live'));
  await test();
  expect(types()).toContain('webhook.test');
  for (const { body } of receiver.received) {
    const parsed = parseJson(new TextEncoder().encode(body));
    if (!parsed.ok) throw new Error(body);
    const shape = webhookMessage.safeParse(parsed.value);
    expect(shape.error?.issues ?? [], body).toEqual([]);
  }
});

it('A receiver that does not answer holds up nothing else', async () => {
  const { service, receiver, ofWebhook } = await start();
  await until('the first event', async () => receiver.received.length > 0);
  receiver.respond = () => {};
  const { apiUrl, apiKey } = service.world;
  let isDone = false;
  const sent = fetch(`${apiUrl}${ofWebhook}/test`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'idempotency-key': 'once' },
  }).then(async (response) => {
    isDone = true;
    return response.json();
  });
  await until('the test message', async () =>
    receiver.received.some(({ body }) => body.includes('webhook.test')),
  );
  expect((await service.client.call('GET', '/v1/projects')).status).toBe(200);
  expect(isDone).toBe(false);
  expect(await sent).toMatchObject({ delivered: false, error: 'timed_out' });
});
