/** What follows a commit: outside of its locks, once, and only where it was committed. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installation } from '../../src/core/accounts/access.ts';
import { createWebhookStore } from '../../src/db/delivery/webhooks.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { afterCommit, inTransaction, transact } from '../../src/db/engine/transaction.ts';
import { noon } from '../support/builders.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';

describe.each(databases)('what follows a commit, on $name', ({ name, available }) => {
  let fresh: FreshStorage;
  let database: Database;
  let done: string[];

  beforeAll(async () => {
    if (!available) return;
    fresh = await freshStorage(name);
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  const inOne = <T>(work: () => Promise<T>) => transact(database.prisma, work);
  const follows = (what: string) =>
    afterCommit(database.prisma, async () => {
      done.push(`${what}${inTransaction() ? ' within it' : ''}`);
    });

  it.skipIf(!available)('happens at once where nothing is under way', async () => {
    done = [];
    await follows('alone');
    expect(done).toEqual(['alone']);
  });

  it.skipIf(!available)('waits for the outermost transaction, in order', async () => {
    done = [];
    await inOne(async () => {
      await follows('first');
      await inOne(() => follows('second'));
      await follows('third');
      expect(done).toEqual([]);
    });
    expect(done).toEqual(['first', 'second', 'third']);
  });

  it.skipIf(!available)('does not happen where its part was undone', async () => {
    done = [];
    const undo = new Error('undo');
    await inOne(async () => {
      await follows('kept');
      const failing = inOne(async () => {
        await follows('undone');
        throw undo;
      });
      await expect(failing).rejects.toBe(undo);
    });
    const failing = inOne(async () => {
      await follows('undone as a whole');
      throw undo;
    });
    await expect(failing).rejects.toBe(undo);
    expect(done).toEqual(['kept']);
  });

  /** An operator's webhook with one delivery that waits. */
  async function aWebhook() {
    const { prisma } = database;
    const [id, deliveryId, projectId] = [randomUUID(), randomUUID(), randomUUID()];
    const domain = {
      id: randomUUID(),
      hostname: `${projectId}.example.com`,
      target: 'x.edge.test',
      status: 'pending' as const,
      addedAt: noon,
      pendingSince: noon,
    };
    const project = { id: projectId, name: 'Docs', slug: projectId };
    await prisma.project.create({ data: { ...project, domains: { create: domain } } });
    const about = { projectId, domainId: domain.id, type: 'domain.added' };
    const event = await prisma.event.create({ data: { ...about, number: 1n, data: {}, at: noon } });
    await createWebhookStore(prisma).create(
      {
        id,
        owner: installation,
        url: 'https://hooks.example.com/',
        eventTypes: [],
        sealedSecret: new Uint8Array(1),
        createdAt: noon,
      },
      1_000,
    );
    await prisma.webhookDelivery.create({
      data: {
        id: deliveryId,
        webhookId: id,
        eventId: event.id,
        nextAttemptAt: noon,
        createdAt: noon,
      },
    });
    return { id, deliveryId };
  }

  /** As the save of a delivery does: it locks the delivery, then its webhook. */
  const changes = [
    ['deleted', { status: 'failed', lastError: 'webhook_deleted' }] as const,
    ['switched off', { status: 'failed', lastError: 'webhook_disabled' }] as const,
    ['switched on again', { status: 'failed', lastError: 'webhook_disabled' }] as const,
  ];
  // Embedded storage runs one transaction at a time: nothing waits for another there.
  it.skipIf(!available).each(name === 'postgres' ? changes : [])(
    'so that a webhook that is %s in a transaction waits for no delivery that waits for it',
    async (change, expected) => {
      const { id, deliveryId } = await aWebhook();
      const store = createWebhookStore(database.prisma);
      if (change === 'switched on again') {
        const off = { disabledAt: noon, disabledReason: 'requested' } as const;
        await database.prisma.webhook.update({ where: { id }, data: off });
      }
      const save = await database.pool.connect();
      await save.query('BEGIN');
      await save.query('SELECT 1 FROM webhook_delivery WHERE id = $1 FOR UPDATE', [deliveryId]);
      const changed = inOne<unknown>(() =>
        change === 'deleted'
          ? store.remove(installation, id, noon)
          : store.update(installation, id, { enabled: change === 'switched on again' }, noon),
      );
      await untilBlocked(database);
      // Rejects where the two wait for each other (PostgreSQL's 40P01), or one of them is made to.
      await save.query('SELECT 1 FROM webhook WHERE id = $1 FOR NO KEY UPDATE', [id]);
      await save.query('COMMIT');
      save.release();
      await changed;
      const row = await database.prisma.webhookDelivery.findUnique({ where: { id: deliveryId } });
      expect(row).toMatchObject(expected);
    },
  );
});

/** Returns once a session waits for a lock. */
async function untilBlocked({ pool }: Database): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows.length > 0) return;
  }
}
