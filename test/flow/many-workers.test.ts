/** Three workers on one queue, one of them killed half way: every domain goes live once, with one certificate. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { addMany, countLive, lifeStory, stories } from '../support/many-domains.ts';
import { type Service, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

const DOMAINS = 24;
const WAVE = 6;

const program = fileURLToPath(new URL('../support/poisoned-worker.mjs', import.meta.url));

/** A worker process that nothing poisons, whose stalled jobs are noticed soon. It does not outlive this process. */
function startWorker(env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  process.once('exit', kill);
  return { kill };
}

async function start(name: StorageName): Promise<Service> {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority', env: { ROLE: 'api' } });
  closings.push(service.close);
  return service;
}

const servers = storages.filter(({ name }) => name !== 'embedded');

describe.each(servers)('on $name, three workers at once', ({ name, available }) => {
  it.skipIf(!available)(
    'do everything once, also when one of them is killed',
    async () => {
      const { signpost, world } = await start(name);
      const { prisma } = signpost.parts.database;
      const workers = [1, 2, 3].map(() =>
        startWorker({ ...world.env, EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' }),
      );
      closings.push(() => Promise.all(workers.map((worker) => worker.kill())));
      const domains = await addMany(signpost.parts, world, DOMAINS);
      for (let right = WAVE; right <= DOMAINS; right += WAVE) {
        await world.publish(domains.slice(0, right).map(({ record }) => record));
        await until('one of the wave', async () => {
          return (await countLive(signpost.parts, domains)) > right - WAVE;
        });
        // Some of the wave are verified, some ordered, some live.
        if (right === 2 * WAVE) await workers[0]?.kill();
      }
      await until('all live', async () => (await countLive(signpost.parts, domains)) === DOMAINS);

      expect(await stories(signpost.parts, domains)).toEqual({ [lifeStory]: DOMAINS });
      expect(await prisma.certificate.count()).toBe(DOMAINS);
      const numbers = await prisma.event.findMany({ orderBy: { number: 'asc' } });
      expect(numbers.map(({ number }) => Number(number))).toEqual(
        numbers.map((_, index) => index + 1),
      );
    },
    240_000,
  );
});
