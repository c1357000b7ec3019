/** Which domains a page of a project's list has. */
import type { GrantedProjectId } from '../../core/accounts/access.ts';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import { firstPage, type PageQuery } from '../engine/page.ts';
import { Prisma } from '../generated/client.ts';

/** Without a filter all that are attached. `page.after`: the place of `addedAt`. */
export type DomainListQuery = {
  readonly status?: DomainStatus | undefined;
  /** Any part of the host name, as it is stored: A-labels, lower case. */
  readonly part?: string | undefined;
  readonly page?: PageQuery;
};

/** Shorter parts are in no index: the project's own names are read. */
const TRIGRAM = 3;

/**
 * The ids, in the order of the list. Each filter has an index: domain_listed_idx, domain_listed_status_idx, domain_part_idx
 * (test/db/domain-plans.test.ts).
 */
export function domainPage(
  projectId: GrantedProjectId,
  { status, part, page: { after, limit } = firstPage }: DomainListQuery,
): Prisma.Sql {
  const inStatus =
    status === undefined ? Prisma.empty : Prisma.sql`AND status = ${status}::domain_status`;
  const from =
    after === null
      ? Prisma.empty
      : Prisma.sql`AND (added_at, id) > (${after.at}::timestamptz, ${after.id}::uuid)`;
  return Prisma.sql`
    SELECT id::text FROM domain WHERE project_id = ${projectId}::uuid AND removed_at IS NULL
      ${inStatus} ${withPart(part)} ${from}
    ORDER BY added_at, domain.id LIMIT ${limit}`;
}

function withPart(part: string | undefined): Prisma.Sql {
  if (part === undefined) return Prisma.empty;
  const exactly = Prisma.sql`AND position(${part} IN hostname) > 0`;
  return part.length < TRIGRAM
    ? exactly
    : Prisma.sql`AND hostname_trigrams(hostname) @> hostname_trigrams(${part}) ${exactly}`;
}
