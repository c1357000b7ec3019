/** What the addresses of a domain showed at the last check (src/certificates/served/served-certificate.ts). */

import { hasProblem, type Shown } from '../../core/certificates/served.ts';
import { recheckWaits, scaleOf } from '../../core/life/ladder.ts';
import type { PrismaClient } from '../generated/client.ts';
import { schedule } from './commit.ts';

/** The one that is served and a few of before: an edge that stays behind does not stay behind for years. */
const CHAINS_MAX = 5;

export type VisitedDomain = {
  readonly id: string;
  readonly epoch: number;
  readonly hostname: string;
};

export type ServedCertificateStore = {
  /** PEM chains of the domain, the one that the edge serves first. */
  loadChains(domainId: string): Promise<readonly string[]>;
  save(domain: VisitedDomain, shown: Shown): Promise<void>;
};

/** `verifyWindowMs`: a laboratory's shortens every wait. */
export function createServedCertificateStore(
  prisma: PrismaClient,
  { verifyWindowMs }: { readonly verifyWindowMs: number },
): ServedCertificateStore {
  return {
    async loadChains(domainId) {
      const rows = await prisma.certificate.findMany({
        where: { domainId, status: 'issued', sealedKey: { not: null }, chain: { not: null } },
        // As the edge chooses (src/db/domains/edge-lookups.ts).
        orderBy: { createdAt: 'desc' },
        take: CHAINS_MAX,
        select: { chain: true },
      });
      return rows.flatMap(({ chain }) => chain ?? []);
    },
    async save({ id, epoch }, shown) {
      const waitMs = recheckWaits.notServedMs * scaleOf(verifyWindowMs);
      const again = hasProblem(shown) ? new Date(shown.checkedAt.getTime() + waitMs) : null;
      await prisma.$executeRaw`
        UPDATE domain SET shown = ${shown}::jsonb
        WHERE id = ${id}::uuid AND epoch = ${epoch} AND status = 'live' AND removed_at IS NULL`;
      if (again === null) return;
      // Only ever sooner: whether the DNS has drifted is none of this check's business.
      const where = { id, epoch, status: 'live', recheckAt: { gt: again } } as const;
      await schedule(prisma, where, { recheckAt: again });
    },
  };
}

/** Null where there was no check yet. */
export function shownIn(stored: unknown): Shown | null {
  const shown = stored as (Omit<Shown, 'checkedAt'> & { checkedAt: string }) | null; // written by save() above only
  return shown && { ...shown, checkedAt: new Date(shown.checkedAt) };
}
