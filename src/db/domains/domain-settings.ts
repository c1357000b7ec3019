/**
 * A project's primary domain and its redirects. Both are read and replaced under the project's row lock, which removal of
 * a domain takes as well (after the domain's own), so settings never name a domain that is gone.
 */

import {
  checkSettings,
  type DomainSettings,
  type Redirect,
  type SettingsRefusal,
} from '../../core/names/redirects.ts';
import type { Tx } from '../engine/transaction.ts';
import type { PrismaClient } from '../generated/client.ts';

export type DomainSettingsStore = {
  /** In the order in which the redirects were given. Without any, for a project that does not exist. */
  load(projectId: string): Promise<DomainSettings>;
  /**
   * Puts these in the place of all that were there, or changes nothing and says why. `mayReplace` is asked first, of what is
   * there, which nothing else changes until these are stored.
   */
  replace(
    projectId: string,
    settings: DomainSettings,
    mayReplace?: MayReplace,
  ): Promise<NotReplaced | null>;
};

export type MayReplace = (current: DomainSettings) => boolean;

export type NotReplaced =
  | SettingsRefusal
  | { readonly code: 'precondition_failed'; readonly reason?: undefined };

export function createDomainSettingsStore(prisma: PrismaClient): DomainSettingsStore {
  return {
    load: (projectId) => prisma.$transaction((tx) => loadSettings(tx, projectId)),
    replace: (projectId, settings, mayReplace = () => true) =>
      prisma.$transaction((tx) => replaceSettings(tx, projectId, settings, mayReplace)),
  };
}

/** The lock that numbering a project's events takes, too; keys that refer to the project are not in its way. */
export async function lockProject(tx: Tx, projectId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM project WHERE id = ${projectId}::uuid FOR NO KEY UPDATE`;
}

/** One statement, so that primary and redirects are of the same moment; `json` keeps the order of the fields. */
export async function loadSettings(tx: Tx, projectId: string): Promise<DomainSettings> {
  const rows = await tx.$queryRaw<
    { primary: string | null; redirects: readonly Redirect[] }[]
  >`SELECT primary_hostname AS "primary", COALESCE((
        SELECT json_agg(json_build_object('from', from_hostname, 'to', to_hostname, 'status', status) ORDER BY place)
        FROM redirect WHERE project_id = project.id), '[]') AS redirects
      FROM project WHERE id = ${projectId}::uuid`;
  return rows[0] ?? { primary: null, redirects: [] };
}

async function replaceSettings(
  tx: Tx,
  projectId: string,
  settings: DomainSettings,
  mayReplace: MayReplace,
): Promise<NotReplaced | null> {
  await lockProject(tx, projectId);
  // After the lock, in a statement of its own: what others stored while this one waited is seen.
  if (!mayReplace(await loadSettings(tx, projectId))) return { code: 'precondition_failed' };
  const domains = await tx.domain.findMany({
    where: { projectId, removedAt: null },
    select: { hostname: true },
  });
  const refusal = checkSettings(settings, new Set(domains.map(({ hostname }) => hostname)));
  if (refusal !== null) return refusal;
  const { primary, redirects } = settings;
  await tx.project.updateMany({ where: { id: projectId }, data: { primaryHostname: primary } });
  await tx.redirect.deleteMany({ where: { projectId } });
  await tx.redirect.createMany({
    data: redirects.map(({ from, to, status }, place) => ({
      projectId,
      fromHostname: from,
      toHostname: to,
      status,
      place,
    })),
  });
  return null;
}

/** Drops what names a domain that is removed, and gives it back. The caller holds the project's lock. */
export async function dropFromSettings(
  tx: Tx,
  projectId: string,
  hostname: string,
): Promise<{ readonly primary: boolean; readonly redirects: readonly Redirect[] }> {
  const { count } = await tx.project.updateMany({
    where: { id: projectId, primaryHostname: hostname },
    data: { primaryHostname: null },
  });
  const names = { OR: [{ fromHostname: hostname }, { toHostname: hostname }] };
  const where = { projectId, ...names };
  const dropped = await tx.redirect.findMany({ where, orderBy: { place: 'asc' } });
  await tx.redirect.deleteMany({ where });
  return {
    primary: count > 0,
    redirects: dropped.map(({ fromHostname, toHostname, status }) => ({
      from: fromHostname,
      to: toHostname,
      status,
    })),
  };
}
