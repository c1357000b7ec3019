/** What the record of a host name must point to, whichever project it is attached to. */
import type { PrismaClient } from '../generated/client.ts';

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
