/** What people do with domains: add, show, verify, remove. Jobs load and save through checks.ts instead. */
import { randomUUID } from 'node:crypto';
import type { Access, GrantedDomainId, GrantedProjectId } from '../../core/accounts/access.ts';
import { decide, firstChange } from '../../core/life/decide.ts';
import type { DomainStatus, Rules } from '../../core/life/lifecycle.ts';
import { recordFor } from '../../core/names/instructions.ts';
import { isInUse, type SettingsUse, usesOf } from '../../core/names/redirects.ts';
import type { Hsts } from '../../core/operations/edge-route.ts';
import type { Certificate, DomainRecord, Escalation } from '../../core/records.ts';
import { about, type EventRow, loadTimeline, recordEvents } from '../events.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import { endWaitingOf } from '../issuance/budget-waiting.ts';
import { closeEscalation } from '../issuance/escalations.ts';
import { endOrders, lockOrders } from '../issuance/orders.ts';
import { projectsWithin } from '../projects.ts';
import { commit, commitFirst, loadLocked } from './commit.ts';
import { type DomainListQuery, domainPage } from './domain-page.ts';
import type { DomainRow } from './domain-row.ts';
import { dropFromSettings, loadSettings, lockProject } from './domain-settings.ts';

/** A domain with everything that the API shows of it. */
export type DomainDetails = DomainRecord & {
  /** Of the last full check; null where there was none yet. */
  readonly observation: { readonly value: unknown } | null;
  /** Null: its answers say nothing of their own. */
  readonly hsts: Hsts | null;
  /** The open order, the newest that was issued, and the newest that was refused or superseded, as far as there are. */
  readonly certificates: readonly Certificate[];
  /** The open one, if any. */
  readonly escalations: readonly Escalation[];
};

/** A domain that a project attaches. */
export type NewDomain = {
  readonly projectId: GrantedProjectId;
  readonly hostname: string;
  /** The host name that its record must point to. */
  readonly target: string;
  /** Random, and never given twice: what proves an earlier claim proves nothing for this one. */
  readonly claimNonce: string;
};

/** The epoch that ended: its jobs change nothing any more. */
export type EndedEpoch = { readonly id: string; readonly epoch: number };

/** `removed`: its order, its escalation and the settings that named it ended in the same transaction. */
export type Removal =
  | ({ readonly kind: 'removed' } & EndedEpoch)
  /** It is the primary domain, or others redirect to it: nothing was changed. */
  | ({ readonly kind: 'in_use' } & SettingsUse);

/** Every write is one transaction with its events. Another project may have the same host name attached. */
export type DomainStore = {
  /** A page of those that are attached, in the order in which they were added. */
  list(projectId: GrantedProjectId, query?: DomainListQuery): Promise<DomainDetails[]>;
  /** Null where the project does not have it attached. */
  find(projectId: GrantedProjectId, hostname: string): Promise<DomainDetails | null>;
  /** Null where the project has it already. A removed one comes back with its history and a new epoch. */
  add(domain: NewDomain, at: Date): Promise<DomainDetails | null>;
  /**
   * Null where there is no such domain. A pending or failed one starts a new window, and `ended` is the epoch before; any
   * other one is due for a check, and a check under way counts no more.
   */
  requestVerify(
    projectId: GrantedProjectId,
    hostname: string,
    at: Date,
    windowMs: number,
  ): Promise<{ domain: DomainDetails; ended: EndedEpoch | null } | null>;
  /** Null where there was nothing to remove. `orphans`: what becomes of the settings that lead to it. */
  remove(
    projectId: GrantedProjectId,
    hostname: string,
    at: Date,
    orphans?: 'refuse' | 'drop',
  ): Promise<Removal | null>;
  /** Newest first, `limit` at most, also of a removed domain; null where the project never had it. */
  timeline(
    projectId: GrantedProjectId,
    hostname: string,
    limit: number,
  ): Promise<EventRow[] | null>;
};

const escalations = {
  // The enum's order: ordering, issued, failed.
  certificates: { orderBy: [{ status: 'asc' }, { createdAt: 'desc' }], distinct: ['status'] },
  escalations: { where: { closedAt: null } },
} as const satisfies Prisma.DomainInclude;
/** The relations of DomainDetails, for Prisma's `include`; not inside a transaction (detailsIn below says why). */
const details = {
  ...escalations,
  observation: true,
  hsts: true,
} as const satisfies Prisma.DomainInclude;

/** Times that are written are the caller's `at`. */
export function createDomainStore(prisma: PrismaClient): DomainStore {
  return {
    async list(projectId, query = {}) {
      const rows = await prisma.$queryRaw<{ id: string }[]>(domainPage(projectId, query));
      // Those that were removed meanwhile are shown once more: the page is as long as it was found to be.
      return prisma.domain.findMany({
        where: { id: { in: rows.map(({ id }) => id) } },
        include: details,
        orderBy: [{ addedAt: 'asc' }, { id: 'asc' }],
      });
    },
    find: (projectId, hostname) =>
      prisma.domain.findFirst({
        where: { projectId, hostname, removedAt: null },
        include: details,
      }),
    add: (domain, at) => prisma.$transaction((tx) => addDomain(tx, domain, at)),
    requestVerify: (projectId, hostname, at, windowMs) =>
      prisma.$transaction((tx) =>
        requestVerify(tx, { projectId, hostname }, { now: at, windowMs }),
      ),
    remove: (projectId, hostname, at, orphans = 'refuse') =>
      prisma.$transaction((tx) => removeDomain(tx, { projectId, hostname }, at, orphans)),
    async timeline(projectId, hostname, limit) {
      const domain = await prisma.domain.findFirst({ where: { projectId, hostname } });
      return domain && loadTimeline(prisma, domain.id as GrantedDomainId, limit);
    },
  };
}

type Tx = Prisma.TransactionClient;
type Name = { readonly projectId: GrantedProjectId; readonly hostname: string };

async function addDomain(tx: Tx, domain: NewDomain, at: Date): Promise<DomainDetails | null> {
  const id = await commitFirst(tx, { ...domain, id: randomUUID() }, firstChange(at), at);
  if (id === null) return null;
  await tx.hsts.deleteMany({ where: { domainId: id } }); // a version without it may have removed the domain
  const record = recordFor(domain);
  await recordEvents(tx, [{ type: 'domain.added', domainId: id, record }], at);
  return detailsIn(tx, id);
}

/**
 * A domain that there is, with all its details. In steps: Prisma queries all relations at once, but a transaction has one
 * connection, where one would wait.
 */
export async function detailsIn(tx: Tx, id: string): Promise<DomainDetails> {
  const domain = await tx.domain.findUniqueOrThrow({ where: { id }, include: escalations });
  const observation = await tx.storedObservation.findUnique({ where: { domainId: id } });
  const hsts = await tx.hsts.findUnique({ where: { domainId: id } });
  return { ...domain, observation, hsts };
}

/** The open order stays: the new epoch continues it, rather than failing a validation half way. */
async function requestVerify(
  tx: Tx,
  name: Name,
  rules: Rules,
): Promise<{ domain: DomainDetails; ended: EndedEpoch | null } | null> {
  const row = await findLocked(tx, name);
  if (row === null) return null;
  const { id, epoch } = row;
  const change = decide(row, { kind: 'verify_requested' }, rules);
  // A check that is under way could delay the requested one, so the new version makes its save stale.
  await commit(tx, row, change, rules.now);
  await recordEvents(tx, about(id, change.events), rules.now);
  const domain = await detailsIn(tx, id);
  return { domain, ended: change.epoch === 'next' ? { id, epoch } : null };
}

async function findLocked(tx: Tx, { projectId, hostname }: Name): Promise<DomainRow | null> {
  const found = await tx.domain.findFirst({
    where: { projectId, hostname, removedAt: null },
    select: { id: true },
  });
  return found && loadLocked(tx, found.id);
}

/** Locks the domain, then its project: whoever changes the settings waits, and finds the domain gone. */
async function removeDomain(
  tx: Tx,
  name: Name,
  at: Date,
  orphans: 'refuse' | 'drop',
): Promise<Removal | null> {
  const { projectId, hostname } = name;
  const row = await findLocked(tx, name);
  if (row === null) return null;
  await lockOrders(tx, row.id, at); // before the project, as a refusal does
  await lockProject(tx, projectId);
  const uses = usesOf(await loadSettings(tx, projectId), hostname);
  if (isInUse(uses) && orphans === 'refuse') return { kind: 'in_use', ...uses };
  await commit(tx, row, decide(row, { kind: 'removed' }, { now: at, windowMs: 0 }), at);
  const dropped = await dropFromSettings(tx, projectId, hostname);
  await endOrders(tx, row.id, { reason: 'The domain was removed.', at });
  await endWaitingOf(tx, row);
  const closed = await closeEscalation(tx, row.id, 'domain_removed', at);
  await recordEvents(tx, [{ type: 'domain.removed', ...dropped, domainId: row.id }, ...closed], at);
  return { kind: 'removed', id: row.id, epoch: row.epoch };
}

/** Whether a project holds the host name: it is `verified`, `live` or `drifted` there. Asks the database each time. */
export function createIsHeld(prisma: PrismaClient): (hostname: string) => Promise<boolean> {
  return async (hostname) => {
    const rows = await prisma.$queryRaw<unknown[]>`
      SELECT 1 FROM domain
      WHERE hostname = ${hostname} AND removed_at IS NULL
        AND status IN ('verified', 'live', 'drifted')`;
    return rows.length > 0;
  };
}

/**
 * The target of the domain with this host name, of projects that the access reaches: of the one that holds it, else of the
 * one that added it last. Null where none of them has it attached.
 */
export async function findAttachedTarget(
  prisma: PrismaClient,
  access: Access,
  hostname: string,
): Promise<string | null> {
  const attached = { hostname, removedAt: null, project: projectsWithin(access) };
  const select = { target: true } as const;
  const status = { in: ['verified', 'live', 'drifted'] satisfies DomainStatus[] };
  const holder = await prisma.domain.findFirst({ where: { ...attached, status }, select });
  const orderBy = [{ addedAt: 'desc' as const }, { id: 'asc' as const }];
  const found = holder ?? (await prisma.domain.findFirst({ where: attached, orderBy, select }));
  return found?.target ?? null;
}
