/**
 * Replaced under the project's row lock. Removing a domain takes it too, after the domain's own, so
 * settings never name a removed domain. HSTS is written under its domain's lock.
 */

import type { Access } from '../../core/access.ts';
import {
  checkSettings,
  type DomainSettings,
  type Redirect,
  type SettingsRefusal,
} from '../../core/names/redirects.ts';
import type { Hsts } from '../../core/operations/edge-route.ts';
import { andVisible, ofVisibleProject } from '../access.ts';
import type { Tx } from '../engine/transaction.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';

/** Each call is one transaction. */
export type DomainSettingsStore = {
  /** Redirects keep their order. Empty settings for an unknown project. */
  load(access: Access, projectId: string): Promise<DomainSettings>;
  /**
   * Null, or the reason with nothing changed. The settings stay locked during `mayReplace`. Changes
   * nothing for an unknown project.
   */
  replace(
    access: Access,
    projectId: string,
    settings: DomainSettings,
    mayReplace?: MayReplace,
  ): Promise<NotReplaced | null>;
  /** False if the project does not have the domain attached. */
  putHsts(access: Access, projectId: string, hostname: string, hsts: Hsts): Promise<boolean>;
  deleteHsts(access: Access, projectId: string, hostname: string): Promise<void>;
};

/** The caller's precondition; false refuses with `precondition_failed`. */
type MayReplace = (current: DomainSettings) => boolean;

type NotReplaced =
  | SettingsRefusal
  | { readonly code: 'precondition_failed'; readonly reason?: undefined };

export function createDomainSettingsStore(prisma: PrismaClient): DomainSettingsStore {
  return {
    load: (access, projectId) => prisma.$transaction((tx) => loadSettings(tx, access, projectId)),
    replace: (access, projectId, settings, mayReplace = () => true) =>
      prisma.$transaction((tx) => replaceSettings(tx, access, projectId, { settings, mayReplace })),
    putHsts: (access, projectId, hostname, hsts) =>
      prisma.$transaction((tx) => putHsts(tx, access, { projectId, hostname }, hsts)),
    async deleteHsts(access, projectId, hostname) {
      const domain = { projectId, hostname, ...ofVisibleProject(access) };
      await prisma.hsts.deleteMany({ where: { domain } });
    },
  };
}

async function putHsts(
  tx: Tx,
  access: Access,
  { projectId, hostname }: { readonly projectId: string; readonly hostname: string },
  { maxAge, includeSubdomains, preload }: Hsts,
): Promise<boolean> {
  // Waits for a concurrent removal, which would leave the setting behind.
  const [domain] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM domain
    WHERE project_id = ${projectId}::uuid AND hostname = ${hostname} AND removed_at IS NULL
      ${andVisible(access, Prisma.sql`project_id`)}
    FOR NO KEY UPDATE`;
  if (domain === undefined) return false;
  const update = { maxAge, includeSubdomains, preload };
  const domainId = domain.id;
  await tx.hsts.upsert({ where: { domainId }, create: { ...update, domainId }, update });
  return true;
}

/** Until the transaction ends; false if there is no such project. Inserts with a foreign key to the project do not wait. */
export async function lockProject(tx: Tx, access: Access, projectId: string): Promise<boolean> {
  const visible = andVisible(access, Prisma.sql`id`);
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM project WHERE id = ${projectId}::uuid ${visible} FOR NO KEY UPDATE`;
  return rows.length > 0;
}

/** One statement, so both are consistent; `json`, unlike `jsonb`, keeps the order of fields. */
export async function loadSettings(
  tx: Tx,
  access: Access,
  projectId: string,
): Promise<DomainSettings> {
  const rows = await tx.$queryRaw<
    { primary: string | null; redirects: readonly Redirect[] }[]
  >`SELECT primary_hostname AS "primary", COALESCE((
        SELECT json_agg(json_build_object('from', from_hostname, 'to', to_hostname, 'status', status) ORDER BY place)
        FROM redirect WHERE project_id = project.id), '[]') AS redirects
      FROM project WHERE id = ${projectId}::uuid ${andVisible(access, Prisma.sql`id`)}`;
  return rows[0] ?? { primary: null, redirects: [] };
}

type Replacement = { readonly settings: DomainSettings; readonly mayReplace: MayReplace };

async function replaceSettings(
  tx: Tx,
  access: Access,
  projectId: string,
  { settings, mayReplace }: Replacement,
): Promise<NotReplaced | null> {
  if (!(await lockProject(tx, access, projectId))) return null;
  // After the lock and in a separate statement, to see what others committed while this one waited.
  if (!mayReplace(await loadSettings(tx, access, projectId)))
    return { code: 'precondition_failed' };
  const domains = await tx.domain.findMany({
    where: { projectId, removedAt: null, ...ofVisibleProject(access) },
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

/** The caller holds both locks. */
export async function dropFromSettings(
  tx: Tx,
  projectId: string,
  hostname: string,
): Promise<{ readonly primary: boolean; readonly redirects: readonly Redirect[] }> {
  await tx.hsts.deleteMany({ where: { domain: { projectId, hostname } } });
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
