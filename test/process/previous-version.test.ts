/** A rolling upgrade: the version before the newest migration, and this one, on one database. */
import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { buildVersion, findPreviousVersion } from '../support/previous-version.ts';
import { launchProcess } from '../support/process.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { startWorld, until } from '../support/world.ts';

const closings = closeAfterEach();
const onRedis = storages.find(({ name }) => name === 'postgres_redis');
const previous = await findPreviousVersion('the previous version beside this one');

it.skipIf(!onRedis?.available || previous === null)(
  'Domains go live while processes of two versions replace each other, in both directions',
  async () => {
    const root = await buildVersion(previous ?? '');
    closings.push(() => rm(root, { recursive: true }));
    const { storage, close } = await freshStorage('postgres_redis', { empty: true });
    closings.push(close);
    const world = await startWorld({ storage, ca: 'local authority' });
    closings.push(world.close);
    const records: string[] = [];

    const start = async (role: 'api' | 'worker' | 'edge', version?: string) => {
      const started = launchProcess({ ...world.env, ROLE: role }, version);
      closings.push(started.kill);
      await started.printed('Signpost is ready');
      return started;
    };
    const goesLive = async (label: string) => {
      const client = createClient({ ...world, hostname: `${label}.${world.zone}` });
      const { record } = await client.addDomain();
      records.push(`${label} CNAME ${record.value}.`);
      await world.publish(records);
      const isLive = async () => (await client.domain()).status === 'live';
      await until(`${label} is live`, isLive);
      return isLive;
    };

    const api = await start('api', root);
    await start('edge', root);
    const worker = await start('worker', root);
    const one = await goesLive('one');

    // The schema of this version under an API and an edge of the previous one.
    const newWorker = await start('worker');
    expect(await worker.stop()).toBe(0);
    const two = await goesLive('two');

    // A worker of the previous version restarts beside an API of this one.
    expect(await api.stop()).toBe(0);
    await start('api');
    await start('worker', root);
    expect(await newWorker.stop()).toBe(0);
    await goesLive('three');
    expect([await one(), await two()]).toEqual([true, true]);
  },
  300_000,
);
