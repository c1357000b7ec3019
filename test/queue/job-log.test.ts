/** A job's log, which operators read when a domain is stuck: one line per attempt. */

import { randomBytes } from 'node:crypto';
import { type IQueueBackend, Job, Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveSecrets } from '../../src/certificates/vault/derived-secrets.ts';
import { createVault } from '../../src/certificates/vault/vault.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { type NoConnection, openQueueBackend } from '../../src/queue/backend.ts';
import { buildService, type Service } from '../../src/service/service.ts';
import { startWorkers } from '../../workers/start.ts';
import { later } from '../support/builders.ts';
import {
  endlessChecks,
  enqueueChecks,
  noOtherWork,
  longAgo as noon,
} from '../support/endless-checks.ts';
import { type FreshStorage, freshStorage, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

type AnyQueue = Queue<unknown, void, string, unknown, void, string, IQueueBackend, NoConnection>;

/** The limit of a job's log (docs/understand/queues.md). */
const KEPT = 50;

/** The clock of these checks advances one second per check. */
const checkedAt = (nth: number) => later(noon, nth * 1_000);
/** No record found, next check in fifteen seconds. The line's time is from the real clock. */
const wordsOf = (nth: number) =>
  `record_missing; again at ${later(checkedAt(nth), 15_000).toISOString()}`;

const hasLine = (lines: readonly string[], nth: number) =>
  lines.some((line) => line.endsWith(wordsOf(nth)));
const words = (line: string) => line.slice(line.indexOf(' ') + 1);
const timeOf = (line: string) => Date.parse(line.slice(0, line.indexOf(' ')));

describe.each(storagesOfRun('postgres', 'postgres_redis'))(
  'on $name, the log of a domain’s job',
  ({ name, available }) => {
    let fresh: FreshStorage;
    let service: Service;
    let queue: AnyQueue;

    beforeAll(async () => {
      if (!available) return;
      fresh = await freshStorage(name);
      const result = loadConfig({});
      if (!result.ok) throw new Error(JSON.stringify(result.problems));
      const config = { ...result.config, storage: fresh.storage };
      const log = pino({ level: 'silent' });
      const database = await openDatabase(fresh.storage, log);
      const backend = await openQueueBackend(fresh.storage, database, log);
      const vault = createVault(randomBytes(32));
      const sealing = { vault, secrets: deriveSecrets(vault) };
      service = buildService({ config, database, backend, ...sealing, log, now: () => new Date() });
      queue = new Queue('check-dns', backend.queueOptions, backend.factory);
    });
    afterAll(async () => {
      await queue?.close();
      await service?.close();
      await service?.backend.close();
      await service?.database.close();
      await fresh?.close();
    });

    /** The log after this many postponed attempts on top of these lines. */
    async function logAfter(attempts: number, before: readonly string[] = []) {
      let begun = 0;
      let end = () => {};
      const removed = new Promise<undefined>((resolve) => {
        end = () => resolve(undefined);
      });
      const [id = ''] = await enqueueChecks(service, 1);
      for (const line of before) await Job.addJobLog(queue, id, line);
      // A line is written while its job is postponed; here the next attempt waits for the line.
      const endless = endlessChecks(service, async () => {
        if (begun > 0) await until('its line', async () => hasLine(await linesOf(id), begun));
        begun += 1;
      });
      const workers = startWorkers(
        {
          ...endless,
          checks: {
            ...endless.checks,
            // Removing the domain ends the job, so that the log does not grow while it is read.
            load: (domainId) => (begun < attempts ? endless.checks.load(domainId) : removed),
          },
          waiting: { ...service.waiting, takeTurn: async () => false },
          random: () => 0.5,
          now: () => checkedAt(begun),
        },
        noOtherWork,
      );
      try {
        const log = await until('all attempts and trimmed lines', async () => {
          const lines = await linesOf(id);
          // PostgreSQL writes a line first and deletes the oldest one afterwards.
          const isTrimmed = lines.length <= KEPT;
          return isTrimmed && hasLine(lines, attempts) && lines;
        });
        end();
        // Otherwise the next test's workers would find it.
        await until(
          'it is done',
          async () => !(await service.queues.aliveIds('check-dns')).has(id),
        );
        return log;
      } finally {
        end();
        await workers.close(10_000);
      }
    }

    /** In Redis, as docs/understand/queues.md describes it. */
    async function linesOf(id: string): Promise<readonly string[]> {
      if (fresh.redis === null) return (await queue.getJobLogs(id)).logs;
      const redis = new Redis(fresh.redis.url);
      try {
        return await redis.lrange(`signpost:check-dns:${id}:logs`, 0, -1);
      } finally {
        await redis.quit();
      }
    }

    it.skipIf(!available)('has the time, result and next time of each attempt', async () => {
      const started = Date.now();
      const lines = await logAfter(2);
      expect(lines.map(words)).toEqual([wordsOf(1), wordsOf(2)]);
      for (const time of lines.map(timeOf)) {
        expect(time).toBeGreaterThanOrEqual(started);
        expect(time).toBeLessThanOrEqual(Date.now());
      }
    });

    it.skipIf(!available)('keeps the last 50 attempts', async () => {
      const before = Array.from({ length: KEPT }, (_, index) => `${noon.toISOString()} ${index}`);
      const kept = [...before.slice(3).map(words), wordsOf(1), wordsOf(2), wordsOf(3)];
      expect((await logAfter(3, before)).map(words)).toEqual(kept);
    });
  },
);
