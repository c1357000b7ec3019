/** A receiver with a large backlog and one that disappears do not affect others. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { startReceiver, status } from '../support/receiver.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

const ANSWER_MS = 400;
/** The limit of concurrent attempts per receiver (workers/deliver-webhook.ts). */
const PLACES = 4;
/** They take five minutes. */
const CROWD = 3_000;

async function start(name: StorageName) {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true' };
  const service = await startService({ storage, ca: 'local authority', env });
  closings.push(service.close);
  return service;
}

async function receiver() {
  const started = await startReceiver();
  closings.push(started.close);
  return started;
}

async function make(
  { client }: RunningService,
  path: string,
  url: string,
  events: readonly string[],
) {
  const { body } = await client.call('POST', path, { url, events });
  return (body as { id: string }).id; // our own API's documented shape
}

for (const { name, available } of storagesOfRun('postgres')) {
  describe.skipIf(!available)(`on ${name}`, () => {
    it('3,000 messages for one receiver do not delay those for another', async () => {
      const service = await start(name);
      const [slow, quick] = [await receiver(), await receiver()];
      slow.respond = (_, response) => setTimeout(() => response.writeHead(204).end(), ANSWER_MS);
      const { client } = service;
      await client.addDomain();
      const path = client.domainPath.replace(/\/domains\/.*/, '/webhooks');
      // Another hostname for the same address, as for two customers. Receives only replays.
      const url = slow.url.replace('127.0.0.1', 'localhost');
      const crowded = await make(service, path, url, ['domain.removed']);
      const free = await make(service, path, quick.url, ['domain.removed']);
      const { prisma } = service.signpost.service.database;
      const { id: eventId } = await prisma.event.findFirstOrThrow();
      const now = new Date();
      const waiting = { webhookId: crowded, eventId, createdAt: now, nextAttemptAt: now };
      await prisma.webhookDelivery.createMany({ data: Array(CROWD).fill(waiting) });
      await until('the crowd is served', async () => slow.received.length >= PLACES);
      for (const nth of [1, 2, 3]) {
        await client.call('POST', `${path}/${free}/replay`, { event: 1 });
        await until('the quick one', async () => quick.received.length === nth);
        expect(slow.received.length).toBeLessThan(CROWD / 2);
      }
      const before = slow.received.length;
      await until('the crowd goes on', async () => slow.received.length > before + 8);
      expect(
        await prisma.webhookDelivery.count({ where: { queuedAt: { not: null } } }),
      ).toBeLessThan(10);
      await client.call('DELETE', `${path}/${crowded}`);
    }, 240_000);

    it('deleting a webhook with a waiting message leaves no repair work', async () => {
      const service = await start(name);
      const busy = await receiver();
      busy.respond = status(503, { 'retry-after': '600' });
      const { client } = service;
      const id = await make(service, '/v1/webhooks', busy.url, ['domain.added']);
      await client.addDomain();
      const { prisma } = service.signpost.service.database;
      await until('the first attempt', async () =>
        prisma.webhookDelivery.count({ where: { attempts: 1 } }),
      );
      const queue = () => service.signpost.service.queues.counts('deliver-webhook');
      await until('no job waits', async () => {
        const { active, delayed, waiting } = await queue();
        return active + delayed + waiting === 0;
      });
      await client.call('DELETE', `/v1/webhooks/${id}`);
      const turn = async () =>
        (await prisma.turn.findUnique({ where: { name: 'reconcile' } }))?.takenAt.getTime() ?? 0;
      // The current run may have read the state before; the one after it has seen everything.
      for (let nth = 0; nth < 3; nth += 1) {
        const last = await turn();
        await until('a run of the reconciler', async () => (await turn()) > last);
      }
      expect(await prisma.repair.findMany({ where: { count: { gt: 0 } } })).toEqual([]);
    }, 240_000);
  });
}
