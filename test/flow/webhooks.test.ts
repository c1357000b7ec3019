/** Real deliveries to receivers that verify them with the Standard Webhooks library. */
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { type Receiver, startReceiver, status, verified } from '../support/receiver.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storages, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();
/** The limit of concurrent attempts per receiver (workers/deliver-webhook.ts). */
const PLACES = 4;

type Made = { readonly id: string; readonly secret: string };
type Delivery = { readonly event: number; readonly status: string; readonly lastError: string };

async function start(name: StorageName) {
  const { storage, redis, close } = await freshStorage(name);
  closings.push(close);
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true' };
  const service = await startService({ storage, ca: 'local authority', env });
  closings.push(service.close);
  return { service, redis };
}

async function receiverIn(closing = closings): Promise<Receiver> {
  const receiver = await startReceiver();
  closing.push(receiver.close);
  return receiver;
}

async function post<T>({ client }: RunningService, path: string, body: object): Promise<T> {
  const answer = await client.call('POST', path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as T; // our own API's documented shapes
}

const deliveries = async ({ client }: RunningService, path: string) =>
  (await client.call('GET', `${path}/deliveries`)).body as readonly Delivery[];

/** The webhooks path of the domain's project. */
const webhooksOf = ({ client }: RunningService) =>
  client.domainPath.replace(/\/domains\/.*/, '/webhooks');

async function goLive(service: RunningService) {
  const { record } = await service.client.addDomain();
  await until('a finding', async () => (await service.client.domain()).findings.length > 0);
  await service.world.publish([`docs CNAME ${record.value}.`]);
  await until('live', async () => (await service.client.domain()).status === 'live');
}

for (const { name, available } of storagesOfRun('postgres_redis')) {
  describe.skipIf(!available)(`on ${name}`, () => {
    it('a receiver gets all events of a domain, numbered without gaps', async () => {
      const { service } = await start(name);
      const receiver = await receiverIn();
      let requests = 0;
      receiver.respond = (request, response) => {
        requests += 1;
        status([1, 2, 5].includes(requests) ? 500 : 204)(request, response);
      };
      const { id, secret } = await post<Made>(service, '/v1/webhooks', { url: receiver.url });
      await goLive(service);
      const delivered = await until('every event was delivered', async () => {
        const all = await deliveries(service, `/v1/webhooks/${id}`);
        const types = await service.client.story();
        return all.length >= types.length && all.every((one) => one.status === 'delivered') && all;
      });
      const messages = receiver.received.map((one) => verified(secret, one));
      const numbers = [...new Set(messages.map(({ data }) => data.id))].sort((a, b) => a - b);
      expect(numbers).toEqual(delivered.map((_, index) => index + 1));
      const types = new Set(messages.map(({ type }) => type));
      for (const type of ['domain.added', 'domain.verified', 'certificate.issued', 'domain.live']) {
        expect(types).toContain(type);
      }
      // Findings have texts, as in the API.
      const words = expect.stringMatching(/\w+ \w+/);
      const shown = expect.objectContaining({ summary: words, action: words });
      expect(messages.map(({ data }) => data.data)).toContainEqual(
        expect.objectContaining({ appeared: expect.arrayContaining([shown]) }),
      );
      // One event has one ID in all attempts; failed ones are repeated.
      const pairs = receiver.received.map(
        ({ headers }, index) => `${headers['webhook-id']} ${messages[index]?.data.id}`,
      );
      expect(new Set(pairs).size).toBe(numbers.length);
      expect(receiver.received.length).toBeGreaterThan(numbers.length);
    });

    it('a rotated secret signs beside the previous one, and neither is stored in plaintext', async () => {
      const { service } = await start(name);
      const receiver = await receiverIn();
      await service.client.addDomain();
      const path = webhooksOf(service);
      const events = ['domain.added'];
      const { id, secret } = await post<Made>(service, path, { url: receiver.url, events });
      const rotated = await post<Made>(service, `${path}/${id}/rotate-secret`, {});
      await post(service, `${path}/${id}/replay`, { event: 1 });
      await until('the replayed event', async () => receiver.received.length > 0);
      for (const received of receiver.received) {
        expect(verified(secret, received).type).toBe('domain.added');
        expect(verified(rotated.secret, received).type).toBe('domain.added');
      }
      const { prisma } = service.signpost.service.database;
      const rows = await prisma.$queryRaw<{ text: string }[]>`
        SELECT w::text AS text FROM webhook AS w UNION ALL SELECT d::text FROM webhook_delivery AS d`;
      const stored = rows.map(({ text }) => text).join('\n');
      for (const one of [secret, rotated.secret]) {
        const bytes = Buffer.from(one.slice(6), 'base64');
        expect(stored).not.toContain(one.slice(6));
        expect(stored).not.toContain(bytes.toString('hex'));
      }
    });

    it('a hanging receiver does not delay another one', async () => {
      const { service } = await start(name);
      const [hanging, quick] = [await receiverIn(), await receiverIn()];
      let [open, mostOpen] = [0, 0];
      hanging.respond = (_, response) => {
        open += 1;
        mostOpen = Math.max(mostOpen, open);
        response.once('close', () => {
          open -= 1;
        });
      };
      await service.client.addDomain();
      const path = webhooksOf(service);
      // Another hostname for the same address, as for two customers.
      const url = hanging.url.replace('127.0.0.1', 'localhost');
      const slow = await post<Made>(service, path, { url, events: ['domain.removed'] });
      const { prisma } = service.signpost.service.database;
      const { id: eventId } = await prisma.event.findFirstOrThrow();
      const now = new Date();
      const waiting = { webhookId: slow.id, eventId, createdAt: now, nextAttemptAt: now };
      // More than the limit of a process.
      await prisma.webhookDelivery.createMany({ data: Array(120).fill(waiting) });
      await until('some hang', async () => hanging.received.length >= PLACES);
      const { id } = await post<Made>(service, path, { url: quick.url });
      await post(service, `${path}/${id}/replay`, { event: 1 });
      await until('the quick one', async () => quick.received.length > 0);
      // A hanging delivery keeps its slot until its timeout.
      expect(mostOpen).toBe(PLACES);
      await hanging.close();
    });

    it('a receiver that responds 410 is disabled, and a redirect is reported', async () => {
      const { service } = await start(name);
      const [gone, moved, elsewhere] = [await receiverIn(), await receiverIn(), await receiverIn()];
      gone.respond = status(410);
      moved.respond = status(308, { location: elsewhere.url });
      await service.client.addDomain();
      const path = webhooksOf(service);
      // Receives only replays.
      const events = ['domain.removed'];
      const left = await post<Made>(service, path, { url: gone.url, events });
      const { id } = await post<Made>(service, path, { url: moved.url, events });
      for (const one of [left.id, id]) {
        await post(service, `${path}/${one}/replay`, { event: 1 });
      }
      const off = await until('disabled', async () => {
        const { body } = await service.client.call('GET', `${path}/${left.id}`);
        return (body as { enabled: boolean }).enabled ? null : body;
      });
      expect(off).toMatchObject({ disabledReason: 'gone' });
      expect(await deliveries(service, `${path}/${left.id}`)).toMatchObject([
        { status: 'failed', lastError: 'gone', lastStatus: 410, attempts: 1 },
      ]);
      const redirected = await until('the redirect', async () => {
        const [one] = await deliveries(service, `${path}/${id}`);
        return one?.lastError === 'redirected' && one;
      });
      expect(redirected).toMatchObject({ lastStatus: 308, status: 'pending' });
      expect(elsewhere.received).toEqual([]);
    });
  });
}

const onRedis = storages.find(({ name }) => name === 'postgres_redis');

describe.skipIf(!onRedis?.available)('Redis emptied while a delivery waits', () => {
  it('causes no loss: it is sent shortly after its time', async () => {
    const { service, redis } = await start('postgres_redis');
    const receiver = await receiverIn();
    const operator = new Redis(redis?.url ?? '');
    closings.push(() => operator.quit());
    receiver.respond = status(503, { 'retry-after': '1' });
    const { id, secret } = await post<Made>(service, '/v1/webhooks', {
      url: receiver.url,
      events: ['domain.added'],
    });
    await service.client.addDomain();
    await until('the first attempt', async () => {
      const [one] = await deliveries(service, `/v1/webhooks/${id}`);
      return one?.lastError === 'not_accepted';
    });
    await operator.flushall();
    receiver.respond = status(204);
    await until('it arrived', async () => {
      const [one] = await deliveries(service, `/v1/webhooks/${id}`);
      return one?.status === 'delivered';
    });
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(1);
    for (const one of receiver.received) expect(verified(secret, one).data.id).toBe(1);
  });
});
