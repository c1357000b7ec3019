/** Projects and their deploys. */
import { randomUUID } from 'node:crypto';
import type { Deploy, DeployStatus, Plan, Project } from '../core/records.ts';
import type { PrismaClient } from './generated/client.ts';

/** A project to be stored; no other one may have its `slug`. */
export type NewProject = { readonly name: string; readonly slug: string; readonly plan: Plan };
/** What is to change; a missing field stays as it is. */
export type ProjectChange = {
  readonly name?: string | undefined;
  readonly plan?: Plan | undefined;
};
/**
 * `upstream`: the http or https URL that visitors are sent to while this is the project's newest deploy that succeeded.
 * `upstreamCa`: certificates in PEM, where not one that Node.js trusts has signed for it.
 */
export type NewDeploy = {
  readonly status: DeployStatus;
  readonly upstream: string;
  readonly upstreamCa?: string | undefined;
};

/** Ids must be UUIDs: the database refuses any other text, and the call rejects. */
export type ProjectStore = {
  /** Oldest first: all, or those that have exactly this host name attached. */
  list(hostname?: string): Promise<Project[]>;
  /** Null where there is no such project. */
  find(id: string): Promise<Project | null>;
  /** Null where the slug is taken. */
  create(project: NewProject): Promise<Project | null>;
  /** Null where there is no such project. */
  update(id: string, change: ProjectChange): Promise<Project | null>;
  /** Null where there is no such project. A succeeded deploy sets `deployedAt`, which makes the project publishable. */
  addDeploy(projectId: string, deploy: NewDeploy, at: Date): Promise<Deploy | null>;
  /** Null where there is no such project. The next key signs from `at` on; the one before it for a day more. */
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
          // createdAt is the database's: the newest deploy must not depend on whose clock is ahead.
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
