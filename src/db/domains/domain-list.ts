/** Attached domains in pages, in the order in which they were added. */
import type { Access } from '../../core/access.ts';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import { visibleInSql } from '../access.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { type ListPlace, type ListRange, type Page, pageOf, when } from '../page.ts';
import { type DomainDetails, details } from './domain-details.ts';

/** An undefined filter matches every domain. All are named, so that no caller forgets one. */
export type DomainFilters = {
  readonly projectId: string | undefined;
  /** Exact, in A-labels and lower case. */
  readonly hostname: string | undefined;
  readonly status: DomainStatus | undefined;
  /** Part of the name, in A-labels and lower case. */
  readonly search: string | undefined;
  /** Every given key has the given value. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
};

/** Two reads: a domain that is removed in between is missing from the page. */
export async function loadDomainPage(
  prisma: PrismaClient,
  access: Access,
  filters: DomainFilters,
  { after, limit }: ListRange,
): Promise<Page<DomainDetails>> {
  const places = await prisma.$queryRaw<ListPlace[]>(placesOf(access, filters, { after, limit }));
  const { rows, next } = pageOf(places, limit, (place) => place);
  const domains = await prisma.domain.findMany({
    where: { id: { in: rows.map(({ id }) => id) }, removedAt: null },
    include: details,
    orderBy: [{ addedAt: 'asc' }, { id: 'asc' }],
  });
  return { rows: domains, next };
}

/** A test checks PostgreSQL's plans for it. */
export function placesOf(
  access: Access,
  filters: DomainFilters,
  { after, limit }: ListRange,
): Prisma.Sql {
  const { projectId, hostname, status, search, metadata } = filters;
  const conditions = [
    Prisma.sql`removed_at IS NULL`,
    ...visibleInSql(access, Prisma.sql`project_id`),
    ...when(projectId, (id) => Prisma.sql`project_id = ${id}::uuid`),
    ...when(hostname, (name) => Prisma.sql`hostname = ${name}`),
    ...when(status, (one) => Prisma.sql`status = ${one}::domain_status`),
    ...when(search, (part) => Prisma.sql`hostname LIKE ${`%${escaped(part)}%`}`),
    ...when(metadata, (pairs) => Prisma.sql`metadata @> ${JSON.stringify(pairs)}::jsonb`),
    ...when(
      after ?? undefined,
      ({ at, id }) => Prisma.sql`(added_at, id) > (${at}::timestamptz, ${id}::uuid)`,
    ),
  ];
  return Prisma.sql`
    SELECT id::text, added_at AS at FROM domain WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY added_at, id LIMIT ${limit + 1}`;
}

/** Characters with a meaning in LIKE. */
function escaped(part: string): string {
  return part.replace(/[\\%_]/g, '\\$&');
}
