import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addMany, countLive, lifeStory, stories } from '../support/many-domains.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const onRedis = storages.find(({ name }) => name === 'postgres_redis');

describe.skipIf(!onRedis?.available)('the reconciler', () => {
  let fresh: FreshStorage;
  let service: RunningService;

  beforeAll(async () => {
    fresh = await freshStorage('postgres_redis');
    const env = { TIME_SCALE: '720' };
    service = await startService({ storage: fresh.storage, ca: 'local authority', env });
  });
  afterAll(async () => {
    await service.close();
    await fresh.close();
  });

  const prisma = () => service.signpost.service.database.prisma;
  async function repairs(): Promise<Record<string, number>> {
    const rows = await prisma().repair.findMany();
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, Number(count)]));
  }
  async function turns(count: number): Promise<void> {
    const taken = async () =>
      (await prisma().turn.findUnique({ where: { name: 'reconcile' } }))?.takenAt.getTime() ?? 0;
    for (let left = count, last = await taken(); left > 0; left -= 1) {
      last = await until('a turn', async () => ((await taken()) > last ? taken() : null));
    }
  }

  it('repairs nothing while 30 domains go live one after the other', async () => {
    const { world, signpost } = service;
    const domains = await addMany(signpost.service, world, 30);
    await turns(1);
    for (let shown = 10; shown <= domains.length; shown += 10) {
      await world.publish(domains.slice(0, shown).map(({ record }) => record));
      await until(
        'ten more',
        async () => (await countLive(signpost.service, domains)) >= shown - 5,
      );
    }
    await until('all live', async () => (await countLive(signpost.service, domains)) === 30);
    await turns(2);
    expect(await stories(signpost.service, domains)).toEqual({ [lifeStory]: 30 });
    expect(await repairs()).toEqual({});
  });

  it('removes the jobs of an ended epoch', async () => {
    const { queues } = service.signpost.service;
    const hour = new Date(Date.now() + 3_600_000);
    const orphan = { domainId: randomUUID(), epoch: 1 };
    await queues.enqueue('check-dns', [{ job: orphan, runAt: hour }]);
    await queues.enqueue('deliver-webhook', [{ job: { deliveryId: randomUUID() }, runAt: hour }]);
    await until('both gone', async () => (await repairs())['orphaned_job'] === 2);
    expect(await queues.counts('check-dns')).toMatchObject({ delayed: 0, waiting: 0 });
    expect(await queues.counts('deliver-webhook')).toMatchObject({ delayed: 0, waiting: 0 });
    expect(await repairs()).toEqual({ orphaned_job: 2 });
  });

  it('refills an emptied Redis and counts its repairs', async () => {
    const { signpost, world } = service;
    const { queues } = signpost.service;
    const domains = await addMany(signpost.service, world, 20, 'lost');
    await until('looked at', async () => {
      const id = { in: domains.map((domain) => domain.id) };
      return (await prisma().domain.count({ where: { id, attempts: { gt: 0 } } })) === 20;
    });
    const operator = new Redis(fresh.redis?.url ?? '');
    await operator.flushall();
    await operator.quit();
    const counts = await until('refilled', async () => {
      const now = await repairs();
      return (now['missing_job'] ?? 0) >= 15 && (now['missing_sweep'] ?? 0) >= 2 && now;
    });
    // Active jobs re-add themselves or are lost; each is repaired at most once.
    expect(counts['missing_job']).toBeLessThanOrEqual(20);
    expect(counts['missing_sweep']).toBe(2);
    await until('sweeps', async () => (await queues.aliveIds('recheck-live')).has('sweep'));
    await world.publish(domains.map(({ record }) => record));
    await until('all live', async () => (await countLive(signpost.service, domains)) === 20);
    expect(await stories(signpost.service, domains)).toEqual({ [lifeStory]: 20 });
  });

  it('restores the lost job of a delivery', async () => {
    const { database } = service.signpost.service;
    const id = randomUUID();
    await database.pool.query(`
      WITH hook AS (
        INSERT INTO webhook (id, project_id, url, event_types, sealed_secret)
        SELECT gen_random_uuid(), project_id, 'https://nobody.example/', '{}', '\\x00' FROM recorded_event AS event LIMIT 1
        RETURNING id, project_id)
      INSERT INTO webhook_delivery (id, webhook_id, event_id, next_attempt_at, queued_at, created_at)
      SELECT '${id}', hook.id, event.id, now() - interval '1 minute', now(), now()
      FROM hook JOIN recorded_event AS event ON event.project_id = hook.project_id LIMIT 1`);
    const before = (await repairs())['missing_job'] ?? 0;
    await until('repaired', async () => ((await repairs())['missing_job'] ?? 0) > before);
  });
});
