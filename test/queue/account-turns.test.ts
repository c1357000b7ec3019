/** Accounts take turns at the queue of checks: thousands of one delay nobody else's, and nobody waits for ever. */
import { randomUUID } from 'node:crypto';
import { type Job, Worker } from 'bullmq';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type DomainJob, jobId } from '../../src/core/operations/jobs.ts';
import { createPriorities } from '../../src/queue/priorities.ts';
import { openQueues } from '../../src/queue/queues.ts';
import type { Parts } from '../../src/roles/parts.ts';
import { composeWorkers } from '../../src/roles/worker.ts';
import { type RunningWorkers, startWorkers } from '../../workers/start.ts';
import { aStoredProject, granted } from '../support/access.ts';
import { type ComposedParts, composedParts } from '../support/composed-parts.ts';
import { endlessChecks } from '../support/endless-checks.ts';
import { storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

/** Embedded storage takes its time for thousands of jobs. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const HOUR = 3_600_000;
const MANY = 2_000;
/** Enough where the order of all of them is asserted. */
const SOME = 400;

for (const { name, available } of storages) {
  describe.skipIf(!available)(`accounts at the queue of checks on ${name} storage`, () => {
    let composedOn: ComposedParts;
    let parts: Parts;
    const closings: (() => Promise<unknown>)[] = [];

    beforeAll(async () => {
      composedOn = await composedParts(name);
      ({ parts } = composedOn);
    });
    afterEach(async () => {
      for (const close of closings.splice(0).reverse()) await close();
      await (await parts.queues.opened('check-dns')).obliterate({ force: true });
    });
    afterAll(() => composedOn?.close());

    /** An account with a project. */
    async function anAccount() {
      const { prisma } = parts.database;
      const { id } = await prisma.account.create({ data: { id: randomUUID(), name: 'A' } });
      const accountId = granted.account(id);
      return aStoredProject(prisma, { accountId });
    }
    const newJobs = (count: number): readonly DomainJob[] =>
      Array.from({ length: count }, () => ({ domainId: randomUUID(), epoch: 1 }));
    /** `owner`: a project. */
    const enqueue = (jobs: readonly DomainJob[], owner: string, queues = parts.queues) =>
      queues.enqueue(
        'check-dns',
        jobs.map((job) => ({ job, owner, runAt: new Date() })),
      );
    /** As a version before priorities gave them. */
    const enqueueAsBefore = (jobs: readonly DomainJob[]) =>
      parts.queues.enqueue(
        'check-dns',
        jobs.map((job) => ({ job, runAt: new Date() })),
      );

    /** The ids of so many jobs or some more, in the order in which a worker that takes one at a time is given them. */
    async function orderOf(count: number): Promise<readonly string[]> {
      const order: string[] = [];
      const run = async ({ id = '' }: Job) => void order.push(id);
      const options = { ...parts.backend.workerOptions, concurrency: 1 };
      const worker = new Worker('check-dns', run, options, parts.backend.factory);
      worker.on('error', () => {});
      closings.push(() => worker.close());
      await until('all of them', async () => order.length >= count);
      return order;
    }

    it('gives a small account its first check although thousands of another one stand before it', async () => {
      const [large, small] = [await anAccount(), await anAccount()];
      const [first] = newJobs(1);
      if (first === undefined) throw new Error('no job');
      await enqueue(newJobs(MANY), large.id);
      await enqueue([first], small.id);
      const order = await orderOf(10);
      expect(order.indexOf(jobId(first))).toBe(1); // its equal is the first one of the large account
    });

    it('counts all projects of an account together', async () => {
      const [large, small] = [await anAccount(), await anAccount()];
      const accountId = granted.account(large.accountId);
      for (let nth = 0; nth < 20; nth += 1) {
        const { id } = await aStoredProject(parts.database.prisma, { accountId });
        await enqueue(newJobs(SOME / 20), id);
      }
      const few = newJobs(3);
      await enqueue(few, small.id);
      const order = await orderOf(SOME + few.length);
      const last = Math.max(...few.map((job) => order.indexOf(jobId(job))));
      expect(last).toBeLessThan(2 * few.length);
    });

    it('has two large accounts take turns', async () => {
      const [one, other] = [await anAccount(), await anAccount()];
      const later = newJobs(SOME / 4);
      await enqueue(newJobs(SOME), one.id);
      await enqueue(later, other.id);
      const order = await orderOf(SOME + later.length);
      const last = Math.max(...later.map((job) => order.indexOf(jobId(job))));
      // Turns one by one would end at twice as many; they come in doublings.
      expect(last).toBeLessThan(4 * later.length);
    });

    it('starves nobody: what waits is not overtaken for ever by the first checks of others', async () => {
      let now = new Date();
      const takePriority = createPriorities({ accountOf: async (id) => id, now: () => now });
      const queues = openQueues(parts.backend, takePriority);
      closings.push(() => queues.close());
      const large = newJobs(SOME);
      await enqueue(large, 'large', queues);
      now = new Date(now.getTime() + 3 * HOUR);
      const late = newJobs(100);
      for (const job of late) await enqueue([job], job.domainId, queues);
      const order = await orderOf(SOME + late.length);
      expect(order.slice(0, SOME)).toEqual(large.map(jobId));
    });

    it('lets a first check pass thousands that were put off and are due again', async () => {
      const [large, small] = [await anAccount(), await anAccount()];
      const many = newJobs(SOME);
      const begun: string[] = [];
      const composed = composeWorkers(parts);
      const endless = endlessChecks(composed.checkDns, () => {});
      let workers: RunningWorkers | undefined;
      const work = (projectId: string, again: Date) => {
        workers = startWorkers({
          ...composed,
          checksAtOnce: 10,
          reconcileEveryMs: HOUR,
          checkDns: {
            ...endless,
            load: async (id) => {
              begun.push(id);
              const domain = await endless.load(id);
              const state = { status: 'pending', pendingSince: again } as const;
              return domain && { ...domain, state, projectId };
            },
            rules: (at) => ({ ...endless.rules(at), now: again }),
          },
        });
      };
      closings.push(async () => workers?.close(10_000));
      await enqueueAsBefore(many);
      work(large.id, new Date(Date.now() + HOUR));
      await until('each was checked', async () => {
        const { delayed } = await parts.queues.counts('check-dns');
        return delayed === SOME;
      });
      await workers?.close(10_000);
      for (const job of many) await parts.queues.promote('check-dns', job);
      const [first = { domainId: '', epoch: 0 }] = newJobs(1);
      await enqueue([first], small.id);
      begun.length = 0;
      work(small.id, new Date(Date.now() + HOUR));
      await until('the first check', async () => begun.includes(first.domainId));
      // Ten at once, and its equal of the large account.
      expect(begun.indexOf(first.domainId)).toBeLessThan(20);
    });
  });
}
