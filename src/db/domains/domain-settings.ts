/**
 * Replaced under the project's row lock. Removing a domain takes it too, after the domain's own, so
 * settings never name a removed domain. HSTS is written under its domain's lock.
 */

import {
  checkSettings,
  type DomainSettings,
  type Redirect,
  type SettingsRefusal,
} from '../../core/names/redirects.ts';
import type { Hsts } from '../../core/operations/edge-route.ts';
import type { Tx } from '../engine/transaction.ts';
import type { PrismaClient } from '../generated/client.ts';

/** Each call is one transaction. */
export type DomainSettingsStore = {
  /** Redirects keep their order. Empty settings for an unknown project. */
  load(projectId: string): Promise<DomainSettings>;
  /** Null, or the reason with nothing changed. The settings stay locked during `mayReplace`. */
  replace(
    projectId: string,
    settings: DomainSettings,
    mayReplace?: MayReplace,
  ): Promise<NotReplaced | null>;
  /** False if the project does not have the domain attached. */
  putHsts(projectId: string, hostname: string, hsts: Hsts): Promise<boolean>;
  deleteHsts(projectId: string, hostname: string): Promise<void>;
};

/** The caller's precondition; false refuses with `precondition_failed`. */
type MayReplace = (current: DomainSettings) => boolean;

type NotReplaced =
  | SettingsRefusal
  | { readonly code: 'precondition_failed'; readonly reason?: undefined };

export function createDomainSettingsStore(prisma: PrismaClient): DomainSettingsStore {
  return {
    load: (projectId) => prisma.$transaction((tx) => loadSettings(tx, projectId)),
    replace: (projectId, settings, mayReplace = () => true) =>
      prisma.$transaction((tx) => replaceSettings(tx, projectId, settings, mayReplace)),
    putHsts: (projectId, hostname, hsts) =>
      prisma.$transaction((tx) => putHsts(tx, { projectId, hostname }, hsts)),
    async deleteHsts(projectId, hostname) {
      await prisma.hsts.deleteMany({ where: { domain: { projectId, hostname } } });
    },
  };
}

async function putHsts(
  tx: Tx,
  { projectId, hostname }: { readonly projectId: string; readonly hostname: string },
  { maxAge, includeSubdomains, preload }: Hsts,
): Promise<boolean> {
  // Waits for a concurrent removal, which would leave the setting behind.
  const [domain] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM domain
    WHERE project_id = ${projectId}::uuid AND hostname = ${hostname} AND removed_at IS NULL
    FOR NO KEY UPDATE`;
  if (domain === undefined) return false;
  const update = { maxAge, includeSubdomains, preload };
  const domainId = domain.id;
  await tx.hsts.upsert({ where: { domainId }, create: { ...update, domainId }, update });
  return true;
}

/** Until the transaction ends. Inserts with a foreign key to the project do not wait. */
export async function lockProject(tx: Tx, projectId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM project WHERE id = ${projectId}::uuid FOR NO KEY UPDATE`;
}

/** One statement, so both are consistent; `json`, unlike `jsonb`, keeps the order of fields. */
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
  // After the lock and in a separate statement, to see what others committed while this one waited.
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
