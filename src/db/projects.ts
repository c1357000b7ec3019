/** Projects and their deploys. */
import { randomUUID } from 'node:crypto';
import type { Access, GrantedAccountId, GrantedProjectId } from '../core/accounts/access.ts';
import type { Deploy, DeployStatus, Plan, Project } from '../core/records.ts';
import { lockProject } from './domains/domain-settings.ts';
import { createdAfter, firstPage, type PageQuery } from './engine/page.ts';
import type { Tx } from './engine/transaction.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** A project that an access reaches: its id lets the stores of its things be called. */
export type GrantedProject = Project & { readonly id: GrantedProjectId };

/** A project to be stored; no other one of its account may have its `slug`. */
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
  /** Oldest first, a page of what the access reaches; `hostname`: of those that have exactly this one attached. */
  list(
    access: Access,
    query?: { readonly hostname?: string | undefined; readonly page?: PageQuery },
  ): Promise<GrantedProject[]>;
  /** Null where there is no such project, and where the access does not reach it. */
  find(access: Access, id: string): Promise<GrantedProject | null>;
  /** Those of these projects that the access reaches, in any order. */
  among(access: Access, ids: readonly string[]): Promise<GrantedProjectId[]>;
  /** Null where the slug is taken. */
  create(accountId: GrantedAccountId, project: NewProject): Promise<GrantedProject | null>;
  /** Null where the project is gone. */
  update(id: GrantedProjectId, change: ProjectChange): Promise<GrantedProject | null>;
  /**
   * Null where the project is gone. A succeeded deploy sets `deployedAt`, which makes the project publishable. The newest 100
   * are kept, and the one that visitors are sent to.
   */
  addDeploy(projectId: GrantedProjectId, deploy: NewDeploy, at: Date): Promise<Deploy | null>;
  /** Null where the project is gone. The next key signs from `at` on; the one before it for a day more. */
  rotateSigning(id: GrantedProjectId, at: Date): Promise<GrantedProject | null>;
};

/** What restricts a query to the projects that an access reaches. */
export function projectsWithin(access: Access): Prisma.ProjectWhereInput {
  if (access.kind === 'installation') return {};
  const { accountId, projectIds } = access;
  return { accountId, ...(projectIds !== null && { id: { in: [...projectIds] } }) };
}

/**
 * Our choice: older ones are nobody's to see, and whoever looks for the one that is served passes those that failed since.
 */
const DEPLOYS_KEPT = 100;
/** So that no report takes long where there are more, as of before there was a bound. */
const DROPPED_AT_ONCE = 1_000;

/** `addDeploy` is one transaction; every other call is one statement. */
export function createProjectStore(prisma: PrismaClient): ProjectStore {
  return {
    async list(access, { hostname, page: { after, limit } = firstPage } = {}) {
      const named = hostname !== undefined && { domains: { some: { hostname, removedAt: null } } };
      const found = await prisma.project.findMany({
        where: { AND: [projectsWithin(access), { ...named }, createdAfter(after)] },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit,
      });
      return found.map(grant);
    },
    async find(access, id) {
      // `AND`, because the access may restrict the id as well.
      const found = await prisma.project.findFirst({
        where: { AND: [{ id }, projectsWithin(access)] },
      });
      return found && grant(found);
    },
    async among(access, ids) {
      const where = { AND: [{ id: { in: [...ids] } }, projectsWithin(access)] };
      const found = await prisma.project.findMany({ where, select: { id: true } });
      return found.map(({ id }) => id as GrantedProjectId);
    },
    async create(accountId, { name, slug, plan }) {
      const [created] = await prisma.project.createManyAndReturn({
        data: [{ id: randomUUID(), accountId, name, slug, plan }],
        skipDuplicates: true,
      });
      return created === undefined ? null : grant(created);
    },
    async update(id, { name, plan }) {
      const [updated] = await prisma.project.updateManyAndReturn({
        where: { id },
        data: { ...(name !== undefined && { name }), ...(plan !== undefined && { plan }) },
      });
      return updated === undefined ? null : grant(updated);
    },
    addDeploy: (projectId, deploy, at) =>
      prisma.$transaction((tx) => addDeploy(tx, projectId, deploy, at)),
    async rotateSigning(id, at) {
      const [rotated] = await prisma.project.updateManyAndReturn({
        where: { id },
        data: { signingGeneration: { increment: 1 }, signingRotatedAt: at },
      });
      return rotated === undefined ? null : grant(rotated);
    },
  };
}

/** Those of one project come one after the other, so that two of them never drop the same rows. */
async function addDeploy(
  tx: Tx,
  projectId: GrantedProjectId,
  { status, upstream, upstreamCa }: NewDeploy,
  at: Date,
): Promise<Deploy | null> {
  await lockProject(tx, projectId);
  if ((await tx.project.findUnique({ where: { id: projectId } })) === null) return null;
  if (status === 'succeeded') {
    await tx.project.update({ where: { id: projectId }, data: { deployedAt: at } });
  }
  // createdAt is the database's: the newest deploy must not depend on whose clock is ahead.
  const added = await tx.deploy.create({
    data: { id: randomUUID(), projectId, status, upstream, upstreamCa: upstreamCa ?? null },
  });
  await dropOldDeploys(tx, projectId);
  return added;
}

async function dropOldDeploys(tx: Tx, projectId: GrantedProjectId): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM deploy WHERE id IN (
      SELECT id FROM deploy WHERE project_id = ${projectId}::uuid
      ORDER BY created_at DESC OFFSET ${DEPLOYS_KEPT} LIMIT ${DROPPED_AT_ONCE})
    AND id <> ALL (ARRAY(
      SELECT id FROM deploy WHERE project_id = ${projectId}::uuid AND status = 'succeeded'
      ORDER BY created_at DESC LIMIT 1))`;
}

/** Called where the access has been checked, by the query itself. */
function grant(project: Project): GrantedProject {
  return { ...project, id: project.id as GrantedProjectId };
}
