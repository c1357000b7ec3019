/** What the reconciler had to put right, counted by kind: no row while nothing has gone wrong. */
import type { PrismaClient } from './generated/client.ts';

/** `missing_sweep`: a sweep's job. `overdue_job`: there, but asleep beyond its time. */
export const repairKinds = ['missing_job', 'overdue_job', 'orphaned_job', 'missing_sweep'] as const;
export type RepairKind = (typeof repairKinds)[number];

export type RepairStore = {
  /** Adds so many to the count; nothing for none. */
  count(kind: RepairKind, repaired: number): Promise<void>;
};

export function createRepairStore(prisma: PrismaClient): RepairStore {
  return {
    async count(kind, repaired) {
      if (repaired === 0) return;
      await prisma.$executeRaw`
        INSERT INTO repair AS r (kind, count, last_at) VALUES (${kind}, ${repaired}::bigint, now())
        ON CONFLICT (kind) DO UPDATE SET count = r.count + EXCLUDED.count, last_at = now()`;
    },
  };
}
