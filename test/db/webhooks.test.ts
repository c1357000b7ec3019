/** Deliveries in real databases: created with their event, saved once, ended with their webhook. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryDecision } from '../../src/core/operations/webhook-plan.ts';
import { DAY } from '../../src/core/time.ts';
import type { DeliveryOutcome } from '../../src/db/delivery/deliveries.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { about, recordEvents } from '../../src/db/events.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { until } from '../support/world.ts';
import { openStoredDeliveries, ownerOf, type StoredDeliveries } from './stored-deliveries.ts';

const arrived: DeliveryDecision = { kind: 'delivered', httpStatus: 204 };
const missed = { httpStatus: 500, problem: 'not_accepted' } as const;
const failed: DeliveryDecision = { ...missed, kind: 'failed', disables: null };
const gone: DeliveryDecision = {
  httpStatus: 410,
  problem: 'gone',
  kind: 'failed',
  disables: 'gone',
};

const record = { type: 'CNAME', name: 'docs', value: 't.edge.test', ttl: 3600 } as const;
const events = {
  'domain.live': { type: 'domain.live', issuer: 'Local', expiresAt: noon },
  'domain.added': { type: 'domain.added', record },
} as const;

describe.each(databasesOfRun())('deliveries on $name', ({ name, available }) => {
  let db: StoredDeliveries;
  let domain: LoadedDomain;

  beforeAll(async () => {
    if (available) db = await openStoredDeliveries(name);
  });
  afterAll(() => db?.close());
  beforeEach(async () => {
    if (available) domain = await db.anotherDomain();
  });

  const aWebhook = (eventTypes: readonly string[] = [], owner = true) =>
    db.makeWebhook(owner ? domain.projectId : null, eventTypes);
  const happen = (type: 'domain.live' | 'domain.added', at = noon) =>
    db.prisma.$transaction((tx) => recordEvents(tx, about(domain.id, [events[type]]), at));
  async function load(webhookId: string) {
    const [row] = await db.rowsOf(webhookId);
    return db.loadDelivery(row?.id ?? '');
  }

  it.skipIf(!available)('are created for subscribed webhooks only', async () => {
    const all = await aWebhook();
    const live = await aWebhook(['domain.live']);
    const added = await aWebhook(['domain.added']);
    const operator = await aWebhook([], false);
    const off = await aWebhook();
    await db.webhooks.update(ownerOf(off.projectId), off.id, { enabled: false }, noon);
    await happen('domain.live');
    const counts = [all, live, added, operator, off].map(async ({ id }) => {
      const rows = await db.rowsOf(id);
      return rows.length;
    });
    expect(await Promise.all(counts)).toEqual([1, 1, 0, 1, 0]);
    expect(await load(all.id)).toMatchObject({
      status: 'pending',
      attempts: 0,
      nextAttemptAt: noon,
      webhook: { id: all.id, projectId: domain.projectId },
      event: { number: 2n, type: 'domain.live', domain: { hostname: domain.hostname } },
    });
  });

  it.skipIf(!available)('are saved once for each loaded attempt', async () => {
    const { id } = await aWebhook();
    await happen('domain.live');
    const delivery = await load(id);
    const again: DeliveryDecision = { ...missed, kind: 'again', at: later(noon, 5_000) };
    const twice = [
      db.deliveries.save(delivery, again, noon),
      db.deliveries.save(delivery, again, noon),
    ];
    expect((await Promise.all(twice)).sort()).toEqual([false, true]);
    const second = await load(id);
    expect(second).toMatchObject({ attempts: 1, nextAttemptAt: later(noon, 5_000) });
    expect(await db.deliveries.save(second, arrived, noon)).toBe(true);
    expect(await db.deliveries.save(delivery, failed, noon)).toBe(false);
    expect(await db.deliveries.save(second, failed, noon)).toBe(false);
    expect(await db.rowsOf(id)).toMatchObject([
      { status: 'delivered', attempts: 2, lastStatus: 204, lastError: null, nextAttemptAt: null },
    ]);
  });

  it.skipIf(!available)('all end with a disabled webhook', async () => {
    const { id, projectId } = await aWebhook();
    await happen('domain.live');
    await happen('domain.live');
    expect(await db.deliveries.save(await load(id), gone, noon)).toBe(true);
    expect(await db.rowsOf(id)).toMatchObject([
      { status: 'failed', lastError: 'gone' },
      { status: 'failed', lastError: 'webhook_disabled' },
    ]);
    expect(await db.webhooks.find(ownerOf(projectId), id)).toMatchObject({
      disabledReason: 'gone',
      disabledAt: noon,
    });
  });

  it.skipIf(!available)('track since when a webhook fails, from its last success', async () => {
    const { id, projectId } = await aWebhook();
    const at = [0, 1, 2, 3, 4].map((day) => later(noon, day * DAY));
    for (const time of at) await happen('domain.live', time);
    const rows = await db.rowsOf(id);
    const since = async () => (await db.webhooks.find(ownerOf(projectId), id))?.failingSince;
    async function comesTo(index: number, outcome: DeliveryOutcome) {
      const delivery = await db.loadDelivery(rows[index]?.id ?? '');
      await db.deliveries.save(delivery, outcome, at[index] ?? noon);
      return since();
    }
    expect(await since()).toBeNull();
    expect(await comesTo(0, failed)).toEqual(at[0]);
    expect(await comesTo(1, arrived)).toBeNull();
    expect(await comesTo(2, { ...missed, kind: 'again', at: noon })).toEqual(at[2]);
    expect(await comesTo(3, failed)).toEqual(at[2]);
    // A new URL and a disabled period start over; so does an end without an attempt.
    await db.webhooks.update(ownerOf(projectId), id, { url: 'https://new.example.com/' }, noon);
    expect(await since()).toBeNull();
    expect(await comesTo(4, { kind: 'ended', problem: 'webhook_disabled' })).toBeNull();
  });

  it.skipIf(!available)('do not count the days when a webhook was disabled', async () => {
    const { id, projectId } = await aWebhook();
    await happen('domain.live');
    await db.deliveries.save(await load(id), { ...missed, kind: 'again', at: noon }, noon);
    await db.webhooks.update(ownerOf(projectId), id, { enabled: false }, noon);
    await db.webhooks.update(ownerOf(projectId), id, { enabled: true }, later(noon, 20 * DAY));
    expect(await db.webhooks.find(ownerOf(projectId), id)).toMatchObject({ failingSince: null });
  });

  // Embedded storage runs transactions one after the other.
  it.skipIf(!available || name === 'embedded')('reset failures with a concurrent URL', async () => {
    const { id, projectId } = await aWebhook();
    const { url } = (await db.webhooks.find(ownerOf(projectId), id)) ?? { url: '' };
    const other = await db.database.pool.connect();
    try {
      await other.query('BEGIN');
      const failing = `UPDATE webhook SET url = 'https://new.example.com/', failing_since = now() WHERE id = $1`;
      await other.query(failing, [id]);
      const back = db.webhooks.update(ownerOf(projectId), id, { url }, noon);
      await until('it waits for the other', async () => {
        const waiting = `SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return (await other.query(waiting)).rowCount !== 0;
      });
      await other.query('COMMIT');
      expect(await back).toMatchObject({ url, failingSince: null });
    } finally {
      other.release();
    }
  });

  it.skipIf(!available)('to a previous URL never disable the webhook', async () => {
    const { id, projectId } = await aWebhook();
    await happen('domain.live');
    await happen('domain.live');
    const delivery = await load(id);
    await db.webhooks.update(ownerOf(projectId), id, { url: 'https://new.example.com/' }, noon);
    expect(await db.deliveries.save(delivery, gone, noon)).toBe(true);
    expect(await db.webhooks.find(ownerOf(projectId), id)).toMatchObject({ disabledAt: null });
    expect(await db.rowsOf(id)).toMatchObject([{ status: 'failed' }, { status: 'pending' }]);
  });

  it.skipIf(!available)('are ended by their owner only', async () => {
    const { id, projectId } = await aWebhook();
    await happen('domain.live');
    for (const stranger of [null, randomUUID()]) {
      expect(await db.webhooks.update(ownerOf(stranger), id, { enabled: false }, noon)).toBeNull();
      await db.webhooks.remove(ownerOf(stranger), id, noon);
    }
    expect(await db.webhooks.find(ownerOf(projectId), id)).toMatchObject({ disabledAt: null });
    expect(await db.rowsOf(id)).toMatchObject([{ status: 'pending' }]);
  });
});
