/** Without Redis the queue is in PostgreSQL: emptying its tables only causes a delay. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addMany, countLive, lifeStory, stories } from '../support/many-domains.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const onPostgres = storages.find(({ name }) => name === 'postgres');

describe.skipIf(!onPostgres?.available)('jobs that were deleted from PostgreSQL', () => {
  let fresh: FreshStorage;
  let service: RunningService;

  beforeAll(async () => {
    fresh = await freshStorage('postgres');
    const env = { TIME_SCALE: '720' };
    service = await startService({ storage: fresh.storage, ca: 'local authority', env });
  });
  afterAll(async () => {
    await service.close();
    await fresh.close();
  });

  it('are restored, and every domain goes live once', async () => {
    const { signpost, world } = service;
    const { database, queues } = signpost.service;
    const { prisma, pool } = database;
    const domains = await addMany(signpost.service, world, 10);
    const checked = { attempts: { gt: 0 } };
    await until('looked at', async () => (await prisma.domain.count({ where: checked })) === 10);
    const { rowCount } = await pool.query('DELETE FROM bullmq.job');
    expect(rowCount).toBeGreaterThanOrEqual(10);
    await until('counted', async () => {
      const rows = await prisma.repair.findMany();
      const counts = new Map(rows.map(({ kind, count }) => [kind, Number(count)]));
      return (counts.get('missing_job') ?? 0) > 0 && counts.get('missing_sweep') === 2;
    });
    await until('sweeps', async () => (await queues.aliveIds('recheck-live')).has('sweep'));
    await world.publish(domains.map(({ record }) => record));
    await until('all live', async () => (await countLive(signpost.service, domains)) === 10);
    expect(await stories(signpost.service, domains)).toEqual({ [lifeStory]: 10 });
  });
});
