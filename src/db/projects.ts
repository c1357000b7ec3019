import { randomUUID } from 'node:crypto';
import { type Metadata, type MetadataChange, mergeMetadata, metadataIn } from '../core/metadata.ts';
import type { Plan, Project } from '../core/records.ts';
import { deletedColumns } from './delivery/webhooks.ts';
import { served } from './domains/commit.ts';
import { lockProject } from './domains/domain-settings.ts';
import type { Tx } from './engine/transaction.ts';
import { Prisma, type PrismaClient } from './generated/client.ts';
import { type ListPlace, type ListRange, type Page, pageOf, when } from './page.ts';

export type NewProject = {
  readonly name: string;
  readonly slug: string;
  readonly plan: Plan;
  readonly metadata?: Metadata;
};
type ProjectChange = {
  readonly name?: string | undefined;
  readonly plan?: Plan | undefined;
  readonly metadata?: MetadataChange | undefined;
};
/** Missing filters match every project. */
type ProjectFilters = {
  /** Attached to the project: exact, in A-labels and lower case. */
  readonly hostname?: string | undefined;
  /** Every given key has the given value. */
  readonly metadata?: Metadata | undefined;
};

/** Ids must be UUIDs; otherwise the call rejects. Deleted projects are never found. */
export type ProjectStore = {
  /** Oldest first. */
  list(filters: ProjectFilters, page: ListRange): Promise<Page<Project>>;
  find(id: string): Promise<Project | null>;
  /** Null if the slug is taken. */
  create(project: NewProject): Promise<Project | null>;
  /** `too_many_keys`: nothing changed. */
  update(id: string, change: ProjectChange): Promise<Project | 'too_many_keys' | null>;
  /** The new key signs from `at` on; the previous one also signs for a day. */
  rotateSigning(id: string, at: Date): Promise<Project | null>;
  /** Host names of live and drifted domains, the oldest first, and how many there are. */
  servedDomains(id: string, limit: number): Promise<ServedDomains>;
  /** Host names of attached domains. */
  attachedDomains(id: string, limit: number): Promise<readonly string[]>;
  /**
   * Ends its signing keys and webhooks, whose waiting deliveries the caller ends; its slug is free
   * again. `has_domains`: nothing changed.
   */
  remove(id: string, at: Date): Promise<'removed' | 'has_domains' | null>;
};

export type ServedDomains = { readonly hostnames: readonly string[]; readonly count: number };

const present = { deletedAt: null } as const;

/** Each call is one statement, or one transaction. */
export function createProjectStore(prisma: PrismaClient): ProjectStore {
  return {
    list: (filters, page) => list(prisma, filters, page),
    find: (id) => prisma.project.findFirst({ where: { id, ...present } }),
    async create(project) {
      const [created] = await prisma.project.createManyAndReturn({
        data: [{ id: randomUUID(), ...project }],
        skipDuplicates: true,
      });
      return created ?? null;
    },
    update: (id, change) => prisma.$transaction((tx) => update(tx, id, change)),
    async rotateSigning(id, at) {
      const [rotated] = await prisma.project.updateManyAndReturn({
        where: { id, ...present },
        data: { signingGeneration: { increment: 1 }, signingRotatedAt: at },
      });
      return rotated ?? null;
    },
    async servedDomains(id, limit) {
      const where = { projectId: id, removedAt: null, status: { in: [...served] } };
      const count = await prisma.domain.count({ where });
      const rows = await prisma.domain.findMany({
        where,
        orderBy: [{ addedAt: 'asc' }, { id: 'asc' }],
        take: limit,
        select: { hostname: true },
      });
      return { count, hostnames: rows.map(({ hostname }) => hostname) };
    },
    async attachedDomains(id, limit) {
      const rows = await prisma.domain.findMany({
        where: { projectId: id, removedAt: null },
        take: limit,
        select: { hostname: true },
      });
      return rows.map(({ hostname }) => hostname);
    },
    remove: (id, at) => prisma.$transaction((tx) => remove(tx, id, at)),
  };
}

/** Two reads: a project that is deleted in between is missing from the page. */
async function list(
  prisma: PrismaClient,
  { hostname, metadata }: ProjectFilters,
  { after, limit }: ListRange,
): Promise<Page<Project>> {
  const conditions = [
    Prisma.sql`deleted_at IS NULL`,
    ...when(
      hostname,
      (name) => Prisma.sql`id IN (
        SELECT project_id FROM domain WHERE hostname = ${name} AND removed_at IS NULL)`,
    ),
    ...when(metadata, (pairs) => Prisma.sql`metadata @> ${JSON.stringify(pairs)}::jsonb`),
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
    where: { id: { in: rows.map(({ id }) => id) }, ...present },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return { rows: projects, next };
}

async function update(
  tx: Tx,
  id: string,
  { name, plan, metadata }: ProjectChange,
): Promise<Project | 'too_many_keys' | null> {
  await lockProject(tx, id);
  const row = await tx.project.findFirst({ where: { id, ...present } });
  if (row === null) return null;
  const merged = mergeMetadata(metadataIn(row.metadata), metadata ?? {});
  if (merged === null) return 'too_many_keys';
  return tx.project.update({
    where: { id },
    data: {
      ...(name !== undefined && { name }),
      ...(plan !== undefined && { plan }),
      ...(metadata !== undefined && { metadata: merged }),
    },
  });
}

/** The lock also waits for domains that are being added. */
async function remove(tx: Tx, id: string, at: Date): Promise<'removed' | 'has_domains' | null> {
  await tx.$queryRaw`SELECT 1 FROM project WHERE id = ${id}::uuid FOR UPDATE`;
  const row = await tx.project.findFirst({ where: { id, ...present }, select: { id: true } });
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
