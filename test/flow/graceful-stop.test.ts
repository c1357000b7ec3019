/** SIGTERM under load: the worker finishes its jobs and the next one continues. */
import { describe, expect, it } from 'vitest';
import { domainQueues } from '../../src/core/operations/jobs.ts';
import { startBeside } from '../support/beside.ts';
import { closeAfterEach } from '../support/closings.ts';
import { addMany, countLive, lifeStory, storedChecks, stories } from '../support/many-domains.ts';
import { startProcess } from '../support/process.ts';
import { rowsOfRun, sizeOfRun } from '../support/run.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

async function start(name: StorageName): Promise<RunningService> {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority', env: { ROLE: 'api' } });
  closings.push(service.close);
  return service;
}

/** These steps use the machine fully and take longer on a busy one. */
const PATIENCE_MS = 180_000;

/** The crash counts of the jobs in a queue. */
async function deaths({ signpost }: RunningService): Promise<number[]> {
  return (await storedChecks(signpost.service)).map(({ stalledCounter }) => stalledCounter);
}

const cases = rowsOfRun<{ readonly name: StorageName; readonly count: number }>(
  [
    { name: 'postgres_redis', count: sizeOfRun({ quick: 40, long: 120 }) },
    { name: 'postgres', count: 40 },
  ],
  ({ name }) => name === 'postgres_redis',
);
const ROUNDS = sizeOfRun({ quick: 1, long: 2 });

describe.each(cases)('on $name, a worker that is stopped under load', ({ name, count }) => {
  const available = storages.some((storage) => storage.name === name && storage.available);

  it.skipIf(!available)(
    'ends without active jobs, and no job is lost or doubled',
    async () => {
      const service = await start(name);
      const { signpost, world } = service;
      const { queues, database } = signpost.service;
      const domains = await addMany(signpost.service, world, count);
      const checks = async () =>
        (await database.prisma.domain.aggregate({ _sum: { attempts: true } }))._sum.attempts ?? 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = await checks();
        const worker = await startProcess({ ...world.env, ROLE: 'worker' });
        closings.push(worker.stop);
        await until('under load', async () => (await checks()) > before + 3 * count, PATIENCE_MS);

        expect(await worker.stop()).toBe(0);
        // A job cut off at the deadline of src/main.ts would still be active or counted as a crash.
        for (const queue of domainQueues) {
          expect(await queues.counts(queue)).toMatchObject({ active: 0, failed: 0 });
        }
        expect((await queues.aliveIds('check-dns')).size).toBe(count);
        expect(await deaths(service)).toEqual(domains.map(() => 0));
      }
      // Again while they progress, when doubling could happen.
      await world.publish(domains.map(({ record }) => record));
      const last = await startProcess({ ...world.env, ROLE: 'worker' });
      closings.push(last.stop);
      await until(
        'some live',
        async () => (await countLive(signpost.service, domains)) > 10,
        PATIENCE_MS,
      );
      expect(await last.stop()).toBe(0);
      const heir = await startBeside({ ...world.env, ROLE: 'worker' });
      closings.push(heir.stop);
      await until(
        'all live',
        async () => (await countLive(signpost.service, domains)) === count,
        PATIENCE_MS,
      );
      expect(await stories(signpost.service, domains)).toEqual({ [lifeStory]: count });
      expect(await database.prisma.certificate.count()).toBe(count);
      expect(await database.prisma.repair.count()).toBe(0);
    },
    500_000,
  );
});
