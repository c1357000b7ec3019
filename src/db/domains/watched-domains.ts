import type { Access } from '../../core/access.ts';
import { andVisible } from '../access.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';

export type WatchedDomain = {
  readonly id: string;
  readonly epoch: number;
  readonly lastCheckedAt: Date | null;
  readonly nextCheckAt: Date | null;
};

/** `version`: of the stored observation. */
export type LastCheck = {
  readonly id: string;
  readonly hostname: string;
  readonly attempts: number;
  readonly lastCheckedAt: Date | null;
  readonly nextCheckAt: Date | null;
  readonly version: string | null;
};

/** Each call is one statement, for any number of domains. */
export type WatchedDomainStore = {
  /** Marks and returns the pending ones. Skips rows that are being saved. */
  watch(access: Access, ids: readonly string[], until: Date): Promise<readonly WatchedDomain[]>;
  /** Without removed ones, in any order. */
  lastChecks(access: Access, ids: readonly string[]): Promise<readonly LastCheck[]>;
};

const projectId = Prisma.sql`project_id`;

/** Never shortens what another process has set. */
export function createWatchedDomainStore(prisma: PrismaClient): WatchedDomainStore {
  return {
    watch: (access, ids, until) =>
      // Concurrent writes: the later time wins.
      prisma.$queryRaw<WatchedDomain[]>`
        UPDATE domain SET watched_until = GREATEST(watched_until, ${until})
        WHERE id IN (
          SELECT id FROM domain
          WHERE id = ANY(${ids}::uuid[]) AND status = 'pending' AND removed_at IS NULL
            ${andVisible(access, projectId)}
          ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING id::text, epoch, last_checked_at AS "lastCheckedAt", next_check_at AS "nextCheckAt"`,
    lastChecks: (access, ids) =>
      // xmin is the version of the row (src/db/domains/checks.ts).
      prisma.$queryRaw<LastCheck[]>`
        SELECT domain.id::text, hostname, attempts, last_checked_at AS "lastCheckedAt",
          CASE status WHEN 'pending' THEN next_check_at ELSE recheck_at END AS "nextCheckAt",
          observation.xmin::text AS version
        FROM domain LEFT JOIN observation ON domain_id = domain.id
        WHERE domain.id = ANY(${ids}::uuid[]) AND removed_at IS NULL
          ${andVisible(access, projectId)}`,
  };
}
