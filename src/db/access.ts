/** The conditions that keep a query to the projects of an Access. */
import type { Access } from '../core/access.ts';
import { Prisma } from './generated/client.ts';

/** No condition for the installation, so its queries cost what they did without accounts. */
export function visibleProject(access: Access): Prisma.ProjectWhereInput {
  if (access.kind === 'installation') return {};
  const { accountId, projectIds } = access;
  return projectIds === null ? { accountId } : { accountId, id: { in: [...projectIds] } };
}

/** For rows that belong to a project. */
export function ofVisibleProject(access: Access): { readonly project?: Prisma.ProjectWhereInput } {
  return access.kind === 'installation' ? {} : { project: visibleProject(access) };
}

/** `projectId`: the column with the project's ID. */
export function visibleInSql(access: Access, projectId: Prisma.Sql): readonly Prisma.Sql[] {
  if (access.kind === 'installation') return [];
  const { accountId, projectIds } = access;
  const ofAccount = Prisma.sql`${projectId} IN (SELECT id FROM project WHERE account_id = ${accountId}::uuid)`;
  return projectIds === null
    ? [ofAccount]
    : [ofAccount, Prisma.sql`${projectId} = ANY (${[...projectIds]}::uuid[])`];
}

/** ` AND …` at the end of a WHERE clause, or nothing. */
export function andVisible(access: Access, projectId: Prisma.Sql): Prisma.Sql {
  const conditions = visibleInSql(access, projectId);
  if (conditions.length === 0) return Prisma.empty;
  return Prisma.sql`AND ${Prisma.join([...conditions], ' AND ')}`;
}
