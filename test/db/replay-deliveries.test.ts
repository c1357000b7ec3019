/** Events that are replayed: waiting deliveries restart, and only attempted ones leave a row. */

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type { DeliveryDecision } from '../../src/core/operations/webhook-plan.ts';
import type { DeliveryOutcome, LoadedDelivery } from '../../src/db/delivery/deliveries.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { about, recordEvents } from '../../src/db/events.ts';
import { messageIdOf } from '../../src/webhooks/message.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';
import { openStoredDeliveries, ownerOf, type StoredDeliveries } from './stored-deliveries.ts';

/** Some create hundreds of rows, which takes longer on a busy machine. */
vi.setConfig({ testTimeout: 180_000 });

const missed = { httpStatus: 500, problem: 'not_accepted' } as const;
const again: DeliveryDecision = { ...missed, kind: 'again', at: later(noon, 300_000) };
const ends: Readonly<Record<string, DeliveryDecision>> = {
  delivered: { kind: 'delivered', httpStatus: 204 },
  failed: { ...missed, kind: 'failed', disables: null },
};
const muchLater = later(noon, 60_000);

describe.each(databasesOfRun())('a replay on $name', ({ name, available }) => {
  let db: StoredDeliveries;
  let domain: LoadedDomain;
  let webhook: Awaited<ReturnType<StoredDeliveries['makeWebhook']>>;

  beforeAll(async () => {
    if (available) db = await openStoredDeliveries(name);
  });
  afterAll(() => db?.close());
  beforeEach(async () => {
    if (!available) return;
    domain = await db.anotherDomain();
    webhook = await db.makeWebhook(domain.projectId);
  });

  const happen = (count: number) => {
    const recorded = about(domain.id, Array(count).fill({ type: 'domain.reverify_requested' }));
    return db.prisma.$transaction((tx) => recordEvents(tx, recorded, noon));
  };
  const replay = (at = muchLater) =>
    db.deliveries.replay({
      access: wholeInstallation,
      webhook,
      events: { projectId: domain.projectId, after: 1n },
      at,
      limit: 1_000,
    });
  const rows = () => db.rowsOf(webhook.id);
  const waiting = async () => (await rows()).filter(({ status }) => status === 'pending');
  const give = (at = noon) => db.deliveries.giveDue(at, 1_000, 1_000);
  async function loadOnly(): Promise<LoadedDelivery> {
    const [row, ...others] = await waiting();
    expect(others).toEqual([]);
    return db.loadDelivery(row?.id ?? '');
  }
  async function comesTo(outcome: DeliveryOutcome, at = noon) {
    expect(await db.deliveries.save(await loadOnly(), outcome, at)).toBe(true);
  }

  it.skipIf(!available)('of a hundred events adds no rows the twentieth time', async () => {
    await happen(100);
    await db.prisma.webhookDelivery.updateMany({
      where: { webhookId: webhook.id },
      data: { status: 'delivered', attempts: 1, nextAttemptAt: null },
    });
    for (let nth = 0; nth < 20; nth += 1) {
      expect(await replay()).toEqual({ queued: 100, lastEvent: 101n });
      if (nth === 10) await give(muchLater);
    }
    const all = await rows();
    const counts = ['delivered', 'pending', 'failed'].map(
      (status) => all.filter((row) => row.status === status).length,
    );
    expect(counts).toEqual([100, 100, 0]);
    expect(new Set((await waiting()).map(({ eventId }) => eventId)).size).toBe(100);
  });

  // Embedded storage runs transactions one after the other.
  if (name !== 'embedded')
    it.skipIf(!available)('three times at once leaves one waiting delivery per event', async () => {
      await happen(50);
      await db.prisma.$executeRaw`UPDATE webhook_delivery
      SET status = 'delivered', attempts = 1, next_attempt_at = NULL
      WHERE webhook_id = ${webhook.id}::uuid AND event_id % 2 = 0`;
      const other = await db.database.pool.connect();
      await other.query('BEGIN');
      await other.query('SELECT FROM webhook_delivery FOR UPDATE');
      const replays = Promise.all([replay(), replay(), replay()]);
      await until('all of them wait', async () => {
        const { rows } = await db.database.pool.query(`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
        return rows.length >= 3;
      });
      await other.query('COMMIT');
      other.release();
      expect(await replays).toEqual(Array(3).fill({ queued: 50, lastEvent: 51n }));
      const events = (await waiting()).map(({ eventId }) => eventId);
      expect([events.length, new Set(events).size]).toEqual([50, 50]);
      expect(await rows()).toHaveLength(75);
    });

  it.skipIf(!available)('restarts a delivery that waits for a retry, in its row', async () => {
    await happen(1);
    await give();
    await comesTo(again);
    const before = await loadOnly();
    await replay();
    expect(await rows()).toMatchObject([
      { id: before.id, attempts: 0, nextAttemptAt: muchLater, createdAt: muchLater },
    ]);
    const after = await loadOnly();
    expect(messageIdOf(after.event)).toBe(messageIdOf(before.event));
    expect(await give(muchLater)).toMatchObject([{ id: before.id }]);
  });

  it.skipIf(!available)('waits a second for the queue to drop the last attempt', async () => {
    await happen(1);
    await give();
    await comesTo(again);
    await replay(later(noon, 1));
    expect((await loadOnly()).nextAttemptAt).toEqual(later(noon, 1_000));
  });

  it.skipIf(!available)('leaves a due delivery to the worker that has it', async () => {
    await happen(1);
    await give();
    const held = await loadOnly();
    await replay();
    expect(await loadOnly()).toEqual(held);
    expect(await db.deliveries.save(held, again, noon)).toBe(true);
    expect(await db.deliveries.save(held, again, noon)).toBe(false);
    expect(await loadOnly()).toMatchObject({ attempts: 1, nextAttemptAt: again.at });
  });

  const late = { delivered: ends['delivered'], failed: ends['failed'], again } as const;
  it.skipIf(!available).each(Object.entries(late))('repeats what has %s', async (_, outcome) => {
    await happen(1);
    await give();
    await comesTo(again);
    await give(again.at);
    const held = await loadOnly();
    const at = later(again.at, 5_000);
    await replay(again.at);
    expect(await give(at)).toEqual([]); // the queue still has its job, which blocks another
    expect(await db.deliveries.save(held, outcome as DeliveryDecision, at)).toBe(false);
    const next = { attempts: 0, queuedAt: null, nextAttemptAt: later(at, 1_000) };
    expect(await loadOnly()).toMatchObject(next);
    expect(await give(later(at, 1_000))).toMatchObject([{ id: held.id }]);
    // Another run of the same job ends even later.
    expect(await db.deliveries.save(held, outcome as DeliveryDecision, at)).toBe(false);
    expect(await loadOnly()).toMatchObject({ queuedAt: later(at, 1_000) });
  });

  it.skipIf(!available)('is not affected by the result of a much older attempt', async () => {
    await happen(1);
    await give();
    const first = await loadOnly();
    await comesTo(again);
    await replay();
    await give(muchLater);
    expect(await db.deliveries.save(first, ends['delivered'] as DeliveryDecision, muchLater)).toBe(
      false,
    );
    expect(await loadOnly()).toMatchObject({ attempts: 0, queuedAt: muchLater });
  });

  it.skipIf(!available)('postpones what exceeds the queue limit and loses nothing', async () => {
    await happen(1);
    await give();
    await comesTo(again);
    await give(again.at);
    const held = await loadOnly();
    await replay(again.at);
    await db.deliveries.putBack(held, muchLater);
    expect(await loadOnly()).toMatchObject({ queuedAt: null, nextAttemptAt: muchLater });
  });

  it.skipIf(!available)('leaves no rows of deliveries disabled without an attempt', async () => {
    await happen(10);
    const turn = (enabled: boolean) =>
      db.webhooks.update(ownerOf(webhook.projectId), webhook.id, { enabled }, noon);
    for (let nth = 0; nth < 3; nth += 1) {
      await turn(false);
      expect(await waiting()).toEqual([]);
      await turn(true);
      expect(await replay()).toEqual({ queued: 10, lastEvent: 11n });
      expect(await rows()).toMatchObject(Array(10).fill({ status: 'pending' }));
    }
  });

  it.skipIf(!available).each(Object.entries(ends))('repeats what %s', async (status, outcome) => {
    await happen(1);
    await give();
    const first = await loadOnly();
    await comesTo(outcome);
    await replay();
    await replay();
    const second = await loadOnly();
    expect((await rows()).map((row) => row.status).sort()).toEqual([status, 'pending'].sort());
    expect(second.id).not.toBe(first.id);
    expect(messageIdOf(second.event)).toBe(messageIdOf(first.event));
  });
});
