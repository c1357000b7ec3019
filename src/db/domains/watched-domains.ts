/** Domains that somebody watches: until when, and when their next check is. */
import type { PrismaClient } from '../generated/client.ts';

/** A watched domain that waits for its DNS. */
export type WatchedDomain = {
  readonly id: string;
  readonly epoch: number;
  readonly lastCheckedAt: Date | null;
  readonly nextCheckAt: Date | null;
};

/** The last check of an attached domain. `version` names the stored observation; null where there is none yet. */
export type LastCheck = {
  readonly id: string;
  readonly hostname: string;
  readonly attempts: number;
  readonly lastCheckedAt: Date | null;
  readonly nextCheckAt: Date | null;
  readonly version: string | null;
};

/** Each call is one statement, however many domains. */
export type WatchedDomainStore = {
  /**
   * Notes that those which are pending are watched until then, and returns them. One that is being saved at this moment is
   * left out rather than waited for: a batch of saves has hundreds of rows.
   */
  watch(ids: readonly string[], until: Date): Promise<readonly WatchedDomain[]>;
  /** In any order, without those that were removed. */
  lastChecks(ids: readonly string[]): Promise<readonly LastCheck[]>;
};

/** `until` is the caller's clock. A domain is never watched for less than another process has said. */
export function createWatchedDomainStore(prisma: PrismaClient): WatchedDomainStore {
  return {
    watch: (ids, until) =>
      // Two processes may write at once: the later time holds.
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
