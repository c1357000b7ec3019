/** An order that moves to another CA: the old one ends, so that only one is open. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createEdgeLookups } from '../../src/db/domains/edge-lookups.ts';
import { isWait } from '../../src/db/issuance/orders.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredOrders, type StoredOrders } from './stored-orders.ts';

const second = 'https://second.example/dir';
const at = later(noon, 60_000);

describe.each(databasesOfRun())('an order moved to another CA on $name', ({ name, available }) => {
  let db: StoredOrders;
  beforeAll(async () => {
    if (available) db = await openStoredOrders(name);
  });
  afterAll(() => db?.close());

  async function move(domain: LoadedDomain, instead: string) {
    const wanted = { id: randomUUID(), sealedKey: new Uint8Array(4), authority: second, instead };
    const opened = await db.certificates.openOrder(domain, wanted, at);
    if (opened === null || isWait(opened)) throw new Error('no order was opened');
    return opened;
  }

  it.skipIf(!available)('ends the previous one and its challenges, unrefused', async () => {
    const { domain, order } = await db.anOrder('moved.example.com');
    const challenge = { type: 'http-01', token: 'moved', keyAuthorization: 'moved.key' };
    await db.certificates.publishChallenge(order, challenge);
    const moved = await move(domain, order.id);
    expect(moved).toMatchObject({ authority: second, status: 'ordering' });
    const { prisma } = db.database;
    const before = await prisma.certificate.findUniqueOrThrow({ where: { id: order.id } });
    const detail = 'The order moved to another certificate authority.';
    expect(before).toMatchObject({
      status: 'failed',
      endedAt: at,
      problem: { type: 'superseded', detail },
    });
    const edge = createEdgeLookups(db.database);
    expect(await edge.findChallenge('moved', domain.hostname)).toBeNull();
    const work = await db.certificates.loadWork(domain.id, at);
    expect(work).toMatchObject({ order: { id: moved.id }, refusals: 0, recentRefusals: [] });
  });

  it.skipIf(!available)('is moved once by concurrent runs', async () => {
    const { domain, order } = await db.anOrder('once.example.com');
    const [one, other] = [await move(domain, order.id), await move(domain, order.id)];
    expect(other.id).toBe(one.id);
    const open = { domainId: domain.id, status: 'ordering' } as const;
    expect(await db.database.prisma.certificate.count({ where: open })).toBe(1);
  });

  it.skipIf(!available)('ignores late answers of the previous CA', async () => {
    const { domain, order } = await db.anOrder('late.example.com');
    const moved = await move(domain, order.id);
    const late = { chain: 'PEM', issuer: 'First', issuedAt: noon, expiresAt: later(at, 1_000) };
    expect(await db.certificates.store(domain, order.id, late, at)).toBe(false);
    await expect(
      db.certificates.orderPlaced(order.id, 'https://first.example/1'),
    ).rejects.toThrow();
    expect(await db.certificates.loadWork(domain.id, at)).toMatchObject({
      domain: { state: { status: 'verified' } },
      order: { id: moved.id },
      usable: null,
    });
  });
});
