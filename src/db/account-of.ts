import { LRUCache } from 'lru-cache';
import type { PrismaClient } from './generated/client.ts';

/** Some 100 bytes each. */
const PROJECTS_MAX = 20_000;

export type AccountOf = (projectId: string) => Promise<string>;

/** The ID of a project's account, which never changes, so it is read once; of a missing one, its own. */
export function createAccountOf(prisma: Pick<PrismaClient, 'project'>): AccountOf {
  const known = new LRUCache<string, string>({ max: PROJECTS_MAX });
  return async (id) => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const project = await prisma.project.findUnique({ where: { id }, select: { accountId: true } });
    if (project === null) return id;
    known.set(id, project.accountId);
    return project.accountId;
  };
}
