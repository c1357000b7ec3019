/** The queue is the alarm clock, the database the truth: whoever empties Redis half way delays a domain, and loses nothing. */
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { startSignpost } from '../../src/start.ts';
import { createClient } from '../support/client.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { startWorld, until } from '../support/world.ts';

const closings: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

const onRedis = storages.find(({ name }) => name === 'postgres_redis');

describe.skipIf(!onRedis?.available)('Redis emptied half way', () => {
  it('does not keep a waiting domain from going live', async () => {
    const { storage, redis, close } = await freshStorage('postgres_redis');
    closings.push(close);
    const world = await startWorld({ storage, ca: 'local authority' });
    closings.push(world.close);
    const result = loadConfig(world.env);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
    closings.push(() => signpost.close(10_000));
    const operator = new Redis(redis?.url ?? '');
    closings.push(() => operator.quit());

    const client = createClient(world);
    const { record } = await client.addDomain();
    await until('the first finding', async () => (await client.domain()).findings.length > 0);
    await operator.flushall();
    await world.publish([`docs CNAME ${record.value}.`]);
    await until('verified or live', async () => (await client.domain()).status !== 'pending');
    await operator.flushall();
    await until('live', async () => (await client.domain()).status === 'live');
    expect(await client.story()).toEqual([
      'domain.added',
      '+record_missing',
      '-record_missing',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]);
  });
});
