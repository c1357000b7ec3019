import { randomUUID } from 'node:crypto';
import type { Access } from '../core/access.ts';
import type { Deploy, DeployStatus } from '../core/records.ts';
import { andVisible, ofVisibleProject, visibleProject } from './access.ts';
import type { Tx } from './engine/transaction.ts';
import { Prisma, type PrismaClient } from './generated/client.ts';
import { beyondPlace, type ListRange, type Page, pageOf } from './page.ts';

/** Serves visitors while it is the newest that succeeded. `upstreamCa`: PEM. */
type NewDeploy = {
  readonly status: DeployStatus;
  readonly upstream: string;
  readonly upstreamCa?: string | undefined;
};

/** Ids must be UUIDs; otherwise the call rejects. The caller checks the project. */
export type DeployStore = {
  /** A succeeded deploy makes the project publishable. Null if the project was deleted. */
  add(access: Access, projectId: string, deploy: NewDeploy, at: Date): Promise<Deploy | null>;
  /** Newest first. */
  list(access: Access, projectId: string, page: ListRange): Promise<Page<Deploy>>;
  find(access: Access, projectId: string, id: string): Promise<Deploy | null>;
  /** The deploy that serves each project; undeployed projects are missing. */
  current(access: Access, projectIds: readonly string[]): Promise<ReadonlyMap<string, Deploy>>;
};

export function createDeployStore(prisma: PrismaClient): DeployStore {
  return {
    add: (access, projectId, deploy, at) =>
      prisma.$transaction((tx) => add(tx, { access, projectId }, deploy, at)),
    async list(access, projectId, { after, limit }) {
      const rows = await prisma.deploy.findMany({
        where: {
          projectId,
          ...ofVisibleProject(access),
          ...beyondPlace('createdAt', after, 'desc'),
        },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit + 1,
      });
      return pageOf(rows, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
    },
    find: (access, projectId, id) =>
      prisma.deploy.findFirst({ where: { projectId, id, ...ofVisibleProject(access) } }),
    async current(access, projectIds) {
      // The same choice as the edge's (src/db/domains/edge-lookups.ts).
      const ids = await prisma.$queryRaw<{ id: string }[]>`
        SELECT newest.id::text FROM unnest(${[...projectIds]}::uuid[]) AS project (id)
        CROSS JOIN LATERAL (
          SELECT id FROM deploy WHERE project_id = project.id AND status = 'succeeded'
          ORDER BY created_at DESC LIMIT 1) AS newest
        WHERE true ${andVisible(access, Prisma.sql`project.id`)}`;
      const rows = await prisma.deploy.findMany({ where: { id: { in: ids.map(({ id }) => id) } } });
      return new Map(rows.map((row) => [row.projectId, row]));
    },
  };
}

async function add(
  tx: Tx,
  { access, projectId }: { readonly access: Access; readonly projectId: string },
  { status, upstream, upstreamCa }: NewDeploy,
  at: Date,
): Promise<Deploy | null> {
  const { count } = await tx.project.updateMany({
    where: { AND: [{ id: projectId }, visibleProject(access)], deletedAt: null },
    data: status === 'succeeded' ? { deployedAt: at } : {},
  });
  if (count === 0) return null;
  return tx.deploy.create({
    // createdAt is the database's, so that the newest deploy does not depend on a process's clock.
    data: { id: randomUUID(), projectId, status, upstream, upstreamCa: upstreamCa ?? null },
  });
}
