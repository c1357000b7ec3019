/** What keeps a name's next order back: limits that our own orders have used up, and the last refusal by the authority. */
import type { Access } from '../../core/accounts/access.ts';
import type { BudgetWait } from '../../core/certificates/budget.ts';
import type { PrismaClient } from '../generated/client.ts';
import type { DomainStatus } from '../generated/enums.ts';
import { projectsWithin } from '../projects.ts';
import { type AuthorityBudgets, findBudgetWaits } from './authority-budget.ts';
import { newestUsable, type Problem } from './issue-work.ts';

/** Of a name that is attached. */
export type OrderLimits = {
  /** For each authority in use, in their order; null: it may be asked now. */
  readonly waits: readonly (BudgetWait | null)[];
  /** The newest order where it was refused; `authority`: its directory, null where that was not noted. */
  readonly refused:
    | (Problem & { readonly authority: string | null; readonly at: Date | null })
    | null;
};

type Asked = {
  readonly access: Access;
  readonly hostname: string;
  readonly budgets: AuthorityBudgets;
  readonly now: Date;
};

/** Reads and notes nothing. Null where no project that is reached has the name attached. */
export async function findOrderLimits(
  prisma: PrismaClient,
  { access, hostname, budgets, now }: Asked,
): Promise<OrderLimits | null> {
  const domain = await findAttached(prisma, access, hostname);
  if (domain === null) return null;
  const { id: domainId, projectId, project } = domain;
  const [usable, newest] = await Promise.all([
    prisma.certificate.findFirst(newestUsable({ domainId, source: 'own' }, now)),
    prisma.certificate.findFirst({ where: { domainId }, orderBy: { createdAt: 'desc' } }),
  ]);
  const wanted = { hostname, projectId, accountId: project.accountId, usable };
  return {
    waits: await findBudgetWaits(prisma, budgets, wanted, now),
    refused: refusedOf(newest),
  };
}

/** Whoever holds the name comes first, as in `findAttachedTarget`. */
async function findAttached(prisma: PrismaClient, access: Access, hostname: string) {
  const attached = { hostname, removedAt: null, project: projectsWithin(access) };
  const status = { in: ['verified', 'live', 'drifted'] satisfies DomainStatus[] };
  const select = { id: true, projectId: true, project: { select: { accountId: true } } } as const;
  const orderBy = [{ addedAt: 'desc' as const }, { id: 'asc' as const }];
  return (
    (await prisma.domain.findFirst({ where: { ...attached, status }, select })) ??
    (await prisma.domain.findFirst({ where: attached, orderBy, select }))
  );
}

function refusedOf(
  newest: {
    status: string;
    problem: unknown;
    authority: string | null;
    endedAt: Date | null;
  } | null,
): OrderLimits['refused'] {
  if (newest?.status !== 'failed' || newest.problem === null) return null;
  const problem = newest.problem as Problem; // written by us only
  return { ...problem, authority: newest.authority, at: newest.endedAt };
}
