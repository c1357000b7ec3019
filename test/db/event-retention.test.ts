/** Which events are deleted, and when, in real databases. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { DAY, MINUTE } from '../../src/core/time.ts';
import { createAuditStore } from '../../src/db/audit.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createWaitingStore } from '../../src/db/domains/waiting.ts';
import { about, pruneEvents, pruneMetadata, recordEvents } from '../../src/db/events.ts';
import { createRelay } from '../../workers/relay-deliveries.ts';
import { later, noon } from '../support/builders.ts';
import { plainService } from '../support/plain-service.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDeliveries, type StoredDeliveries } from './stored-deliveries.ts';

/** It takes longer on a busy machine. */
vi.setConfig({ testTimeout: 180_000 });

const KEPT = 1_000;
const old = later(noon, -401 * DAY);
const young = later(noon, -399 * DAY);

describe.each(databasesOfRun())('the retention of events on $name', ({ name, available }) => {
  let db: StoredDeliveries;
  let domain: LoadedDomain;

  beforeAll(async () => {
    if (available) db = await openStoredDeliveries(name);
  });
  afterAll(() => db?.close());
  beforeEach(async () => {
    if (!available) return;
    await db.prisma.event.deleteMany();
    await db.prisma.turn.deleteMany();
    domain = await db.anotherDomain();
    await db.prisma.event.deleteMany();
  });

  /** Numbers of its project begin at 2, after `domain.added`. */
  const happen = (type: string, at: Date, count = 1) => {
    const events = about(domain.id, Array(count).fill({ type }));
    return db.prisma.$transaction((tx) => recordEvents(tx, events, at));
  };
  const detach = (removedAt = old) =>
    db.prisma.domain.update({ where: { id: domain.id }, data: { removedAt } });
  const kept = async () => {
    const rows = await db.prisma.event.findMany({ orderBy: { id: 'asc' } });
    return rows.map(({ number }) => Number(number));
  };
  async function prune(limit = 700): Promise<void> {
    const before = later(noon, -400 * DAY);
    for (let after: bigint | null = 0n; after !== null; )
      after = await pruneEvents(db.prisma, { after, limit }, before);
  }
  const pruneAllMetadata = () => pruneMetadata(db.prisma, { after: 0n, limit: 100 });
  /** As the timer of a worker does. */
  function worker() {
    let now = noon;
    const run = createRelay(
      plainService({
        deliveries: db.deliveries,
        waiting: createWaitingStore(db.prisma),
        audit: createAuditStore(db.prisma),
        database: { prisma: db.prisma },
        queues: { enqueue: async () => undefined },
        now: () => now,
      }),
    );
    return async (at: Date) => {
      now = at;
      await db.prisma.turn.deleteMany();
      await run();
    };
  }

  it.skipIf(!available)('keeps the newest 1,000 events of an attached domain', async () => {
    await happen('domain.reverify_requested', old, KEPT + 3);
    await prune();
    expect(await kept()).toEqual(Array.from({ length: KEPT }, (_, nth) => nth + 5));
    await detach();
    await prune();
    expect(await kept()).toEqual([]);
  });

  it.skipIf(!available)('keeps what is younger, also among the oldest 1,000', async () => {
    await happen('domain.reverify_requested', young, 2);
    await happen('domain.reverify_requested', old);
    await happen('domain.reverify_requested', young, KEPT);
    await detach();
    await prune();
    expect(await kept()).toEqual([2, 3, ...Array.from({ length: KEPT }, (_, nth) => nth + 5)]);
  });

  it.skipIf(!available)('keeps how an attached domain got or lost its name', async () => {
    for (const type of ['verified', 'failed', 'verified', 'failed', 'live'])
      await happen(`domain.${type}`, old);
    await happen('domain.reverify_requested', old, KEPT);
    await prune();
    expect((await kept()).slice(0, 3)).toEqual([4, 5, 7]);
    await detach();
    await prune();
    expect(await kept()).toEqual([]);
  });

  it.skipIf(!available)('keeps an event as long as a delivery of it', async () => {
    const { id } = await db.makeWebhook(domain.projectId);
    await happen('domain.reverify_requested', old, 2);
    await detach();
    const [ended] = await db.rowsOf(id);
    await db.deliveries.save(
      await db.loadDelivery(ended?.id ?? ''),
      { kind: 'delivered', httpStatus: 204 },
      old,
    );
    await prune();
    expect(await kept()).toEqual([2, 3]);
    await worker()(noon);
    expect(await kept()).toEqual([3]);
  });

  it.skipIf(!available)('walks through all events once a day', async () => {
    const turn = worker();
    await happen('domain.reverify_requested', old);
    await detach();
    await turn(noon);
    expect(await kept()).toEqual([]);
    await happen('domain.reverify_requested', old);
    await turn(later(noon, DAY - MINUTE));
    expect(await kept()).toEqual([3]);
    await turn(later(noon, DAY));
    expect(await kept()).toEqual([]);
  });

  it.skipIf(!available)('erases a project 30 days after its deletion', async () => {
    const { projectId, id } = domain;
    const metadata = { customer: '42' };
    await db.prisma.project.update({ where: { id: projectId }, data: { metadata } });
    await db.prisma.domain.update({ where: { id }, data: { metadata } });
    const webhook = await db.makeWebhook(projectId);
    const operators = await db.makeWebhook(null);
    await happen('domain.verified', noon, 2);
    await detach(noon);
    await db.projects.remove(wholeInstallation, projectId, noon);
    const read = async () => ({
      events: (await kept()).length,
      deliveries: await db.prisma.webhookDelivery.count(),
      webhook: await db.prisma.webhook.count({ where: { id: webhook.id } }),
      project: await db.prisma.project.findUnique({ where: { id: projectId } }),
      domain: await db.prisma.domain.findUnique({ where: { id } }),
    });
    const turn = worker();
    await turn(later(noon, 30 * DAY));
    expect(await db.prisma.eventMetadata.count()).toBe(1);
    expect(await read()).toMatchObject({
      events: 2,
      deliveries: 4,
      webhook: 1,
      project: { metadata },
      domain: { metadata },
    });
    await turn(later(noon, 31 * DAY));
    await turn(later(noon, 31 * DAY + MINUTE));
    expect(await read()).toMatchObject({
      events: 0,
      deliveries: 0,
      webhook: 0,
      project: { metadata: {}, lastEventNumber: 3n },
      domain: { metadata: {}, hostname: domain.hostname },
    });
    expect(await db.prisma.eventMetadata.count()).toBe(0);
    expect(await db.prisma.webhook.count({ where: { id: operators.id } })).toBe(1);
  });

  it.skipIf(!available)('stores metadata once, as long as an event has it', async () => {
    const { id, projectId } = domain;
    const save = (metadata: object, projectMetadata: object) =>
      Promise.all([
        db.prisma.domain.update({ where: { id }, data: { metadata } }),
        db.prisma.project.update({ where: { id: projectId }, data: { metadata: projectMetadata } }),
      ]);
    await save({ site: 'a' }, { site: 'a' });
    await happen('domain.reverify_requested', old, 2);
    await happen('domain.reverify_requested', old);
    await save({ site: 'b' }, {});
    await happen('domain.reverify_requested', noon);
    const of020 = await db.prisma.$queryRaw`
      SELECT number::int, metadata, project_metadata AS "projectMetadata" FROM event ORDER BY id`;
    const [first, second] = [{ site: 'a' }, { site: 'b' }];
    expect(of020).toEqual([
      ...[2, 3, 4].map((number) => ({ number, metadata: first, projectMetadata: first })),
      { number: 5, metadata: second, projectMetadata: {} },
    ]);
    const values = async () =>
      (await db.prisma.eventMetadata.findMany({ orderBy: { id: 'asc' } })).map(
        ({ value }) => value,
      );
    expect(await values()).toEqual([first, second]);
    await detach();
    await prune();
    // Events that use it again can come at the same time.
    await save(first, {});
    await Promise.all([
      pruneAllMetadata(),
      ...Array.from({ length: 5 }, () => happen('domain.reverify_requested', noon)),
      pruneAllMetadata(),
    ]);
    const recorded = { where: { metadata: { value: { equals: first } } } };
    expect(await db.prisma.event.count(recorded)).toBe(5);
    await db.prisma.event.deleteMany(recorded);
    await pruneAllMetadata();
    expect(await values()).toEqual([second]);
  });

  it.skipIf(!available)('loses no event and no replay that comes at the same time', async () => {
    await happen('domain.reverify_requested', old, 40);
    const { id, projectId } = await db.makeWebhook(domain.projectId, ['domain.live']);
    await detach();
    const webhook = { id, eventTypes: [] };
    const replay = (after: bigint) =>
      db.deliveries.replay({
        access: wholeInstallation,
        webhook,
        events: { projectId: projectId ?? '', after },
        at: noon,
        limit: 10,
      });
    const [replays] = await Promise.all([
      Promise.all([1n, 11n, 21n, 31n].map(replay)),
      Promise.all([prune(7), prune(), prune(3)]),
      ...Array.from({ length: 10 }, () => happen('domain.reverify_requested', noon)),
    ]);
    await prune();
    const left = await kept();
    expect(left.slice(-10)).toEqual(Array.from({ length: 10 }, (_, nth) => nth + 42));
    const rows = await db.prisma.event.findMany({ where: { deliveries: { some: {} } } });
    const replayed = rows.map(({ number }) => Number(number));
    expect(left.filter((number) => !replayed.includes(number) && number < 42)).toEqual([]);
    for (const { lastEvent } of replays)
      if (lastEvent !== null) expect(replayed).toContain(Number(lastEvent));
  });
});
