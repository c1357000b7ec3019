/** A job that crashes its process and one that always fails are quarantined; others continue. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { forgetJobs } from '../../src/queue/queues.ts';
import { startBeside } from '../support/beside.ts';
import { closeAfterEach } from '../support/closings.ts';
import { addMany, countLive, lifeStory, type OneOfMany, stories } from '../support/many-domains.ts';
import { isLongRun } from '../support/run.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storages, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

const program = fileURLToPath(new URL('../support/poisoned-worker.mjs', import.meta.url));

/** A busy machine takes 20 s for each crashing process. */
const PATIENCE_MS = 280_000;

/** Restarts the poisoned worker whenever it crashes, as an orchestrator would. */
function supervise(env: Readonly<Record<string, string>>) {
  let child: ChildProcess;
  let stopped = false;
  let deaths = 0;
  const errors: string[] = [];
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const ended = (async () => {
    while (!stopped) {
      child = spawn(process.execPath, [program], {
        env: { PATH: process.env['PATH'], ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child.stderr?.setEncoding('utf8').on('data', (text: string) => void errors.push(text));
      const [, signal] = await once(child, 'exit');
      if (signal === 'SIGKILL' && !stopped) deaths += 1;
      if (signal === null) throw new Error(`the poisoned worker ended:\n${errors.join('')}`);
    }
  })();
  ended.catch(() => {}); // killed by stop()
  return {
    deaths: () => deaths,
    async stop() {
      stopped = true;
      process.off('exit', killAtExit);
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function start(name: StorageName) {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority', env: { ROLE: 'api' } });
  closings.push(service.close);
  return service;
}

function quarantined({ signpost }: RunningService) {
  return signpost.service.database.prisma.quarantine.findMany({ orderBy: { reason: 'asc' } });
}

/** As if their quarantines were over, which are five minutes after the third time. */
async function endQuarantines({ signpost }: RunningService): Promise<void> {
  await signpost.service.database.prisma.quarantine.updateMany({ data: { until: new Date() } });
}

const servers = storagesOfRun('postgres').filter(({ name }) => name !== 'embedded');

describe.each(servers)('on $name, poison', ({ name, available }) => {
  it.skipIf(!available)(
    'is quarantined with its reason, affects no other domain, and recovers when it is cured',
    async () => {
      const service = await start(name);
      const { signpost, world } = service;
      const domains = await addMany(signpost.service, world, 12);
      const [deadly, faulty, ...others] = domains as readonly [
        OneOfMany,
        OneOfMany,
        ...OneOfMany[],
      ];
      await world.publish(domains.map(({ record }) => record));
      const poisoned = supervise({
        ...world.env,
        DEADLY_DOMAIN: deadly.id,
        FAULTY_DOMAIN: faulty.id,
      });
      closings.push(poisoned.stop);

      await until(
        'both are quarantined',
        async () => (await quarantined(service)).length === 2,
        PATIENCE_MS,
      );
      await until('the others', async () => (await countLive(signpost.service, others)) === 10);
      const rows = await quarantined(service);
      expect(rows.map(({ domainId, reason }) => ({ domainId, reason }))).toEqual([
        { domainId: faulty.id, reason: 'TypeError: this domain is a mistake of ours' },
        {
          domainId: deadly.id,
          reason: expect.stringMatching(/^the worker crashed (once|\d+ times)/),
        },
      ]);
      expect(await countLive(signpost.service, domains)).toBe(10);
      await poisoned.stop();
      closings.pop();

      const cured = await startBeside({ ...world.env, ROLE: 'worker' });
      closings.push(cured.stop);
      await until(
        'all live',
        async () => {
          await endQuarantines(service);
          return (await countLive(signpost.service, domains)) === 12;
        },
        PATIENCE_MS,
      );
      expect(await stories(signpost.service, domains)).toEqual({ [lifeStory]: 12 });
      await until('forgotten', async () => (await quarantined(service)).length === 0);
    },
    600_000,
  );
});

// Long run only: test/db/sweep-leases.test.ts covers the leases.
const onRedis = storages.filter(({ name }) => isLongRun && name === 'postgres_redis');

describe.each(onRedis)('on $name, poison among live domains', ({ name, available }) => {
  it.skipIf(!available)(
    'is noted and does not keep others from being checked',
    async () => {
      const service = await start(name);
      const { signpost, world } = service;
      const { database, queues } = signpost.service;
      const { prisma } = database;
      const domains = await addMany(signpost.service, world, 8);
      const [deadly, faulty, ...others] = domains as readonly [
        OneOfMany,
        OneOfMany,
        ...OneOfMany[],
      ];
      for (const { id } of domains) await forgetJobs(queues, { domainId: id, epoch: 1 });
      await world.publish(domains.map(({ record }) => record));
      await prisma.domain.updateMany({
        data: { status: 'live', nextCheckAt: null, recheckAt: new Date() },
      });
      /** As if the leases had ended. */
      const endLeases = () =>
        prisma.domain.updateMany({
          where: { leases: { gt: 0 } },
          data: { recheckAt: new Date() },
        });
      const poisoned = supervise({
        ...world.env,
        DEADLY_DOMAIN: deadly.id,
        FAULTY_DOMAIN: faulty.id,
      });
      closings.push(poisoned.stop);

      // Twice with all the others, the third time alone.
      for (const death of [1, 2, 3]) {
        await until(`death ${death}`, async () => poisoned.deaths() >= death);
        if (death < 3) await endLeases();
      }
      const due = { id: { in: [faulty.id, ...others.map(({ id }) => id)] }, leases: { gt: 0 } };
      // An innocent one that was taken along twice is noted until its own check is saved.
      const rows = await until('these two alone, and the reason of the faulty one', async () => {
        await prisma.domain.updateMany({ where: due, data: { recheckAt: new Date() } });
        const noted = await quarantined(service);
        const known = noted[0]?.reason === 'TypeError: this domain is a mistake of ours';
        return known && noted.length === 2 && noted;
      });
      expect(rows.map(({ queue, jobId, reason }) => [queue, jobId, reason])).toEqual([
        ['recheck-live', faulty.id, 'TypeError: this domain is a mistake of ours'],
        ['recheck-live', deadly.id, expect.stringMatching(/^taken repeatedly/)],
      ]);

      // Their next checks are irrelevant.
      const again = new Date();
      const id = { in: others.map((other) => other.id) };
      await prisma.domain.updateMany({ where: { id }, data: { recheckAt: again } });
      await until('the others again', async () => {
        return (
          (await prisma.domain.count({
            where: { id, lastCheckedAt: { gt: again }, leases: 0 },
          })) === others.length
        );
      });
      // Every crash is the deadly one's: on a slow machine its lease ends, and it is taken again.
      const deaths = poisoned.deaths();
      const { leases } = await prisma.domain.findUniqueOrThrow({ where: { id: deadly.id } });
      expect(deaths).toBeLessThanOrEqual(leases);
      await poisoned.stop();
      closings.pop();

      const cured = await startBeside({ ...world.env, ROLE: 'worker' });
      closings.push(cured.stop);
      await until('forgotten', async () => {
        // Ends their long leases, also of one whose count was reset while its note was kept.
        const noted = (await quarantined(service)).flatMap(({ domainId }) => domainId ?? []);
        const due = { recheckAt: new Date() };
        await prisma.domain.updateMany({ where: { id: { in: noted } }, data: due });
        return noted.length === 0;
      });
    },
    400_000,
  );
});
