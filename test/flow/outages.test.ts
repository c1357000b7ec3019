/** Outages under a running service: all acknowledged work survives without a restart. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { startService, startServiceOnOwnServers } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

const without =
  lacks('postgres', 'outages of PostgreSQL') || lacks('redis-server', 'outages of Redis');

describe.skipIf(without)('a service during an outage', () => {
  it('accepts a domain while Redis is down and continues with it afterwards', async () => {
    const { storage, redis, close } = await freshStorage('postgres_redis');
    closings.push(close);
    const { world, client, close: stop } = await startService({ storage, ca: 'local authority' });
    closings.push(stop);
    await redis?.kill();
    const { record, status } = await client.addDomain();
    expect(status).toBe('pending');
    await world.publish([`docs CNAME ${record.value}.`]);
    await redis?.restart();
    await until('live', async () => (await client.domain()).status === 'live');
  }, 180_000);

  it('responds 503 while PostgreSQL is down, stays alive, and continues afterwards', async () => {
    const { postgres, world, client } = await startServiceOnOwnServers(closings);
    const { record } = await client.addDomain();
    await until('the first finding', async () => (await client.domain()).findings.length > 0);
    await postgres.stop();
    const refused = await client.call('GET', client.domainPath);
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(refused.headers.get('retry-after')).toBe('5');
    expect((await client.call('GET', '/readyz')).status).toBe(503);
    expect((await client.call('GET', '/healthz')).status).toBe(200);
    await world.publish([`docs CNAME ${record.value}.`]);
    await postgres.restart();
    await until('live', async () => {
      const { status, body } = await client.call('GET', client.domainPath);
      return status === 200 && (body as { status: string }).status === 'live';
    });
    expect(await client.story()).toEqual([
      'domain.added',
      '+record_missing',
      '-record_missing',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]);
  }, 180_000);
});
