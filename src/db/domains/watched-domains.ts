/** Domains with an open page: until when, and when their next check is. */
import type { PrismaClient } from '../generated/client.ts';

/** A watched pending domain. */
export type WatchedDomain = {
  readonly id: string;
  readonly epoch: number;
  readonly lastCheckedAt: Date | null;
  readonly nextCheckAt: Date | null;
};

/**
 * The last check of an attached domain. `version`: of the stored observation; null if there is
 * none.
 */
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
  /**
   * Marks the pending ones as watched until then, and returns them. Skips rows that are being saved
   * instead of waiting: a batch of saves has hundreds of rows.
   */
  watch(ids: readonly string[], until: Date): Promise<readonly WatchedDomain[]>;
  /** In any order, without removed ones. */
  lastChecks(ids: readonly string[]): Promise<readonly LastCheck[]>;
};

/** `until` comes from the caller's clock. Never shortens what another process has set. */
export function createWatchedDomainStore(prisma: PrismaClient): WatchedDomainStore {
  return {
    watch: (ids, until) =>
      // Concurrent writes: the later time wins.
      prisma.$queryRaw<WatchedDomain[]>`
        UPDATE domain SET watched_until = GREATEST(watched_until, ${until})
        WHERE id IN (
          SELECT id FROM domain
          WHERE id = ANY(${ids}::uuid[]) AND status = 'pending' AND removed_at IS NULL
          ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING id::text, epoch, last_checked_at AS "lastCheckedAt", next_check_at AS "nextCheckAt"`,
    lastChecks: (ids) =>
      // xmin is the version of the row (src/db/domains/checks.ts).
      prisma.$queryRaw<LastCheck[]>`
        SELECT domain.id::text, hostname, attempts, last_checked_at AS "lastCheckedAt",
          CASE status WHEN 'pending' THEN next_check_at ELSE recheck_at END AS "nextCheckAt",
          observation.xmin::text AS version
        FROM domain LEFT JOIN observation ON domain_id = domain.id
        WHERE domain.id = ANY(${ids}::uuid[]) AND removed_at IS NULL`,
  };
}
