import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { roleNames } from '../../src/core/operations/roles.ts';
import { overviewView } from '../../src/http/routes/operations-view.ts';
import type { QueueCounts } from '../../src/queue/queues.ts';
import { createOverview } from '../../src/service/overview.ts';
import { openTestDatabase, type TestDatabase } from '../http/support.ts';
import { serviceOn } from '../support/database-service.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
  const at = new Date();
  const process = { host: 'one', pid: 1, version: '0', settings: {} };
  const times = { startedAt: at, seenAt: at };
  await database.prisma.fleetProcess.createMany({
    data: roleNames.map((role) => ({ id: randomUUID(), role, ...process, ...times })),
  });
});
afterAll(() => database?.close());

const none: QueueCounts = {
  waiting: 0,
  delayed: 0,
  active: 0,
  failed: 0,
  isPaused: false,
};

function overviewOf(counts: () => Promise<QueueCounts>) {
  const clock = { now: new Date() };
  const service = serviceOn(database, { now: () => clock.now });
  Object.assign(service.queues, { counts });
  const overview = createOverview(service);
  const later = (ms: number) => {
    clock.now = new Date(clock.now.getTime() + ms);
  };
  return { overview, later };
}

it('The overview reports an unavailable queue and still shows everything else', async () => {
  const { overview } = overviewOf(() => Promise.reject(new Error('Connection is closed.')));
  const { queues, attention, domains } = overviewView(await overview.read());
  expect(queues).toBeNull();
  expect(attention.map(({ code }) => code)).toEqual(['queue_away']);
  expect(domains.pending).toBe(0);
});

it('The overview reports that a paused queue runs nothing', async () => {
  const { overview } = overviewOf(async () => ({ ...none, waiting: 3, isPaused: true }));
  const { queues, attention } = overviewView(await overview.read());
  expect(queues?.[0]).toMatchObject({ queue: 'check-dns', waiting: 3, isPaused: true });
  expect(attention.map(({ code }) => code)).toEqual(['no_worker', 'queue_paused']);
});

it('The overview has the limits of certificate authorities that are partly used', async () => {
  const key = 'orders https://ca.example/dir';
  const fullAt = new Date(Date.now() + 60_000);
  await database.prisma.authorityBudget.create({ data: { key, fullAt } });
  const { authorityBudget } = overviewView(await overviewOf(async () => none).overview.read());
  expect(authorityBudget).toMatchObject([{ authority: 'https://ca.example/dir', fullAt }]);
  await database.prisma.authorityBudget.deleteMany();
});

it('The overview is cached for five seconds and reloaded after a change', async () => {
  const { overview, later } = overviewOf(async () => none);
  const first = overview.read();
  expect(overview.read()).toBe(first);
  later(4_999);
  expect(overview.read()).toBe(first);
  later(1);
  const second = overview.read();
  expect(second).not.toBe(first);
  overview.forget();
  expect(overview.read()).not.toBe(second);
  await Promise.all([first, second, overview.read()]);
});
