/** Whether a project holds a name; one statement over its unique index. */
import type { PrismaClient } from '../generated/client.ts';

/** True where the DNS of an attached domain is right, or was until lately: `verified`, `live` or `drifted`. */
export function createIsHeld(prisma: PrismaClient): (hostname: string) => Promise<boolean> {
  return async (hostname) => {
    const rows = await prisma.$queryRaw<unknown[]>`
      SELECT 1 FROM domain
      WHERE hostname = ${hostname} AND removed_at IS NULL
        AND status IN ('verified', 'live', 'drifted')`;
    return rows.length > 0;
  };
}
