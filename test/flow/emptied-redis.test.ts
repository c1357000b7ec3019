/** Redis is only the timer and the database the truth: emptying Redis only delays a domain. */
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { startService } from '../support/service.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { type CaKind, until } from '../support/world.ts';

const closings = closeAfterEach();

const story = [
  'domain.added',
  '+record_missing',
  '-record_missing',
  'domain.verified',
  'certificate.issued',
  'domain.live',
];

async function start(ca: CaKind) {
  const { storage, redis, close } = await freshStorage('postgres_redis');
  closings.push(close);
  const service = await startService({ storage, ca, pebbleSleepSeconds: 3 });
  closings.push(service.close);
  const { world, client, signpost } = service;
  const operator = new Redis(redis?.url ?? '');
  closings.push(() => operator.quit());
  const { record } = await client.addDomain();
  await until('the first finding', async () => (await client.domain()).findings.length > 0);
  const repair = () => world.publish([`docs CNAME ${record.value}.`]);
  return { client, operator, repair, prisma: signpost.service.database.prisma };
}

const onRedis = storages.find(({ name }) => name === 'postgres_redis');
const withoutPebble = lacks('pebble', 'Redis emptied during an order');

describe.skipIf(!onRedis?.available)('Redis emptied midway', () => {
  it('does not keep a pending domain from going live', async () => {
    const { client, operator, repair } = await start('local authority');
    await operator.flushall();
    await repair();
    await until('verified or live', async () => (await client.domain()).status !== 'pending');
    await operator.flushall();
    await until('live', async () => (await client.domain()).status === 'live');
    expect(await client.story()).toEqual(story);
  });

  it.skipIf(withoutPebble)('neither loses nor doubles an order in progress', async () => {
    const { client, operator, repair, prisma } = await start('Pebble');
    await repair();
    // The order may already have ended before it was seen.
    await until(
      'the challenge',
      async () =>
        (await prisma.challenge.findFirst()) ??
        prisma.certificate.findFirst({ where: { status: 'issued' } }),
    );
    await operator.flushall();
    await until('live', async () => (await client.domain()).status === 'live');
    // The lost job and its replacement have both ended, or will have no work.
    expect(await client.story()).toEqual(story);
    expect(await prisma.certificate.count()).toBe(1);
  });
});
