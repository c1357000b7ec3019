import { randomUUID } from 'node:crypto';
import type { Deploy, DeployStatus, Plan, Project } from '../core/records.ts';
import type { PrismaClient } from './generated/client.ts';

export type NewProject = { readonly name: string; readonly slug: string; readonly plan: Plan };
type ProjectChange = {
  readonly name?: string | undefined;
  readonly plan?: Plan | undefined;
};
/** Serves visitors while it is the newest that succeeded. `upstreamCa`: PEM. */
type NewDeploy = {
  readonly status: DeployStatus;
  readonly upstream: string;
  readonly upstreamCa?: string | undefined;
};

/** Ids must be UUIDs; otherwise the call rejects. */
export type ProjectStore = {
  /** Oldest first: all, or those with exactly this host name attached. */
  list(hostname?: string): Promise<Project[]>;
  find(id: string): Promise<Project | null>;
  /** Null if the slug is taken. */
  create(project: NewProject): Promise<Project | null>;
  update(id: string, change: ProjectChange): Promise<Project | null>;
  /** A succeeded deploy sets `deployedAt`, which makes the project publishable. */
  addDeploy(projectId: string, deploy: NewDeploy, at: Date): Promise<Deploy | null>;
  /** The new key signs from `at` on; the previous one also signs for a day. */
  rotateSigning(id: string, at: Date): Promise<Project | null>;
};

/** `addDeploy` is one transaction; every other call is one statement. */
export function createProjectStore(prisma: PrismaClient): ProjectStore {
  return {
    list: (hostname) =>
      prisma.project.findMany({
        ...(hostname !== undefined && {
          where: { domains: { some: { hostname, removedAt: null } } },
        }),
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      }),
    find: (id) => prisma.project.findUnique({ where: { id } }),
    async create({ name, slug, plan }) {
      const [created] = await prisma.project.createManyAndReturn({
        data: [{ id: randomUUID(), name, slug, plan }],
        skipDuplicates: true,
      });
      return created ?? null;
    },
    async update(id, { name, plan }) {
      const [updated] = await prisma.project.updateManyAndReturn({
        where: { id },
        data: { ...(name !== undefined && { name }), ...(plan !== undefined && { plan }) },
      });
      return updated ?? null;
    },
    addDeploy: (projectId, { status, upstream, upstreamCa }, at) =>
      prisma.$transaction(async (tx) => {
        if ((await tx.project.findUnique({ where: { id: projectId } })) === null) return null;
        if (status === 'succeeded') {
          await tx.project.update({ where: { id: projectId }, data: { deployedAt: at } });
        }
        return tx.deploy.create({
          // createdAt is the database's, so that the newest deploy does not depend on a process's
          // clock.
          data: { id: randomUUID(), projectId, status, upstream, upstreamCa: upstreamCa ?? null },
        });
      }),
    async rotateSigning(id, at) {
      const [rotated] = await prisma.project.updateManyAndReturn({
        where: { id },
        data: { signingGeneration: { increment: 1 }, signingRotatedAt: at },
      });
      return rotated ?? null;
    },
  };
}
