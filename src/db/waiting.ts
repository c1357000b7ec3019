/** What the reconciler reads: which domains wait, and which of them are overdue. */
import type { Waiting } from '../core/follow-ups.ts';
import type { PrismaClient } from './generated/client.ts';

export type WaitingDomain = Waiting & { readonly id: string; readonly epoch: number };

export type WaitingStore = {
  /** How many domains wait in each state. */
  count(): Promise<{
    readonly pending: number;
    readonly verified: number;
    readonly toEscalate: number;
  }>;
  /** Those that should have been worked on before `dueBefore`, the longest overdue first. */
  overdue(dueBefore: Date, limit: number): Promise<readonly WaitingDomain[]>;
  /** All that wait, by id, a page at a time. */
  page(afterId: string | null, limit: number): Promise<readonly WaitingDomain[]>;
  /** Whether it is this caller's turn: true for one caller in `everyMs`, by the database's clock. */
  takeTurn(name: string, everyMs: number): Promise<boolean>;
};

const columns = {
  id: true,
  epoch: true,
  status: true,
  nextCheckAt: true,
  escalateAt: true,
} as const;
const waits = { removedAt: null, nextCheckAt: { not: null } } as const;

export function createWaitingStore(prisma: PrismaClient): WaitingStore {
  return {
    async count() {
      const [pending, verified, toEscalate] = await Promise.all([
        prisma.domain.count({ where: { ...waits, status: 'pending' } }),
        prisma.domain.count({ where: { ...waits, status: 'verified' } }),
        prisma.domain.count({
          where: { ...waits, status: 'verified', escalateAt: { not: null } },
        }),
      ]);
      return { pending, verified, toEscalate };
    },
    overdue: (dueBefore, limit) =>
      prisma.domain.findMany({
        where: {
          removedAt: null,
          status: { in: ['pending', 'verified'] },
          OR: [{ nextCheckAt: { lt: dueBefore } }, { escalateAt: { lt: dueBefore } }],
        },
        orderBy: { nextCheckAt: 'asc' },
        take: limit,
        select: columns,
      }),
    page: (afterId, limit) =>
      prisma.domain.findMany({
        where: {
          ...waits,
          status: { in: ['pending', 'verified'] },
          ...(afterId !== null && { id: { gt: afterId } }),
        },
        orderBy: { id: 'asc' },
        take: limit,
        select: columns,
      }),
    async takeTurn(name, everyMs) {
      const taken = await prisma.$queryRaw<unknown[]>`
        INSERT INTO turn AS t (name, taken_at) VALUES (${name}, now())
        ON CONFLICT (name) DO UPDATE SET taken_at = now()
          WHERE t.taken_at <= now() - make_interval(secs => ${everyMs / 1000})
        RETURNING name`;
      return taken.length === 1;
    },
  };
}
