/** Another worker delivers under the same ID, and no secret is logged. */
import { describe, expect, it } from 'vitest';
import { startBeside } from '../support/beside.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { hang, startReceiver, status, verified } from '../support/receiver.ts';
import { freshStorage, storagesOfRun } from '../support/storage.ts';
import { startWorld, until } from '../support/world.ts';

const closings = closeAfterEach();

const onServers = storagesOfRun('postgres_redis').filter(({ name }) => name !== 'embedded');

describe.each(onServers)('on $name, a worker killed in the middle of a delivery', (storageCase) => {
  it.skipIf(!storageCase.available)(
    'is replaced, and the message is repeated',
    async () => {
      const { storage, close } = await freshStorage(storageCase.name);
      closings.push(close);
      const world = await startWorld({
        storage,
        ca: 'local authority',
        env: { WEBHOOK_ALLOW_PRIVATE: 'true', LOG_LEVEL: 'trace' },
      });
      closings.push(world.close);
      const receiver = await startReceiver();
      closings.push(receiver.close);
      receiver.respond = hang;
      const api = await startBeside({ ...world.env, ROLE: 'api' });
      closings.push(api.stop);
      const first = await startProcess({ ...world.env, ROLE: 'worker' });
      closings.push(first.stop);

      const client = createClient(world);
      const wanted = { url: receiver.url, events: ['domain.added'] };
      const { body } = await client.call('POST', '/v1/webhooks', wanted);
      const { id, secret } = body as { id: string; secret: string };
      await client.addDomain();
      await until('the first attempt', async () => receiver.received.length === 1);
      await first.kill();
      receiver.respond = status(204);
      const second = await startBeside({ ...world.env, ROLE: 'worker' });
      closings.push(second.stop);

      const delivered = await until('it was delivered', async () => {
        const { body: rows } = await client.call('GET', `/v1/webhooks/${id}/deliveries`);
        const [row] = rows as { status: string; attempts: number; messageId: string }[];
        return row?.status === 'delivered' && row;
      });
      // The killed worker's attempt was not stored and is not counted.
      expect(delivered.attempts).toBe(1);
      expect(receiver.received).toHaveLength(2);
      for (const received of receiver.received) {
        expect(verified(secret, received).type).toBe('domain.added');
        expect(received.headers['webhook-id']).toBe(delivered.messageId);
      }
      for (const one of [api, first, second]) {
        expect(one.output()).not.toContain(secret.slice(6));
        expect(one.output()).not.toContain(receiver.url);
      }
    },
    120_000,
  );
});
