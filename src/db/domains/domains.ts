/** User actions on domains. Jobs load and save through checks.ts. */
import { randomUUID } from 'node:crypto';
import type { Access, Installation } from '../../core/access.ts';
import { decide, firstChange } from '../../core/life/decide.ts';
import { isServed } from '../../core/life/lifecycle.ts';
import {
  type Metadata,
  type MetadataChange,
  type MetadataProblem,
  mergeMetadata,
  metadataIn,
} from '../../core/metadata.ts';
import { recordFor } from '../../core/names/instructions.ts';
import { isInUse, type SettingsUse, usesOf } from '../../core/names/redirects.ts';
import { andVisible, ofVisibleProject, visibleProject } from '../access.ts';
import type { Tx } from '../engine/transaction.ts';
import { about, countRepetition, type EventRow, loadTimeline, recordEvents } from '../events.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { closeEscalation } from '../issuance/escalations.ts';
import { endOrders, lockOrders } from '../issuance/orders.ts';
import type { ListRange, Page } from '../page.ts';
import { commit, commitFirst, loadLocked, saveMetadata } from './commit.ts';
import {
  type DomainDetails,
  type DomainFilters,
  detailsIn,
  findDetails,
  loadDomainPage,
} from './domain-list.ts';
import { type DomainRow, heldInSql } from './domain-row.ts';
import { dropFromSettings, loadSettings, lockProject } from './domain-settings.ts';
import { reportClaim } from './transitions.ts';

type DomainName = { readonly projectId: string; readonly hostname: string };

type RemovalHow = {
  readonly at: Date;
  /**
   * What to do with settings that refer to the domain; default `refuse`. `drop_unless_served` refuses
   * a live or drifted domain.
   */
  readonly orphans?: 'refuse' | 'drop' | 'drop_unless_served' | undefined;
};

export type NewDomain = {
  readonly projectId: string;
  readonly hostname: string;
  readonly target: string;
  readonly metadata?: Metadata;
};

/** Its jobs change nothing anymore. */
export type EndedEpoch = { readonly id: string; readonly epoch: number };

/** `removed`: its order, escalation and settings ended in the same transaction. */
type Removal =
  | ({ readonly kind: 'removed' } & EndedEpoch)
  | { readonly kind: 'removed_before' }
  /** It is live or drifted; nothing changed. */
  | { readonly kind: 'served' }
  /** It is the primary domain, or others redirect to it; nothing changed. */
  | ({ readonly kind: 'in_use' } & SettingsUse);

/** Every write is one transaction with its events. Several projects can have the same name. */
export type DomainStore = {
  /** In the order in which they were added. */
  list(access: Access, filters: DomainFilters, page: ListRange): Promise<Page<DomainDetails>>;
  find(access: Access, projectId: string, hostname: string): Promise<DomainDetails | null>;
  /** Not a removed one. */
  findById(access: Access, id: string): Promise<DomainDetails | null>;
  /** Null if the project already has it. Each addition has a new ID. */
  add(access: Access, domain: NewDomain, at: Date): Promise<DomainDetails | null>;
  /**
   * A pending or failed domain starts a new window, and `ended` is the previous epoch. Any other is
   * due for a check, and a running check becomes stale.
   */
  requestVerify(
    access: Access,
    projectId: string,
    hostname: string,
    at: Date,
  ): Promise<{ domain: DomainDetails; ended: EndedEpoch | null } | null>;
  remove(access: Access, name: DomainName, how: RemovalHow): Promise<Removal | null>;
  /** Newest first, also of removed ones with this name; null if the project never had it. */
  timeline(
    access: Access,
    projectId: string,
    hostname: string,
    page: ListRange<bigint>,
  ): Promise<Page<EventRow, bigint> | null>;
  /** Null if it is not attached. `MetadataProblem`: nothing changed. */
  updateMetadata(
    access: Access,
    projectId: string,
    hostname: string,
    change: MetadataChange,
  ): Promise<DomainDetails | MetadataProblem | null>;
};

/** Written times are the caller's `at`. */
export function createDomainStore(prisma: PrismaClient): DomainStore {
  return {
    list: (access, filters, page) => loadDomainPage(prisma, access, filters, page),
    find: (access, projectId, hostname) =>
      findDetails(prisma, { projectId, hostname, removedAt: null, ...ofVisibleProject(access) }),
    findById: (access, id) =>
      findDetails(prisma, { id, removedAt: null, ...ofVisibleProject(access) }),
    add: (access, domain, at) => prisma.$transaction((tx) => addDomain(tx, access, domain, at)),
    requestVerify: (access, projectId, hostname, at) =>
      prisma.$transaction((tx) => requestVerify(tx, access, { projectId, hostname }, at)),
    remove: (access, name, how) => prisma.$transaction((tx) => removeDomain(tx, access, name, how)),
    async timeline(access, projectId, hostname, page) {
      const additions = await prisma.domain.findMany({
        where: { projectId, hostname, ...ofVisibleProject(access) },
        select: { id: true },
      });
      const domainIds = additions.map(({ id }) => id);
      return domainIds.length === 0 ? null : loadTimeline(prisma, access, { domainIds, ...page });
    },
    updateMetadata: (access, projectId, hostname, change) =>
      prisma.$transaction((tx) => updateMetadata(tx, access, { projectId, hostname }, change)),
  };
}

async function addDomain(
  tx: Tx,
  access: Access,
  domain: NewDomain,
  at: Date,
): Promise<DomainDetails | null> {
  // Waits for the project's deletion, and keeps it from starting.
  const visible = andVisible(access, Prisma.sql`id`);
  await tx.$queryRaw`
    SELECT 1 FROM project WHERE id = ${domain.projectId}::uuid ${visible} FOR KEY SHARE`;
  const where = { AND: [{ id: domain.projectId }, visibleProject(access)], deletedAt: null };
  if ((await tx.project.findFirst({ where, select: { id: true } })) === null) return null;
  const id = randomUUID();
  const { metadata = {} } = domain;
  if (!(await commitFirst(tx, { ...domain, metadata, id }, firstChange(at), at))) return null;
  await inheritCertificates(tx, { ...domain, id }, at);
  const record = recordFor(domain);
  const contested = await reportClaim(tx, domain, { isPublished: false, at });
  await recordEvents(tx, [{ type: 'domain.added', domainId: id, record }, ...contested], at);
  return detailsIn(tx, id);
}

/** A usable one of a removed addition is served again, which saves an order. */
async function inheritCertificates(
  tx: Tx,
  { id, projectId, hostname }: DomainName & { readonly id: string },
  at: Date,
): Promise<void> {
  await tx.certificate.updateMany({
    where: {
      domain: { projectId, hostname, removedAt: { not: null } },
      status: 'issued',
      expiresAt: { gt: at },
    },
    data: { domainId: id },
  });
}

async function updateMetadata(
  tx: Tx,
  access: Access,
  name: DomainName,
  change: MetadataChange,
): Promise<DomainDetails | MetadataProblem | null> {
  const row = await findLocked(tx, access, name);
  if (row === null) return null;
  const { id } = row;
  const { metadata } = await tx.domain.findUniqueOrThrow({ where: { id } });
  const merged = mergeMetadata(metadataIn(metadata), change);
  if (typeof merged === 'string') return merged;
  await saveMetadata(tx, id, merged);
  return detailsIn(tx, id);
}

/** The open order stays: the new epoch continues it instead of breaking off a validation. */
async function requestVerify(
  tx: Tx,
  access: Access,
  name: DomainName,
  at: Date,
): Promise<{ domain: DomainDetails; ended: EndedEpoch | null } | null> {
  const row = await findLocked(tx, access, name);
  if (row === null) return null;
  const { id, epoch } = row;
  const change = decide(row, { kind: 'verify_requested' }, at);
  // The new version makes a running check stale, which could otherwise delay the requested one.
  await commit(tx, row, change, at);
  const isRepeated = change.events.length > 0 && (await countRepetition(tx, id, at));
  if (!isRepeated) await recordEvents(tx, about(id, change.events), at);
  const domain = await detailsIn(tx, id);
  return { domain, ended: change.epoch === 'next' ? { id, epoch } : null };
}

async function findLocked(
  tx: Tx,
  access: Access,
  { projectId, hostname }: DomainName,
): Promise<DomainRow | null> {
  const found = await tx.domain.findFirst({
    where: { projectId, hostname, removedAt: null, ...ofVisibleProject(access) },
    select: { id: true },
  });
  return found && loadLocked(tx, found.id);
}

/** Locks the domain, then its project: concurrent changes of the settings wait. */
async function removeDomain(
  tx: Tx,
  access: Access,
  name: DomainName,
  { at, orphans = 'refuse' }: RemovalHow,
): Promise<Removal | null> {
  const { projectId, hostname } = name;
  const row = await findLocked(tx, access, name);
  if (row === null) {
    const where = { ...name, ...ofVisibleProject(access) };
    const known = await tx.domain.findFirst({ where, select: { id: true } });
    return known === null ? null : { kind: 'removed_before' };
  }
  if (isServed(row.state) && orphans === 'drop_unless_served') return { kind: 'served' };
  await lockOrders(tx, row.id, at); // before the project, as a refusal does
  await lockProject(tx, access, projectId);
  const uses = usesOf(await loadSettings(tx, access, projectId), hostname);
  if (isInUse(uses) && orphans === 'refuse') return { kind: 'in_use', ...uses };
  await commit(tx, row, decide(row, { kind: 'removed' }, at), at);
  const dropped = await dropFromSettings(tx, projectId, hostname);
  await endOrders(tx, row.id, { reason: 'The domain was removed.', at });
  const closed = await closeEscalation(tx, row.id, 'domain_removed', at);
  await recordEvents(tx, [{ type: 'domain.removed', ...dropped, domainId: row.id }, ...closed], at);
  return { kind: 'removed', id: row.id, epoch: row.epoch };
}

/** A project holds the host name. Not cached. */
export async function isHeld(
  prisma: PrismaClient,
  _edge: Installation,
  hostname: string,
): Promise<boolean> {
  const rows = await prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM domain
    WHERE hostname = ${hostname} AND removed_at IS NULL
      AND status IN (${heldInSql})`;
  return rows.length > 0;
}

/** Of the project that holds the name, otherwise of the last one that added it. */
export async function findAttached(
  prisma: PrismaClient,
  access: Access,
  hostname: string,
): Promise<{ readonly id: string; readonly target: string } | null> {
  const rows = await prisma.$queryRaw<{ id: string; target: string }[]>`
    SELECT id::text AS id, target FROM domain
    WHERE hostname = ${hostname} AND removed_at IS NULL ${andVisible(access, Prisma.sql`project_id`)}
    ORDER BY status IN (${heldInSql}) DESC, added_at DESC, id
    LIMIT 1`;
  return rows[0] ?? null;
}
