/** A change that no check is due for: the watch sees it, and the check comes at once. */
import { describe, it } from 'vitest';
import { startBeside } from '../support/beside.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { type Service, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();
const DAY_MS = 86_400_000;

async function start(name: StorageName, env = {}): Promise<Service> {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority', env });
  closings.push(service.close);
  return service;
}

const statusOf = ({ client }: Service, status: string) =>
  until(status, async () => {
    const domain = await client.domain();
    return domain.status === status && domain;
  });

/** The domain's own job, and its row, say: not before tomorrow. */
async function sleepUntilTomorrow({ signpost: { parts } }: Service): Promise<void> {
  const { prisma } = parts.database;
  await until('a job that sleeps', async () => {
    const { id, epoch } = await prisma.domain.findFirstOrThrow();
    const nextCheckAt = new Date(Date.now() + DAY_MS);
    await prisma.domain.updateMany({ data: { nextCheckAt } });
    const queue = await parts.queues.opened('check-dns');
    const job = await queue.getJob(`${id}.${epoch}`);
    if (job === undefined || !(await job.isDelayed())) return false;
    await job.changeDelay(DAY_MS).catch(() => {}); // it may have begun just now
    const again = await queue.getJob(`${id}.${epoch}`);
    return again !== undefined && again.delay > DAY_MS / 2 && (await again.isDelayed());
  });
}

/** What the watch holds is what the last check saw. */
async function isWatched({ signpost: { parts } }: Pick<Service, 'signpost'>): Promise<void> {
  await until('a name to watch', async () => {
    const row = await parts.database.prisma.storedObservation.findFirst();
    return row?.watchedServers;
  });
}

describe.each(storagesOfRun('postgres_redis'))('on $name', ({ name, available }) => {
  it.skipIf(!available)('a pending domain is verified long before its next check', async () => {
    const service = await start(name);
    const { record } = await service.client.addDomain();
    await isWatched(service);
    await sleepUntilTomorrow(service);
    await service.world.publish([`docs CNAME ${record.value}.`]);
    await statusOf(service, 'live');
  });

  it.skipIf(!available)('a live domain drifts long before its next check', async () => {
    const service = await start(name);
    const { record } = await service.client.addDomain();
    await service.world.publish([`docs CNAME ${record.value}.`]);
    await statusOf(service, 'live');
    const recheckAt = new Date(Date.now() + DAY_MS);
    await service.signpost.parts.database.prisma.domain.updateMany({ data: { recheckAt } });
    await service.world.publish(['docs CNAME old.example.']);
    await statusOf(service, 'drifted');
  });
});

const servers = storagesOfRun('postgres').filter(({ name }) => name !== 'embedded');

describe.each(servers)('on $name, names of a killed worker', ({ name, available }) => {
  it.skipIf(!available)('are watched by another', async () => {
    const service = await start(name, { ROLE: 'api' });
    const { world, client, signpost } = service;
    const { prisma } = signpost.parts.database;
    const env = { ...world.env, ROLE: 'worker' };
    const killed = await startProcess(env);
    closings.push(killed.kill);
    const { record } = await client.addDomain();
    await isWatched(service);
    const leased = () => prisma.watchShard.count({ where: { leasedUntil: { gt: new Date() } } });
    await until('all shards', async () => (await leased()) === 256);
    await sleepUntilTomorrow(service);
    await killed.kill();
    closings.push((await startBeside(env)).stop);
    await world.publish([`docs CNAME ${record.value}.`]);
    await statusOf(service, 'live');
  });
});
