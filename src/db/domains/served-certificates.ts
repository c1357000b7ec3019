import { hasProblem, type ServedCheck } from '../../core/certificates/served.ts';
import type { Finding } from '../../core/diagnosis/findings.ts';
import { recheckWaits } from '../../core/life/ladder.ts';
import { scaledMs } from '../../core/time.ts';
import type { PrismaClient } from '../generated/client.ts';
import { schedule } from './commit.ts';

/** Older ones count as foreign. */
const CHAINS_MAX = 5;

export type VisitedDomain = {
  readonly id: string;
  readonly epoch: number;
  readonly hostname: string;
  readonly findings: readonly Pick<Finding, 'code'>[];
};

export type ServedCertificateStore = {
  /** PEM; the served one first, then earlier ones. */
  loadChains(domainId: string): Promise<readonly string[]>;
  /** Only while the domain is live in this epoch. A problem makes the next check sooner. */
  save(domain: VisitedDomain, shown: ServedCheck): Promise<void>;
};

export function createServedCertificateStore(
  prisma: PrismaClient,
  { timeScale }: { readonly timeScale: number },
): ServedCertificateStore {
  return {
    async loadChains(domainId) {
      const rows = await prisma.certificate.findMany({
        where: { domainId, status: 'issued', sealedKey: { not: null }, chain: { not: null } },
        // The same choice as the edge's (src/db/domains/edge-lookups.ts).
        orderBy: { createdAt: 'desc' },
        take: CHAINS_MAX,
        select: { chain: true },
      });
      return rows.flatMap(({ chain }) => chain ?? []);
    },
    async save({ id, epoch }, shown) {
      const waitMs = scaledMs(recheckWaits.notServedMs, timeScale);
      const again = hasProblem(shown) ? new Date(shown.checkedAt.getTime() + waitMs) : null;
      await prisma.$executeRaw`
        UPDATE domain SET shown = ${shown}::jsonb
        WHERE id = ${id}::uuid AND epoch = ${epoch} AND status = 'live' AND removed_at IS NULL`;
      if (again === null) return;
      // Only sooner, never later: this result says nothing about when to check the DNS.
      const where = { id, epoch, status: 'live', recheckAt: { gt: again } } as const;
      await schedule(prisma, where, { recheckAt: again });
    },
  };
}

export function shownIn(stored: unknown): ServedCheck | null {
  const shown = stored as (Omit<ServedCheck, 'checkedAt'> & { checkedAt: string }) | null; // only written by save() above
  return shown && { ...shown, checkedAt: new Date(shown.checkedAt) };
}
