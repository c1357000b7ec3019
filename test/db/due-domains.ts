/** A database, due domains and both sweeps, for tests of sweeps. */
import { randomUUID } from 'node:crypto';
import { createDueDomains, type DueDomains } from '../../src/db/domains/sweeps.ts';
import type { Prisma } from '../../src/db/generated/client.ts';
import { later, noon } from '../support/builders.ts';
import type { StorageName } from '../support/storage.ts';
import { openStoredDomains } from '../support/stored-domains.ts';

export const MINUTE = 60_000;
export const leasesMs = [2, 2, 2, 5, 60].map((minutes) => minutes * MINUTE);
export const lease = later(noon, 2 * MINUTE);

export type StoredDueDomains = Awaited<ReturnType<typeof openDueDomains>>;

export async function openDueDomains(name: StorageName) {
  const stored = await openStoredDomains(name);
  const { prisma } = stored.database;
  return {
    ...stored,
    prisma,
    sweeps: {
      rechecks: createDueDomains(prisma, 'recheck-live'),
      renewals: createDueDomains(prisma, 'renew-certificate'),
    },
    removeAll: () => prisma.domain.updateMany({ data: { removedAt: noon } }),
    async domainWith(data: Prisma.DomainUpdateInput): Promise<string> {
      const { id } = await stored.pending(`${randomUUID()}.example.com`);
      await prisma.domain.update({ where: { id }, data: { nextCheckAt: null, ...data } });
      return id;
    },
    takeFrom: async (due: DueDomains, now: Date, limit = 10, suspects = false) =>
      (await due.take({ now, leasesMs, limit, suspects })).map(({ id }) => id),
  };
}
