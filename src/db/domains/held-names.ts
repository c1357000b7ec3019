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

/**
 * The target of the domain with this host name: of the project that holds it, else of the one that added it last.
 * Null where no project has it attached.
 */
export async function findAttachedTarget(
  prisma: PrismaClient,
  hostname: string,
): Promise<string | null> {
  const rows = await prisma.$queryRaw<{ target: string }[]>`
    SELECT target FROM domain
    WHERE hostname = ${hostname} AND removed_at IS NULL
    ORDER BY status IN ('verified', 'live', 'drifted') DESC, added_at DESC, id
    LIMIT 1`;
  return rows[0]?.target ?? null;
}
