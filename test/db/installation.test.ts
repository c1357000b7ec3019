import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY } from '../../src/core/time.ts';
import { createQuarantineStore } from '../../src/db/domains/quarantine.ts';
import { countRepairs, createWaitingStore } from '../../src/db/domains/waiting.ts';
import { readInstallation } from '../../src/db/installation.ts';
import { nothing } from '../ops/support.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

/** By the database's clock, which is the machine's here. */
const inDays = (days: number) => new Date(Date.now() + days * DAY);

for (const { name, available } of databasesOfRun()) {
  describe.skipIf(!available)(`the metrics of an installation on ${name}`, () => {
    let stored: StoredDomains;
    beforeAll(async () => {
      stored = await openStoredDomains(name);
    });
    afterAll(() => stored?.close());
    const read = () => readInstallation(stored.database.prisma, [null]);

    it('are all zero in an empty database', async () => {
      expect(await read()).toEqual({
        ...nothing,
        postgresConnections: { used: expect.any(Number), max: expect.any(Number) },
        repairs: { missing_job: 0, overdue_job: 0, orphaned_job: 0, missing_sweep: 0 },
      });
    });

    it('have the number, age and delay of waiting domains', async () => {
      const { prisma } = stored.database;
      const [late, later, removed] = [
        await stored.pending('late.shop.test'),
        await stored.pending('later.shop.test'),
        await stored.pending('removed.shop.test'),
      ];
      const times = { pendingSince: inDays(-2), nextCheckAt: inDays(-1) };
      await prisma.domain.update({ where: { id: late.id }, data: times });
      await prisma.domain.update({ where: { id: later.id }, data: { nextCheckAt: inDays(1) } });
      await prisma.domain.update({ where: { id: removed.id }, data: { removedAt: inDays(-1) } });
      await prisma.domain.update({ where: { id: later.id }, data: { pendingSince: inDays(-1) } });
      const { domains, overdueSeconds, oldestSeconds } = await read();
      expect(domains).toMatchObject({ pending: 2, live: 0 });
      expect(Math.round(overdueSeconds['check-dns'] / 3_600)).toBe(24);
      expect(Math.round(oldestSeconds.pending / 3_600)).toBe(48);
      expect(overdueSeconds['issue-certificate']).toBe(0);
    });

    it('have the expiry of served certificates', async () => {
      const { prisma } = stored.database;
      const ends = [-0.5, 0.5, 3, 5, 20, 80];
      for (const [index, days] of ends.entries()) {
        const { id } = await stored.pending(`served-${index}.shop.test`);
        const status = index % 2 === 0 ? ('live' as const) : ('drifted' as const);
        const data = { status, nextCheckAt: null, certificateEndsAt: inDays(days) };
        await prisma.domain.update({ where: { id }, data });
      }
      const failed = await stored.pending('failed.shop.test');
      const data = { status: 'failed', certificateEndsAt: inDays(-9) } as const;
      await prisma.domain.update({ where: { id: failed.id }, data });
      const { certificates, soonestEndSeconds } = await read();
      expect(certificates).toEqual({ ended: 1, '1': 1, '7': 2, '30': 1, more: 1 });
      expect(Math.round((soonestEndSeconds ?? 0) / 3_600)).toBe(-12);
    });

    it('count certificates of the last day from a CA that is not configured', async () => {
      const { id: domainId } = await stored.pending('issued.shop.test');
      const [ours, other] = ['https://acme.example/directory', 'https://other.example/directory'];
      const issued = [
        [ours, 0.1, Buffer.of(1)],
        [other, 0.1, Buffer.of(1)],
        [null, 0.1, Buffer.of(1)], // the local CA
        [other, 1.1, Buffer.of(1)],
        [other, 0.1, null], // Caddy's own
      ] as const;
      await stored.database.prisma.certificate.createMany({
        data: issued.map(([authority, daysAgo, sealedKey]) => ({
          ...{ id: randomUUID(), domainId, hostname: 'issued.shop.test', authority, sealedKey },
          ...{ status: 'issued', endedAt: inDays(-daysAgo) },
        })),
      });
      const countWith = async (directories: readonly (string | null)[]) =>
        (await readInstallation(stored.database.prisma, directories)).certificatesUnexpected;
      expect(await countWith([ours])).toBe(2);
      expect(await countWith([ours, other])).toBe(1);
      expect(await countWith([null])).toBe(2);
    });

    it('have escalations, quarantines, repairs and the last worker run', async () => {
      const { prisma } = stored.database;
      const escalated = { evidence: {}, nextAction: 'Wait.', openedAt: inDays(-1) };
      for (const [hostname, closedAt] of [
        ['open.shop.test', null],
        ['closed.shop.test', inDays(0)],
      ] as const) {
        const { id: domainId } = await stored.pending(hostname);
        const row = { id: randomUUID(), domainId, cause: 'platform_fault', closedAt };
        await prisma.escalation.create({ data: { ...row, ...escalated } });
      }
      const suspect = { queue: 'check-dns', jobId: 'x', domainId: null, reason: 'no' } as const;
      await createQuarantineStore(prisma).add(suspect, inDays(0), [DAY]);
      const over = { ...suspect, jobId: 'y' };
      await createQuarantineStore(prisma).add(over, inDays(-2), [DAY]);
      await countRepairs(prisma, 'missing_job', 3);
      await createWaitingStore(prisma).takeTurn('reconcile', 1_000);
      const { escalationsOpen, quarantined, repairs, turnAgeSeconds } = await read();
      expect(escalationsOpen).toEqual({ platform_fault: 1 });
      expect(quarantined).toEqual({ 'check-dns': 1 });
      expect(repairs).toMatchObject({ missing_job: 3, orphaned_job: 0 });
      expect(turnAgeSeconds).toBeLessThan(60);
    });
  });
}
