import { randomUUID } from 'node:crypto';
import type { Access } from '../core/access.ts';
import { servedStatuses } from '../core/life/lifecycle.ts';
import {
  type Metadata,
  type MetadataChange,
  type MetadataProblem,
  mergeMetadata,
  metadataIn,
} from '../core/metadata.ts';
import { DEFAULT_ACCOUNT_ID, type Plan, type Project } from '../core/records.ts';
import { andVisible, ofVisibleProject, visibleProject } from './access.ts';
import { keepOpen, keepProjects } from './accounts.ts';
import { deletedColumns } from './delivery/webhooks.ts';
import { lockProject } from './domains/domain-settings.ts';
import type { Tx } from './engine/transaction.ts';
import { Prisma, type PrismaClient } from './generated/client.ts';
import { type ListPlace, type ListRange, type Page, pageOf, when } from './page.ts';

type NewProject = {
  /** Missing: the default account. */
  readonly accountId?: string | undefined;
  readonly name: string;
  readonly slug: string;
  readonly plan: Plan;
  readonly metadata?: Metadata;
};
type ProjectChange = {
  /** Moves the project there, with everything that it has. */
  readonly accountId?: string | undefined;
  readonly name?: string | undefined;
  readonly plan?: Plan | undefined;
  readonly metadata?: MetadataChange | undefined;
};
/** An undefined filter matches every project. */
type ProjectFilters = {
  /** Attached to the project: exact, in A-labels and lower case. */
  readonly hostname: string | undefined;
  /** Every given key has the given value. */
  readonly metadata: Metadata | undefined;
};

/** Ids must be UUIDs; otherwise the call rejects. Deleted projects are never found. */
export type ProjectStore = {
  /** Oldest first. */
  list(access: Access, filters: ProjectFilters, page: ListRange): Promise<Page<Project>>;
  find(access: Access, id: string): Promise<Project | null>;
  /** Null if the account has the slug already, is closed or unknown. */
  create(access: Access, project: NewProject): Promise<Project | null>;
  /**
   * Nothing changed: `MetadataProblem`, `account_not_found` also for a closed one or without
   * access to it, `slug_taken` in that account.
   */
  update(access: Access, id: string, change: ProjectChange): Promise<Project | NotUpdated | null>;
  /** The new key signs from `at` on; the previous one also signs for a day. */
  rotateSigning(access: Access, id: string, at: Date): Promise<Project | null>;
  /** Host names of live and drifted domains, the oldest first, and how many there are. */
  servedDomains(access: Access, id: string, limit: number): Promise<ServedDomains>;
  /** Host names of attached domains. */
  attachedDomains(access: Access, id: string, limit: number): Promise<readonly string[]>;
  /**
   * Ends its signing keys and webhooks, whose waiting deliveries the caller ends; its slug is free
   * again. `has_domains`: nothing changed.
   */
  remove(access: Access, id: string, at: Date): Promise<'removed' | 'has_domains' | null>;
};

export type ServedDomains = { readonly hostnames: readonly string[]; readonly count: number };

type NotUpdated = 'account_not_found' | 'slug_taken' | MetadataProblem;

const present = { deletedAt: null } as const;

/** Each call is one statement, or one transaction. */
export function createProjectStore(prisma: PrismaClient): ProjectStore {
  return {
    list: (access, filters, page) => list(prisma, access, filters, page),
    find: (access, id) => prisma.project.findFirst({ where: presentOne(access, id) }),
    create: (access, project) => prisma.$transaction((tx) => create(tx, access, project)),
    update: (access, id, change) => prisma.$transaction((tx) => update(tx, access, id, change)),
    async rotateSigning(access, id, at) {
      const [rotated] = await prisma.project.updateManyAndReturn({
        where: presentOne(access, id),
        data: { signingGeneration: { increment: 1 }, signingRotatedAt: at },
      });
      return rotated ?? null;
    },
    async servedDomains(access, id, limit) {
      const where = { ...attached(access, id), status: { in: [...servedStatuses] } };
      const count = await prisma.domain.count({ where });
      const rows = await prisma.domain.findMany({
        where,
        orderBy: [{ addedAt: 'asc' }, { id: 'asc' }],
        take: limit,
        select: { hostname: true },
      });
      return { count, hostnames: rows.map(({ hostname }) => hostname) };
    },
    async attachedDomains(access, id, limit) {
      const rows = await prisma.domain.findMany({
        where: attached(access, id),
        take: limit,
        select: { hostname: true },
      });
      return rows.map(({ hostname }) => hostname);
    },
    remove: (access, id, at) => prisma.$transaction((tx) => remove(tx, access, id, at)),
  };
}

function presentOne(access: Access, id: string) {
  return { AND: [{ id }, visibleProject(access)], ...present };
}

function attached(access: Access, projectId: string) {
  return { projectId, removedAt: null, ...ofVisibleProject(access) };
}

async function create(tx: Tx, access: Access, project: NewProject): Promise<Project | null> {
  const { accountId = DEFAULT_ACCOUNT_ID } = project;
  if (!mayHave(access, accountId) || !(await keepOpen(tx, accountId))) return null;
  const [created] = await tx.project.createManyAndReturn({
    data: [{ id: randomUUID(), ...project, accountId }],
    skipDuplicates: true,
  });
  return created ?? null;
}

/** A key that is restricted to some projects cannot create others. */
function mayHave(access: Access, accountId: string): boolean {
  if (access.kind === 'installation') return true;
  return access.accountId === accountId && access.projectIds === null;
}

/** Two reads: a project that is deleted or moved in between is missing from the page. */
async function list(
  prisma: PrismaClient,
  access: Access,
  { hostname, metadata }: ProjectFilters,
  { after, limit }: ListRange,
): Promise<Page<Project>> {
  // An account reads its own rows only: the index of metadata has everyone's.
  const data = access.kind === 'account' ? Prisma.sql`(metadata || '{}')` : Prisma.sql`metadata`;
  const conditions = [
    Prisma.sql`deleted_at IS NULL`,
    ...ownInSql(access),
    ...when(
      hostname,
      (name) => Prisma.sql`id IN (
        SELECT project_id FROM domain WHERE hostname = ${name} AND removed_at IS NULL)`,
    ),
    ...when(metadata, (pairs) => Prisma.sql`${data} @> ${JSON.stringify(pairs)}::jsonb`),
    ...when(
      after ?? undefined,
      ({ at, id }) => Prisma.sql`(created_at, id) > (${at}::timestamptz, ${id}::uuid)`,
    ),
  ];
  const places = await prisma.$queryRaw<ListPlace[]>`
    SELECT id::text, created_at AS at FROM project WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY created_at, id LIMIT ${limit + 1}`;
  const { rows, next } = pageOf(places, limit, (place) => place);
  const projects = await prisma.project.findMany({
    where: { AND: [{ id: { in: rows.map(({ id }) => id) } }, visibleProject(access)], ...present },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return { rows: projects, next, placeOf: ({ createdAt, id }) => ({ at: createdAt, id }) };
}

/** By the columns of an index with the list's order. */
function ownInSql(access: Access): readonly Prisma.Sql[] {
  if (access.kind === 'installation') return [];
  const { accountId, projectIds } = access;
  return [
    Prisma.sql`account_id = ${accountId}::uuid`,
    ...when(projectIds ?? undefined, (ids) => Prisma.sql`id = ANY (${[...ids]}::uuid[])`),
  ];
}

async function update(
  tx: Tx,
  access: Access,
  id: string,
  { accountId, name, plan, metadata }: ProjectChange,
): Promise<Project | NotUpdated | null> {
  // The account first, as when it is closed.
  const isOpen = accountId === undefined || (await keepProjects(tx, accountId));
  await lockProject(tx, access, id);
  const row = await tx.project.findFirst({ where: presentOne(access, id) });
  if (row === null) return null;
  const isMoved = accountId !== undefined && accountId !== row.accountId;
  const refused = isMoved && (isOpen ? await refuseMove(tx, access, row, accountId) : notFound);
  if (refused) return refused;
  const merged = mergeMetadata(metadataIn(row.metadata), metadata ?? {});
  if (typeof merged === 'string') return merged;
  return tx.project.update({
    where: { id },
    data: {
      ...(isMoved && { accountId }),
      ...(name !== undefined && { name }),
      ...(plan !== undefined && { plan }),
      ...(metadata !== undefined && { metadata: merged }),
    },
  });
}

const notFound = 'account_not_found';

async function refuseMove(
  tx: Tx,
  access: Access,
  { slug }: Project,
  accountId: string,
): Promise<typeof notFound | 'slug_taken' | null> {
  if (!mayHave(access, accountId)) return notFound;
  const count = await tx.project.count({ where: { accountId, slug, ...present } });
  return count > 0 ? 'slug_taken' : null;
}

/** The lock also waits for domains that are being added. */
async function remove(
  tx: Tx,
  access: Access,
  id: string,
  at: Date,
): Promise<'removed' | 'has_domains' | null> {
  const mine = andVisible(access, Prisma.sql`id`);
  await tx.$queryRaw`SELECT 1 FROM project WHERE id = ${id}::uuid ${mine} FOR UPDATE`;
  const row = await tx.project.findFirst({
    where: presentOne(access, id),
    select: { id: true },
  });
  if (row === null) return null;
  const domains = await tx.domain.count({ where: { projectId: id, removedAt: null } });
  if (domains > 0) return 'has_domains';
  await tx.project.update({ where: { id }, data: { deletedAt: at } });
  await tx.webhook.updateMany({
    where: { projectId: id, deletedAt: null },
    data: deletedColumns(at),
  });
  return 'removed';
}
