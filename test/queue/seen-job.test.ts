/** A job as an operator sees it, on every storage. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobId } from '../../src/core/operations/jobs.ts';
import { createAccountOf } from '../../src/db/accounts.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { openQueueBackend, type QueueBackend } from '../../src/queue/backend.ts';
import { openQueues, type SeenQueues } from '../../src/queue/queues.ts';
import { type FreshStorage, freshStorage, storagesOfRun } from '../support/storage.ts';

const log = pino({ level: 'silent' });

for (const { name, available } of storagesOfRun('postgres', 'postgres_redis')) {
  describe.skipIf(!available)(`on ${name} storage`, () => {
    let fresh: FreshStorage;
    let database: Database;
    let backend: QueueBackend;
    let queues: SeenQueues;

    beforeAll(async () => {
      fresh = await freshStorage(name);
      database = await openDatabase(fresh.storage, log);
      backend = await openQueueBackend(fresh.storage, database, log);
      queues = openQueues(backend, createAccountOf(database.prisma));
    });
    afterAll(async () => {
      await queues.close();
      await backend.close();
      await database.close();
      await fresh.close();
    });

    const newJob = () => ({ domainId: randomUUID(), epoch: 1 });

    it('a delayed job shows its time and its attempts, newest first', async () => {
      const job = newJob();
      const runAt = new Date(Date.now() + 3_600_000);
      await queues.enqueue('check-dns', [{ job, runAt }]);
      const queue = await queues.opened('check-dns');
      for (const line of ['first', 'second', 'third']) await queue.addJobLog(jobId(job), line);
      const seen = await queues.see('check-dns', job);
      expect(seen).toMatchObject({
        state: 'delayed',
        attempts: 0,
        failedReason: null,
        log: ['third', 'second', 'first'],
      });
      expect(Math.abs((seen?.runAt?.getTime() ?? 0) - runAt.getTime())).toBeLessThan(60_000);
    });

    it('a due job shows as waiting', async () => {
      const job = newJob();
      await queues.enqueue('check-dns', [{ job, runAt: new Date() }]);
      expect(await queues.see('check-dns', job)).toMatchObject({ state: 'waiting', runAt: null });
    });

    it('a missing job shows as null', async () => {
      expect(await queues.see('check-dns', newJob())).toBeNull();
    });
  });
}
