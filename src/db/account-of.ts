import { LRUCache } from 'lru-cache';
import { MINUTE } from '../core/time.ts';
import type { PrismaClient } from './generated/client.ts';

/** Some 100 bytes each. */
const PROJECTS_MAX = 20_000;
/** A moved project takes turns with its former account until then. */
const KNOWN_MS = 10 * MINUTE;

export type AccountOf = (projectId: string) => Promise<string>;

/** The ID of a project's account, at most `KNOWN_MS` old; for a missing project, the project's ID. */
export function createAccountOf(prisma: Pick<PrismaClient, 'project'>): AccountOf {
  const known = new LRUCache<string, string>({ max: PROJECTS_MAX, ttl: KNOWN_MS });
  return async (id) => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const project = await prisma.project.findUnique({ where: { id }, select: { accountId: true } });
    if (project === null) return id;
    known.set(id, project.accountId);
    return project.accountId;
  };
}
