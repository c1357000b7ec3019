/** Three workers on one queue, one of them killed: every domain goes live once. */
import { describe, expect, it } from 'vitest';
import { startBeside } from '../support/beside.ts';
import { closeAfterEach } from '../support/closings.ts';
import { addMany, countLive, lifeStory, stories } from '../support/many-domains.ts';
import { startQuickWorker } from '../support/process.ts';
import { sizeOfRun } from '../support/run.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

const DOMAINS = sizeOfRun({ quick: 12, long: 24 });
const WAVE = DOMAINS / 4;

async function start(name: StorageName): Promise<RunningService> {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority', env: { ROLE: 'api' } });
  closings.push(service.close);
  return service;
}

const servers = storagesOfRun('postgres').filter(({ name }) => name !== 'embedded');

describe.each(servers)('on $name, three workers at once', ({ name, available }) => {
  it.skipIf(!available)(
    'do everything once, even when one of them is killed',
    async () => {
      const { signpost, world } = await start(name);
      const { prisma } = signpost.service.database;
      const env = { ...world.env, ROLE: 'worker' };
      const killed = await startQuickWorker(env);
      closings.push(killed.kill);
      for (const _other of [1, 2]) closings.push((await startBeside(env)).stop);
      const domains = await addMany(signpost.service, world, DOMAINS);
      for (let right = WAVE; right <= DOMAINS; right += WAVE) {
        await world.publish(domains.slice(0, right).map(({ record }) => record));
        await until('one of the wave', async () => {
          return (await countLive(signpost.service, domains)) > right - WAVE;
        });
        // Some are verified, some ordered, some live.
        if (right === 2 * WAVE) await killed.kill();
      }
      await until('all live', async () => (await countLive(signpost.service, domains)) === DOMAINS);

      expect(await stories(signpost.service, domains)).toEqual({ [lifeStory]: DOMAINS });
      expect(await prisma.certificate.count()).toBe(DOMAINS);
      const numbers = await prisma.event.findMany({ orderBy: { number: 'asc' } });
      expect(numbers.map(({ number }) => Number(number))).toEqual(
        numbers.map((_, index) => index + 1),
      );
    },
    240_000,
  );
});
