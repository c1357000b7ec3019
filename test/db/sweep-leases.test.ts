/** A domain that a sweep takes repeatedly without a save: it gets longer leases and is noted. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDueDomains, type DueDomains } from '../../src/db/domains/sweeps.ts';
import type { Prisma } from '../../src/db/generated/client.ts';
import { createCertificateStore } from '../../src/db/issuance/certificates.ts';
import { later, missing, noon, right } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { lease, leasesMs, MINUTE, openDueDomains, type StoredDueDomains } from './due-domains.ts';

const available = databasesOfRun().filter((storage) => storage.available);

describe.each(available)('on $name, a domain', ({ name }) => {
  let db: StoredDueDomains;

  beforeAll(async () => {
    db = await openDueDomains(name);
  });
  beforeEach(() => db.removeAll());
  afterAll(() => db.close());

  const domainWith = (data: Prisma.DomainUpdateInput) => db.domainWith({ status: 'live', ...data });
  const row = (id: string) => db.prisma.domain.findUniqueOrThrow({ where: { id } });
  const notes = async (id: string) =>
    await db.prisma.quarantine.findMany({ where: { domainId: id } });

  /** Takes it each time its lease ends; returns the leases in minutes. */
  async function takenInVain(due: DueDomains, id: string, times: number): Promise<number[]> {
    const minutes: number[] = [];
    let now = noon;
    for (let nth = 1; nth <= times; nth += 1) {
      expect(await db.takeFrom(due, now, 10, nth < 3)).toEqual([]);
      expect(await db.takeFrom(due, now, 10, nth >= 3)).toEqual([id]);
      const { recheckAt, renewAt } = await row(id);
      const until = due === db.sweeps.rechecks ? recheckAt : renewAt;
      minutes.push(((until?.getTime() ?? 0) - now.getTime()) / MINUTE);
      now = until ?? now;
    }
    return minutes;
  }

  it('without a save is taken less often and alone, and noted', async () => {
    const id = await domainWith({ recheckAt: noon });
    expect(await takenInVain(db.sweeps.rechecks, id, 2)).toEqual([2, 2]);
    expect(await notes(id)).toEqual([]);
    await db.prisma.domain.update({
      where: { id },
      data: { leases: 0, recheckAt: noon },
    });
    expect(await takenInVain(db.sweeps.rechecks, id, 6)).toEqual([2, 2, 2, 5, 60, 60]);
    const { recheckAt } = await row(id);
    const noted = { queue: 'recheck-live', jobId: id, times: 4, until: recheckAt };
    expect(await notes(id)).toMatchObject([{ ...noted, reason: expect.stringContaining('taken') }]);
    await db.sweeps.rechecks.noteReason(id, 'TypeError: no');
    expect(await notes(id)).toMatchObject([{ reason: 'TypeError: no' }]);

    await db.sweeps.rechecks.settle(id, { now: noon, leasesMs });
    expect(await notes(id)).toEqual([]);
    expect(await row(id)).toMatchObject({ leases: 0, recheckAt: lease });
  });

  it('is not reset by a save of the other sweep', async () => {
    const id = await domainWith({ recheckAt: null, renewAt: noon });
    expect(await takenInVain(db.sweeps.renewals, id, 4)).toEqual([2, 2, 2, 5]);
    const { prisma } = db;
    await prisma.domain.update({ where: { id }, data: { leases: 0, renewAt: noon } });
    expect(await db.takeFrom(db.sweeps.renewals, noon, 10, false)).toEqual([]);
    const [again] = await db.sweeps.renewals.take({
      now: noon,
      leasesMs,
      limit: 1,
      suspects: true,
    });
    expect(again).toEqual({ id, takes: 5 });
    expect(await row(id)).toMatchObject({ renewAt: later(noon, 60 * MINUTE) });
  });

  it('is reset for both sweeps once a check is saved', async () => {
    const { database, load, check, pending } = db;
    const domain = await pending(`${randomUUID()}.example.com`);
    await database.prisma.domain.update({ where: { id: domain.id }, data: { leases: 2 } });
    expect(await check(domain, missing)).toMatchObject({ kind: 'saved' }); // with new findings
    expect(await row(domain.id)).toMatchObject({ leases: 0 });
    await database.prisma.domain.update({ where: { id: domain.id }, data: { leases: 2 } });
    expect(await check(await load(domain.id), right)).toMatchObject({ kind: 'saved' }); // a move
    expect(await row(domain.id)).toMatchObject({ leases: 0, status: 'verified' });
  });

  it('is also reset once it goes live', async () => {
    const domain = await db.verified(`${randomUUID()}.example.com`);
    await db.prisma.domain.update({ where: { id: domain.id }, data: { leases: 2 } });
    const certificates = createCertificateStore(db.prisma, {
      timeScale: 1,
    });
    const order = { id: randomUUID(), sealedKey: new Uint8Array(4) };
    await certificates.openOrder(domain, order, noon);
    const times = { issuedAt: noon, expiresAt: later(noon, 60 * MINUTE) };
    await certificates.store(domain, order.id, { chain: 'PEM', issuer: 'CA', ...times }, noon);
    expect(await row(domain.id)).toMatchObject({ leases: 0, status: 'live' });
  });

  it('is not penalized for an outage of any length', async () => {
    const id = await domainWith({ recheckAt: noon });
    const given = { now: noon, leasesMs };
    expect(await takenInVain(db.sweeps.rechecks, id, 3)).toEqual([2, 2, 2]);
    await db.sweeps.rechecks.giveBack([id], given);
    expect(await row(id)).toMatchObject({ leases: 2, recheckAt: lease });
    expect(await notes(id)).toEqual([]);

    // If the database is down as well, the lease is returned before the next one is taken.
    const { prisma } = db;
    let away = true;
    const faulty = new Proxy(prisma, {
      get(target, property) {
        if (away && property === '$executeRaw') return () => Promise.reject(new Error('away'));
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const due = createDueDomains(faulty, 'recheck-live');
    expect(await db.takeFrom(due, lease, 1, true)).toEqual([id]);
    await expect(due.giveBack([id], given)).rejects.toThrow('away');
    expect(await row(id)).toMatchObject({ leases: 3 });
    away = false;
    expect(await db.takeFrom(due, noon, 1, true)).toEqual([]);
    expect(await row(id)).toMatchObject({ leases: 2, recheckAt: lease });
  });
});
