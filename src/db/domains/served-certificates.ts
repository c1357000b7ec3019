/** What the addresses of a domain showed at the last check (src/certificates/served/served-certificate.ts). */

import { hasProblem, type Shown } from '../../core/certificates/served.ts';
import { recheckWaits, scaleOf } from '../../core/life/ladder.ts';
import type { PrismaClient } from '../generated/client.ts';
import { schedule } from './commit.ts';

/** The one that is served and a few before it; one that an edge shows beyond these counts as another's. */
const CHAINS_MAX = 5;

/** A domain whose addresses are checked for its certificate. */
export type VisitedDomain = {
  readonly id: string;
  readonly epoch: number;
  readonly hostname: string;
};

/** What a check of the addresses is compared with, and what came of it. */
export type ServedCertificateStore = {
  /** PEM chains of the domain, 5 at most: the one that the edge serves first, then those before it. */
  loadChains(domainId: string): Promise<readonly string[]>;
  /** Stores it while the domain is live in this epoch. Where an address has a problem, the next check comes sooner. */
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
      // Only sooner, never later: this result says nothing about when the DNS is to be checked.
      const where = { id, epoch, status: 'live', recheckAt: { gt: again } } as const;
      await schedule(prisma, where, { recheckAt: again });
    },
  };
}

/** Reads the stored result; null where there was no check yet. */
export function shownIn(stored: unknown): Shown | null {
  const shown = stored as (Omit<Shown, 'checkedAt'> & { checkedAt: string }) | null; // written by save() above only
  return shown && { ...shown, checkedAt: new Date(shown.checkedAt) };
}
