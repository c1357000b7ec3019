/** Attached domains in pages, in the order in which they were added. */
import type { Access } from '../../core/access.ts';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import type { Hsts } from '../../core/operations/edge-route.ts';
import type { Certificate, DomainRecord, Escalation } from '../../core/records.ts';
import { visibleInSql } from '../access.ts';
import { inTransaction } from '../engine/transaction.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { type ListPlace, type ListRange, type Page, pageOf, when } from '../page.ts';

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
  return { rows: domains, next, placeOf: ({ addedAt, id }) => ({ at: addedAt, id }) };
}

/**
 * A test checks PostgreSQL's plans for it. Those of an account read only its own rows: project by project, and
 * without the indexes of names and metadata, which have everyone's.
 */
export function placesOf(
  access: Access,
  filters: DomainFilters,
  { after, limit }: ListRange,
): Prisma.Sql {
  const { projectId, hostname, status, search, metadata } = filters;
  const isOwn = access.kind === 'account';
  const [name, data] = isOwn
    ? [Prisma.sql`(hostname || '')`, Prisma.sql`(metadata || '{}')`]
    : [Prisma.sql`hostname`, Prisma.sql`metadata`];
  const conditions = [
    Prisma.sql`removed_at IS NULL`,
    ...(isOwn ? [Prisma.sql`project_id = own.id`] : []),
    ...when(projectId, (id) => Prisma.sql`project_id = ${id}::uuid`),
    ...when(hostname, (one) => Prisma.sql`hostname = ${one}`),
    ...when(status, (one) => Prisma.sql`status = ${one}::domain_status`),
    ...when(search, (part) => Prisma.sql`${name} LIKE ${`%${escaped(part)}%`}`),
    ...when(metadata, (pairs) => Prisma.sql`${data} @> ${JSON.stringify(pairs)}::jsonb`),
    ...when(
      after ?? undefined,
      ({ at, id }) => Prisma.sql`(added_at, id) > (${at}::timestamptz, ${id}::uuid)`,
    ),
  ];
  const found = Prisma.sql`
    SELECT id, added_at AS at FROM domain WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY added_at, id LIMIT ${limit + 1}`;
  if (!isOwn) return Prisma.sql`SELECT id::text, at FROM (${found}) AS found`;
  const own = [
    ...visibleInSql(access, Prisma.sql`id`),
    ...when(projectId, (id) => Prisma.sql`id = ${id}::uuid`),
  ];
  return Prisma.sql`
    SELECT found.id::text, at FROM (SELECT id FROM project WHERE ${Prisma.join(own, ' AND ')}) AS own
      CROSS JOIN LATERAL (${found}) AS found
    ORDER BY at, found.id LIMIT ${limit + 1}`;
}

/** Characters with a meaning in LIKE. */
function escaped(part: string): string {
  return part.replace(/[\\%_]/g, '\\$&');
}

/** A domain with what its view shows. */
export type DomainDetails = DomainRecord & {
  /** Of the last full check. */
  readonly observation: { readonly value: unknown } | null;
  /** Null: the platform sets no header. */
  readonly hsts: Hsts | null;
  /** The open order, the newest issued one, and the newest refused or superseded one. */
  readonly certificates: readonly Certificate[];
  /** The open one, if any. */
  readonly escalations: readonly Escalation[];
};

const escalations = {
  // The enum's order: ordering, issued, failed.
  certificates: { orderBy: [{ status: 'asc' }, { createdAt: 'desc' }], distinct: ['status'] },
  escalations: { where: { closedAt: null } },
} as const satisfies Prisma.DomainInclude;
const details = {
  ...escalations,
  observation: true,
  hsts: true,
} as const satisfies Prisma.DomainInclude;

/** The first one. In a transaction, its relations are read one by one. */
export async function findDetails(
  prisma: PrismaClient,
  where: Prisma.DomainWhereInput,
): Promise<DomainDetails | null> {
  if (!inTransaction()) return prisma.domain.findFirst({ where, include: details });
  const found = await prisma.domain.findFirst({ where, select: { id: true } });
  return found && detailsIn(prisma, found.id);
}

/** One by one: Prisma queries relations concurrently, but a transaction has only one connection. */
export async function detailsIn(tx: Prisma.TransactionClient, id: string): Promise<DomainDetails> {
  const domain = await tx.domain.findUniqueOrThrow({ where: { id }, include: escalations });
  const observation = await tx.storedObservation.findUnique({ where: { domainId: id } });
  const hsts = await tx.hsts.findUnique({ where: { domainId: id } });
  return { ...domain, observation, hsts };
}
