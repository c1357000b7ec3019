/** A job's log, which an operator reads when a domain is stuck: a line for each attempt, with when and why. */

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
import { compose, type Parts } from '../../src/roles/parts.ts';
import { composeWorkers } from '../../src/roles/worker.ts';
import { startWorkers } from '../../workers/start.ts';
import { later } from '../support/builders.ts';
import { endlessChecks, enqueueChecks, longAgo as noon } from '../support/endless-checks.ts';
import { type FreshStorage, freshStorage, storagesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';

type AnyQueue = Queue<unknown, void, string, unknown, void, string, IQueueBackend, NoConnection>;

/** Lines of a job's log (docs/understand/queues.md). */
const KEPT = 50;

/** By the clock of these checks the nth one is n seconds after noon. */
const checkedAt = (nth: number) => later(noon, nth * 1_000);
/** It finds no record, and the next one is due fifteen seconds later. The line begins with the time of the real clock. */
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
    let parts: Parts;
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
      parts = compose({ config, database, backend, ...sealing, log, now: () => new Date() });
      queue = new Queue('check-dns', backend.queueOptions, backend.factory);
    });
    afterAll(async () => {
      await queue?.close();
      await parts?.close();
      await parts?.backend.close();
      await parts?.database.close();
      await fresh?.close();
    });

    /** Its log when it has been put off so many times, and these lines were in it before. */
    async function logAfter(attempts: number, before: readonly string[] = []) {
      const composed = composeWorkers(parts);
      let begun = 0;
      const endless = endlessChecks(composed.checkDns, () => {
        begun += 1;
      });
      let end = () => {};
      const removed = new Promise<undefined>((resolve) => {
        end = () => resolve(undefined);
      });
      const [id = ''] = await enqueueChecks(parts, 1);
      for (const line of before) await Job.addJobLog(queue, id, line);
      const checkDns: typeof endless = {
        ...endless,
        // The log does not grow while it is read; then the domain is removed, and its job is done.
        load: (domainId) => (begun < attempts ? endless.load(domainId) : removed),
        // A line is written while its job is put off. Attempts are seconds apart; here the next one waits for the line.
        async observeAgain(domain) {
          if (begun > 0) await until('its line', async () => hasLine(await linesOf(id), begun));
          return endless.observeAgain(domain);
        },
        rules: (at) => ({ ...endless.rules(at), jitter: 0.5 }),
        now: () => checkedAt(begun),
      };
      const waiting = { ...composed.reconcile.waiting, takeTurn: async () => false };
      const reconcile = { ...composed.reconcile, waiting };
      const workers = startWorkers({ ...composed, checkDns, reconcile });
      try {
        const log = await until('put off so often, and no line too many', async () => {
          const lines = await linesOf(id);
          // In PostgreSQL a line is written first, and the oldest taken away afterwards.
          const isTrimmed = lines.length <= KEPT;
          return isTrimmed && hasLine(lines, attempts) && lines;
        });
        end();
        // The next test's workers would find it.
        await until('it is done', async () => !(await parts.queues.aliveIds('check-dns')).has(id));
        return log;
      } finally {
        end();
        await workers.close(10_000);
      }
    }

    /** On Redis as docs/understand/queues.md tells an operator to read it. */
    async function linesOf(id: string): Promise<readonly string[]> {
      if (fresh.redis === null) return (await queue.getJobLogs(id)).logs;
      const redis = new Redis(fresh.redis.url);
      try {
        return await redis.lrange(`signpost:check-dns:${id}:logs`, 0, -1);
      } finally {
        await redis.quit();
      }
    }

    it.skipIf(!available)(
      'says of each attempt when it was, what it found, and when the next one is',
      async () => {
        const started = Date.now();
        const lines = await logAfter(2);
        expect(lines.map(words)).toEqual([wordsOf(1), wordsOf(2)]);
        for (const time of lines.map(timeOf)) {
          expect(time).toBeGreaterThanOrEqual(started);
          expect(time).toBeLessThanOrEqual(Date.now());
        }
      },
    );

    it.skipIf(!available)('keeps the last 50 attempts', async () => {
      const before = Array.from({ length: KEPT }, (_, index) => `${noon.toISOString()} ${index}`);
      const kept = [...before.slice(3).map(words), wordsOf(1), wordsOf(2), wordsOf(3)];
      expect((await logAfter(3, before)).map(words)).toEqual(kept);
    });
  },
);
