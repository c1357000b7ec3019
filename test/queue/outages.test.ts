import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createAccountOf } from '../../src/db/accounts.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { openQueueBackend } from '../../src/queue/backend.ts';
import { openQueues, type Queues } from '../../src/queue/queues.ts';
import { lacks } from '../support/programs.ts';
import { startPostgres } from '../support/servers.ts';
import { freshStorage, storages } from '../support/storage.ts';

const log = pino({ level: 'silent' });
const missing = storages.some(({ available }) => !available);
const add = (queues: Queues) =>
  queues.enqueue('check-dns', [
    { job: { domainId: randomUUID(), epoch: 1 }, runAt: new Date(Date.now() + 60_000) },
  ]);

/** Retries until it works, as a client decides when to reconnect. */
async function eventually(act: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await act();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** The error is a missing connection, not a command timeout. */
async function expectRefusalAtOnce(queues: Queues): Promise<void> {
  await expect(add(queues)).rejects.toThrow();
  await expect(add(queues)).rejects.not.toThrow(/timed? ?out/i);
}

describe.skipIf(missing)('while Redis is down', () => {
  const states = ['before the first job', 'after the first job'] as const;
  test.each(states)('from %s, enqueuing fails at once and works after recovery', async (state) => {
    const fresh = await freshStorage('postgres_redis');
    const database = await openDatabase(fresh.storage, log);
    if (state === 'before the first job') await fresh.redis?.kill();
    const backend = await openQueueBackend(fresh.storage, database, log);
    const queues = openQueues(backend, createAccountOf(database.prisma));
    if (state === 'after the first job') {
      await eventually(() => add(queues));
      await fresh.redis?.kill();
    }
    await expectRefusalAtOnce(queues);
    await expectRefusalAtOnce(queues);
    await fresh.redis?.restart();
    await eventually(() => add(queues));
    expect(await queues.counts('check-dns')).toMatchObject({ delayed: 1 });
    await queues.close();
    await backend.close();
    await database.close();
    await fresh.close();
  });

  test('queues can be closed', async () => {
    const fresh = await freshStorage('postgres_redis');
    const database = await openDatabase(fresh.storage, log);
    const backend = await openQueueBackend(fresh.storage, database, log);
    const queues = openQueues(backend, createAccountOf(database.prisma));
    await eventually(() => add(queues));
    await fresh.redis?.kill();
    await queues.close();
    await backend.close();
    await database.close();
    await fresh.close();
  });
});

describe.skipIf(lacks('postgres', 'outages of PostgreSQL'))('while PostgreSQL is down', () => {
  test('enqueuing fails, the process survives, and all works after recovery', async () => {
    const server = await startPostgres();
    const storage = { kind: 'postgres', databaseUrl: server.url } as const;
    const database = await openDatabase(storage, log);
    const backend = await openQueueBackend(storage, database, log);
    const queues = openQueues(backend, createAccountOf(database.prisma));
    await add(queues);
    await server.stop();
    expect(await database.probe()).toBe(false);
    await expectRefusalAtOnce(queues);
    const late = openQueues(backend, createAccountOf(database.prisma));
    await expectRefusalAtOnce(late);
    await server.restart();
    await eventually(() => add(queues));
    await eventually(() => add(late));
    expect(await database.probe()).toBe(true);
    await Promise.all([queues.close(), late.close()]);
    await backend.close();
    await database.close();
    await server.close();
  });
});
