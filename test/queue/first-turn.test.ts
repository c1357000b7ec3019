/** The reconciler's first run restores jobs that the queue has lost, and repairs nothing else. */

import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isSweepQueue, queueNames } from '../../src/core/operations/jobs.ts';
import { HOUR } from '../../src/core/time.ts';
import type { Service } from '../../src/service/service.ts';
import { workTimes } from '../../workers/running/work-times.ts';
import { type RunningWorkers, startWorkers } from '../../workers/start.ts';
import { addMany } from '../support/many-domains.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const onRedis = storages.find(({ name }) => name === 'postgres_redis');
const DOMAINS = 20;

describe.skipIf(!onRedis?.available)('workers that start', () => {
  let fresh: FreshStorage;
  let service: RunningService;
  let workers: RunningWorkers | undefined;

  beforeAll(async () => {
    fresh = await freshStorage('postgres_redis');
    const env = { ROLE: 'api' };
    service = await startService({ storage: fresh.storage, ca: 'local authority', env });
    await addMany(service.signpost.service, service.world, DOMAINS);
  });
  afterEach(() => workers?.close(10_000));
  afterAll(async () => {
    await service?.close();
    await fresh?.close();
  });

  /** The second run is in an hour. Returns whether the first found the sweep jobs in place. */
  async function untilFirstTurnEnds(): Promise<boolean> {
    const { service: plain } = service.signpost;
    const { waiting, quarantine, queues } = plain;
    let sweepsToBegin = queueNames.filter(isSweepQueue).length;
    let hadBegun = false;
    await new Promise<void>((ended) => {
      const watched: Service = {
        ...plain,
        pause: (ms) => wait(Math.min(ms, 1_000)),
        waiting: {
          ...waiting,
          takeTurn: (name) => {
            if (name === 'reconcile') hadBegun = sweepsToBegin === 0;
            return waiting.takeTurn(name, 0);
          },
        },
        queues: {
          ...queues,
          ensure: async (...[name, jobs]: Parameters<typeof queues.ensure>) => {
            const ensured = await queues.ensure(name, jobs);
            if (isSweepQueue(name)) sweepsToBegin -= 1;
            return ensured;
          },
        },
        quarantine: {
          ...quarantine,
          dropBefore: (at: Date) => quarantine.dropBefore(at).finally(ended), // the last step of a run
        },
      };
      workers = startWorkers(watched, { ...workTimes(plain.config), reconcileEveryMs: HOUR });
    });
    return hadBegun;
  }

  async function repairs(): Promise<Record<string, number>> {
    const rows = await service.signpost.service.database.prisma.repair.findMany();
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, Number(count)]));
  }
  const jobs = async () => (await service.signpost.service.queues.aliveIds('check-dns')).size;

  it('repair nothing when every domain has its job', async () => {
    expect(await jobs()).toBe(DOMAINS);
    expect(await untilFirstTurnEnds()).toBe(true);
    expect(await repairs()).toEqual({});
    await until('a job each', async () => (await jobs()) === DOMAINS);
  });

  it("restore every domain's job at once when Redis was emptied", async () => {
    await fresh.redis?.flush();
    expect(await jobs()).toBe(0);
    expect(await untilFirstTurnEnds()).toBe(true);
    expect(await repairs()).toEqual({ missing_job: DOMAINS });
    await until('a job each', async () => (await jobs()) === DOMAINS);
  });
});
