import { randomUUID } from 'node:crypto';
import { DelayedError, type IQueueBackend, type Job, type JobProgress, Worker } from 'bullmq';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type DomainJob, jobId, type QueueName } from '../../src/core/operations/jobs.ts';
import { createAccountOf } from '../../src/db/accounts.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { type NoConnection, openQueueBackend, type QueueBackend } from '../../src/queue/backend.ts';
import { openQueues, type SeenQueues } from '../../src/queue/queues.ts';
import { type FreshStorage, freshStorage, storagesOfRun } from '../support/storage.ts';

const log = pino({ level: 'silent' });
type AnyWorker = Worker<DomainJob, void, string, IQueueBackend, JobProgress, NoConnection>;

for (const { name: storageName, available } of storagesOfRun('postgres', 'postgres_redis')) {
  describe.skipIf(!available)(`queues on ${storageName} storage`, () => {
    let fresh: FreshStorage;
    let database: Database;
    let backend: QueueBackend;
    let queues: SeenQueues;
    const workers: AnyWorker[] = [];

    beforeAll(async () => {
      fresh = await freshStorage(storageName);
      database = await openDatabase(fresh.storage, log);
      backend = await openQueueBackend(fresh.storage, database, log);
      queues = openQueues(backend, createAccountOf(database.prisma));
    });
    afterEach(async () => {
      await Promise.all(workers.splice(0).map((worker) => worker.close()));
      await fresh.redis?.flush();
      if (fresh.redis === null) await database.pool.query('DELETE FROM bullmq.job');
    });
    afterAll(async () => {
      await queues.close();
      await backend.close();
      await database.close();
      await fresh.close();
    });

    const newJob = (): DomainJob => ({ domainId: randomUUID(), epoch: 1 });
    const soon = (job: DomainJob, inMs = 0) => ({ job, runAt: new Date(Date.now() + inMs) });

    function work(
      name: QueueName,
      run: (job: Job<DomainJob>, token: string | undefined) => Promise<void>,
      concurrency = 20,
    ): AnyWorker {
      const options = { ...backend.workerOptions, concurrency };
      const worker: AnyWorker = new Worker(name, run, options, backend.factory);
      worker.on('error', () => {});
      workers.push(worker);
      return worker;
    }

    function completed(worker: AnyWorker, count: number): Promise<void> {
      let left = count;
      return new Promise((resolve) => {
        worker.on('completed', () => {
          left -= 1;
          if (left === 0) resolve();
        });
      });
    }

    test('a paused queue reports it and keeps due jobs waiting', async () => {
      const opened = await queues.opened('check-dns');
      await opened.pause();
      try {
        const [due, asleep] = [newJob(), newJob()];
        await queues.enqueue('check-dns', [soon(due), soon(asleep, 60_000)]);
        expect(await queues.counts('check-dns')).toMatchObject({
          isPaused: true,
          waiting: 1,
          delayed: 1,
        });
        expect(await queues.aliveIds('check-dns')).toEqual(new Set([jobId(due), jobId(asleep)]));
      } finally {
        await opened.resume();
      }
      expect(await queues.counts('check-dns')).toMatchObject({ isPaused: false, waiting: 1 });
    });

    test('a job runs with its data and is deleted', async () => {
      const job = newJob();
      const seen: DomainJob[] = [];
      const worker = work('check-dns', async ({ data }) => void seen.push(data));
      const done = completed(worker, 1);
      await queues.enqueue('check-dns', [soon(job)]);
      await done;
      expect(seen).toEqual([job]);
      expect(await queues.counts('check-dns')).toEqual({
        waiting: 0,
        delayed: 0,
        active: 0,
        failed: 0,
        isPaused: false,
      });
    });

    test('a worker that missed a notification polls within half a minute', () => {
      const worker = work('check-dns', async () => {});
      expect(Reflect.get(worker, 'maximumBlockTimeout')).toBeLessThanOrEqual(30);
    });

    test('adding a job is idempotent', async () => {
      const job = newJob();
      await queues.enqueue('check-dns', [soon(job, 60_000), soon(job)]);
      await queues.enqueue('check-dns', [soon(job)]);
      expect(await queues.counts('check-dns')).toMatchObject({ waiting: 0, delayed: 1 });
    });

    test('300 postponed jobs run exactly once more without failures', async () => {
      const jobs = Array.from({ length: 300 }, newJob);
      const runs = new Map<string, number>();
      const worker = work('check-dns', async (job, token) => {
        const id = job.data.domainId;
        runs.set(id, (runs.get(id) ?? 0) + 1);
        if (runs.get(id) === 1) {
          await job.moveToDelayed(Date.now() + 50, token);
          throw new DelayedError();
        }
      });
      const done = completed(worker, jobs.length);
      await queues.enqueue(
        'check-dns',
        jobs.map((job) => soon(job)),
      );
      await done;
      expect(jobs.map(({ domainId }) => runs.get(domainId))).toEqual(jobs.map(() => 2));
      expect(await queues.counts('check-dns')).toMatchObject({ delayed: 0, failed: 0 });
    });

    test('a job waits for its time unless it is promoted', async () => {
      const job = newJob();
      await queues.enqueue('issue-certificate', [soon(job, 3_600_000)]);
      const worker = work('issue-certificate', async () => {});
      const done = completed(worker, 1);
      await queues.promote('issue-certificate', job);
      await done;
    });

    test('promoting or removing a missing job is a no-op', async () => {
      await queues.promote('check-dns', newJob());
      await queues.remove('check-dns', newJob());
    });

    test('an active job is neither promoted nor removed', async () => {
      const job = newJob();
      // All runs share the gate: on a busy machine the job can stall and run again.
      let release = () => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const worker = work('check-dns', () => gate);
      const active = new Promise((resolve) => worker.once('active', resolve));
      const done = completed(worker, 1);
      await queues.enqueue('check-dns', [soon(job)]);
      await active;
      await queues.promote('check-dns', job);
      await queues.remove('check-dns', job);
      await queues.ensure('check-dns', [soon(job)]);
      expect(await queues.counts('check-dns')).toMatchObject({ active: 1, waiting: 0, delayed: 0 });
      release();
      await done;
    });

    test('a removed job does not run', async () => {
      const job = newJob();
      await queues.enqueue('check-dns', [soon(job, 60_000)]);
      await queues.remove('check-dns', job);
      expect(await queues.counts('check-dns')).toMatchObject({ delayed: 0, waiting: 0 });
    });

    test('a failed job is kept until it is ensured, and then runs again', async () => {
      const job = newJob();
      let broken = true;
      const worker = work('check-dns', async () => {
        if (broken) throw new Error('a fault');
      });
      const failed = new Promise((resolve) => worker.once('failed', resolve));
      await queues.enqueue('check-dns', [soon(job)]);
      await failed;
      expect(await queues.counts('check-dns')).toMatchObject({ failed: 1 });
      await queues.enqueue('check-dns', [soon(job)]);
      expect(await queues.counts('check-dns')).toMatchObject({ failed: 1, waiting: 0 });
      broken = false;
      const done = completed(worker, 1);
      await queues.ensure('check-dns', [soon(job)]);
      await done;
      expect(await queues.counts('check-dns')).toMatchObject({ failed: 0 });
    });

    test('ensuring an existing job changes nothing', async () => {
      const job = newJob();
      await queues.enqueue('check-dns', [soon(job, 60_000)]);
      const wanted = [soon(job, 60_000), soon(newJob(), 60_000)];
      expect(await queues.ensure('check-dns', wanted)).toEqual({ added: 1, woken: 0 });
      expect(await queues.ensure('check-dns', wanted)).toEqual({ added: 0, woken: 0 });
      expect(await queues.counts('check-dns')).toMatchObject({ delayed: 2, waiting: 0 });
    });

    test('a job that sleeps far past its time is woken, unless it waits after a fault', async () => {
      const [asleep, troubled] = [newJob(), newJob()];
      await queues.enqueue('check-dns', [
        soon(asleep, 3_600_000),
        { ...soon(troubled, 3_600_000), job: { ...troubled, faults: 9 } as DomainJob },
      ]);
      const wanted = [soon(asleep), soon(troubled)];
      expect(await queues.ensure('check-dns', wanted)).toEqual({ added: 0, woken: 1 });
      expect(await queues.counts('check-dns')).toMatchObject({ delayed: 1, waiting: 1 });
    });

    test('the jobs of a queue are listed, and removed unless active', async () => {
      const [late, due, held] = [newJob(), newJob(), newJob()];
      let release = () => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const worker = work('issue-certificate', () => gate, 1); // the worker takes one job only
      const active = new Promise((resolve) => worker.once('active', resolve));
      await queues.enqueue('issue-certificate', [soon(held)]);
      await active;
      await queues.enqueue('issue-certificate', [soon(late, 60_000), soon(due)]);
      const ids = [late, due, held].map(jobId);
      const listed = await queues.aliveIds('issue-certificate');
      const removed = await queues.removeIdle('issue-certificate', [...ids, 'nobody']);
      const left = await queues.aliveIds('issue-certificate');
      release();
      expect(listed).toEqual(new Set(ids));
      expect(removed).toBe(2);
      expect(left).toEqual(new Set([jobId(held)]));
    });

    test('a delivery has its own ID, and a sweep has one recurring job', async () => {
      const deliveryId = randomUUID();
      await queues.enqueue('deliver-webhook', [{ job: { deliveryId }, runAt: new Date() }]);
      expect(await queues.aliveIds('deliver-webhook')).toEqual(new Set([deliveryId]));
      const sweep = { job: {}, runAt: new Date(Date.now() + 60_000) };
      expect(await queues.ensure('recheck-live', [sweep])).toEqual({ added: 1, woken: 0 });
      expect(await queues.ensure('recheck-live', [sweep])).toEqual({ added: 0, woken: 0 });
      expect(await queues.counts('recheck-live')).toMatchObject({ delayed: 1, waiting: 0 });
    });

    test('the event loop is not blocked while 200 jobs run', async () => {
      const jobs = Array.from({ length: 200 }, newJob);
      let last = process.cpuUsage();
      let longest = 0;
      // CPU time, as other load on the machine is irrelevant.
      const timer = setInterval(() => {
        const { user, system } = process.cpuUsage(last);
        longest = Math.max(longest, (user + system) / 1_000);
        last = process.cpuUsage();
      }, 1);
      const done = completed(
        work('check-dns', async () => {}),
        jobs.length,
      );
      await queues.enqueue(
        'check-dns',
        jobs.map((job) => soon(job)),
      );
      await done;
      clearInterval(timer);
      process.stdout.write(
        `${storageName}: longest pause of the event loop ${longest.toFixed(0)} ms\n`,
      );
      expect(longest).toBeLessThan(2_000);
    });

    test('IDs have a format that every backend accepts', () => {
      const { domainId } = newJob();
      expect(jobId({ domainId, epoch: 3 })).toBe(`${domainId}.3`);
    });
  });
}
