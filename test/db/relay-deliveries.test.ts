/** What the relay queues, queues again and deletes, in real databases. */

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { jobId } from '../../src/core/operations/jobs.ts';
import type { DeliveryDecision } from '../../src/core/operations/webhook-plan.ts';
import { DAY, MINUTE } from '../../src/core/time.ts';
import { createAuditStore } from '../../src/db/audit.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createQuarantineStore } from '../../src/db/domains/quarantine.ts';
import { createWaitingStore } from '../../src/db/domains/waiting.ts';
import { about, recordEvents } from '../../src/db/events.ts';
import { deliveriesInFlight } from '../../workers/deliver-webhook.ts';
import { createRelay } from '../../workers/relay-deliveries.ts';
import { later, noon } from '../support/builders.ts';
import { plainService } from '../support/plain-service.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDeliveries, ownerOf, type StoredDeliveries } from './stored-deliveries.ts';

/** It takes longer on a busy machine. */
vi.setConfig({ testTimeout: 180_000 });

const MOST = deliveriesInFlight.host;
const arrived: DeliveryDecision = { kind: 'delivered', httpStatus: 204 };

describe.each(databasesOfRun())('the relay on $name', ({ name, available }) => {
  let db: StoredDeliveries;
  let domain: LoadedDomain;

  beforeAll(async () => {
    if (available) db = await openStoredDeliveries(name);
  });
  afterAll(() => db?.close());
  beforeEach(async () => {
    if (!available) return;
    await db.prisma.turn.deleteMany();
    domain = await db.anotherDomain();
  });

  const aWebhook = () => db.makeWebhook(domain.projectId);
  const happen = (count: number, at = noon) => {
    const recorded = about(domain.id, Array(count).fill({ type: 'domain.reverify_requested' }));
    return db.prisma.$transaction((tx) => recordEvents(tx, recorded, at));
  };
  const idsOf = async (webhookId: string) => (await db.rowsOf(webhookId)).map(({ id }) => id);
  async function end(id: string, outcome: DeliveryDecision, at = noon) {
    await db.deliveries.save(await db.loadDelivery(id), outcome, at);
  }
  function relay({ at = noon, isQueueAway = false } = {}) {
    const queued: string[] = [];
    const projects: (string | undefined)[] = [];
    const service = plainService({
      deliveries: db.deliveries,
      waiting: createWaitingStore(db.prisma),
      audit: createAuditStore(db.prisma),
      database: { prisma: db.prisma },
      queues: {
        enqueue: async (_name, jobs) => {
          if (isQueueAway) throw new Error('Connection is closed.');
          queued.push(...jobs.map(({ job }) => jobId(job)));
          projects.push(...jobs.map(({ projectId }) => projectId));
        },
      },
      now: () => at,
    });
    return { run: createRelay(service), queued, projects };
  }

  it.skipIf(!available)('queues a few deliveries per webhook, in turn and in order', async () => {
    const long = await aWebhook();
    await happen(300);
    const short = await aWebhook();
    await happen(1, later(noon, 1));
    const { run, queued } = relay({ at: later(noon, 1) });
    expect(await run()).toBe(MOST + 1);
    const [backlog, [one]] = [await idsOf(long.id), await idsOf(short.id)];
    expect(queued.filter((id) => id !== one)).toEqual(backlog.slice(0, MOST));
    expect(queued.indexOf(one ?? '')).toBeLessThan(2);
    await end(queued.find((id) => id !== one) ?? '', arrived);
    expect(await run()).toBe(1);
    expect(queued.at(-1)).toBe(backlog[MOST]);
  });

  it.skipIf(!available)('takes turns by account, however many webhooks one has', async () => {
    const { id: accountId } = await db.accounts.create(wholeInstallation, { name: 'A' }, noon);
    for (let nth = 0; nth < 3; nth += 1) await aWebhook();
    await happen(50);
    const other = await db.pending('other.example.com', accountId);
    const { id } = await db.makeWebhook(other.projectId);
    const added = about(other.id, [{ type: 'domain.reverify_requested' }]);
    await db.prisma.$transaction((tx) => recordEvents(tx, added, later(noon, 1)));
    const { run, queued, projects } = relay({ at: later(noon, 1) });
    await run();
    expect(queued).toHaveLength(3 * MOST + 1);
    const [only = ''] = await idsOf(id);
    expect(queued.indexOf(only)).toBe(1); // the oldest of the others is first
    expect(projects[1]).toBe(other.projectId);
  });

  it.skipIf(!available)('queues each delivery once with several relays', async () => {
    const { id } = await aWebhook();
    await happen(40);
    const relays = Array.from({ length: 4 }, () => relay());
    await Promise.all(relays.map(({ run }) => run()));
    expect(relays.flatMap(({ queued }) => queued).sort()).toEqual(
      (await idsOf(id)).slice(0, MOST).sort(),
    );
  });

  it.skipIf(!available)('holds a retry until its time', async () => {
    const { id } = await aWebhook();
    await happen(1);
    await relay().run();
    const [only = ''] = await idsOf(id);
    const problem = { httpStatus: 503, problem: 'not_accepted' } as const;
    await end(only, { ...problem, kind: 'again', at: later(noon, 600_000) });
    expect(await relay({ at: later(noon, 599_999) }).run()).toBe(0);
    expect(await relay({ at: later(noon, 600_000) }).run()).toBe(1);
  });

  it.skipIf(!available)('queues a delivery again that the queue refused or lost', async () => {
    const { id } = await aWebhook();
    await happen(3);
    const away = relay({ isQueueAway: true });
    await expect(away.run()).rejects.toThrow('closed');
    expect(await relay().run()).toBe(3);
    expect(await relay({ at: later(noon, 2 * MINUTE) }).run()).toBe(0);
    const [quarantined = '', ...lost] = await idsOf(id);
    const suspect = {
      queue: 'deliver-webhook',
      jobId: quarantined,
      domainId: null,
      reason: 'x',
    } as const;
    await createQuarantineStore(db.prisma).add(suspect, noon, [DAY]);
    const late = relay({ at: later(noon, 2 * MINUTE + 1) });
    expect(await late.run()).toBe(2);
    expect(late.queued.sort()).toEqual(lost.sort());
  });

  it.skipIf(!available)('ends deliveries of a disabled webhook without queuing', async () => {
    const { id } = await aWebhook();
    await happen(2);
    await db.prisma.webhook.update({ where: { id }, data: { disabledAt: noon } });
    expect(await relay().run()).toBe(0);
    expect(await db.prisma.webhookDelivery.findMany({ where: { webhookId: id } })).toMatchObject(
      Array(2).fill({ status: 'failed', lastError: 'webhook_disabled', queuedAt: null }),
    );
  });

  it.skipIf(!available)('deletes everything that ended 30 days ago, and no more', async () => {
    const { id, projectId } = await aWebhook();
    await happen(1);
    await happen(1, later(noon, DAY));
    await happen(1);
    const [old = '', young = '', waits] = await idsOf(id);
    for (const one of [old, young]) await end(one, arrived);
    const { eventId } = await db.prisma.webhookDelivery.findFirstOrThrow({ where: { id: old } });
    await db.prisma.$executeRaw`
      INSERT INTO webhook_delivery (webhook_id, event_id, status, created_at)
      SELECT ${id}::uuid, ${eventId}, 'delivered', ${noon.toISOString()}::timestamptz
      FROM generate_series(1, 11000)`;
    const aMonthLater = { at: later(noon, 30 * DAY + 1) };
    await relay(aMonthLater).run();
    expect(await idsOf(id)).toEqual([young, waits]);
    await db.webhooks.remove(ownerOf(projectId), id, noon);
    await db.prisma.turn.deleteMany();
    await relay(aMonthLater).run();
    expect(await idsOf(id)).toEqual([young]);
    expect(await db.prisma.webhook.count({ where: { id } })).toBe(1);
    await db.prisma.turn.deleteMany();
    await relay({ at: later(noon, 31 * DAY + 1) }).run();
    expect(await db.prisma.webhook.count({ where: { id } })).toBe(0);
  });
});
