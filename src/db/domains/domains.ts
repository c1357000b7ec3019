/** What people do with domains: add, look, verify, remove. Jobs load and save through checks.ts instead. */
import { randomUUID } from 'node:crypto';
import { type Transition, transition } from '../../core/life/lifecycle.ts';
import { recordFor } from '../../core/names/instructions.ts';
import { isInUse, type SettingsUse, usesOf } from '../../core/names/redirects.ts';
import { type EventRow, loadTimeline, recordEvents } from '../events.ts';
import type { Certificate, Domain, Escalation, Prisma, PrismaClient } from '../generated/client.ts';
import { closeEscalation } from '../issuance/escalations.ts';
import { endOrders, lockOrders } from '../issuance/orders.ts';
import { notRenewed, toState } from './domain-row.ts';
import { dropFromSettings, loadSettings, lockProject } from './domain-settings.ts';
import { restart } from './new-life.ts';

export type DomainDetails = Domain & {
  /** The last full check. */
  readonly observation: { readonly value: unknown } | null;
  /** The open order, the newest that was issued, and the newest that was refused or superseded, as far as there are. */
  readonly certificates: readonly Certificate[];
  /** The open one, if any. */
  readonly escalations: readonly Escalation[];
};

export type NewDomain = {
  readonly projectId: string;
  readonly hostname: string;
  readonly target: string;
};

/** The epoch that ended: its jobs change nothing any more. */
export type EndedEpoch = { readonly id: string; readonly epoch: number };

export type Removal =
  | ({ readonly kind: 'removed' } & EndedEpoch)
  /** It is the primary domain, or others redirect to it: nothing was changed. */
  | ({ readonly kind: 'in_use' } & SettingsUse);

export type DomainStore = {
  list(projectId: string): Promise<DomainDetails[]>;
  find(projectId: string, hostname: string): Promise<DomainDetails | null>;
  /** Null where the project has it already. A removed one comes back with its history and a new epoch. */
  add(domain: NewDomain, at: Date): Promise<DomainDetails | null>;
  /** How many the project added since, oldest first. */
  addedSince(projectId: string, since: Date): Promise<readonly Date[]>;
  /**
   * Null where there is no such domain. A pending or failed one starts a new window, and `ended` is the life before; any
   * other one is due for a check, and a check under way counts no more.
   */
  requestVerify(
    projectId: string,
    hostname: string,
    at: Date,
    windowMs: number,
  ): Promise<{ domain: DomainDetails; ended: EndedEpoch | null } | null>;
  /** Null where there was nothing to remove. `orphans`: what becomes of the settings that lead to it. */
  remove(
    projectId: string,
    hostname: string,
    at: Date,
    orphans?: 'refuse' | 'drop',
  ): Promise<Removal | null>;
  /** Newest first, also of a removed domain; null where the project never had it. */
  timeline(projectId: string, hostname: string, limit: number): Promise<EventRow[] | null>;
};

const escalations = {
  // The enum's order: ordering, issued, failed.
  certificates: { orderBy: [{ status: 'asc' }, { createdAt: 'desc' }], distinct: ['status'] },
  escalations: { where: { closedAt: null } },
} as const satisfies Prisma.DomainInclude;
export const details = {
  ...escalations,
  observation: true,
} as const satisfies Prisma.DomainInclude;

export function createDomainStore(prisma: PrismaClient): DomainStore {
  return {
    list: (projectId) =>
      prisma.domain.findMany({
        where: { projectId, removedAt: null },
        include: details,
        orderBy: [{ addedAt: 'asc' }, { id: 'asc' }],
      }),
    find: (projectId, hostname) =>
      prisma.domain.findFirst({
        where: { projectId, hostname, removedAt: null },
        include: details,
      }),
    add: (domain, at) => prisma.$transaction((tx) => addDomain(tx, domain, at)),
    async addedSince(projectId, since) {
      const rows = await prisma.domain.findMany({
        where: { projectId, addedAt: { gt: since } },
        orderBy: { addedAt: 'asc' },
        select: { addedAt: true },
      });
      return rows.map(({ addedAt }) => addedAt);
    },
    requestVerify: (projectId, hostname, at, windowMs) =>
      prisma.$transaction((tx) => requestVerify(tx, { projectId, hostname }, at, windowMs)),
    remove: (projectId, hostname, at, orphans = 'refuse') =>
      prisma.$transaction((tx) => removeDomain(tx, { projectId, hostname }, at, orphans)),
    async timeline(projectId, hostname, limit) {
      const domain = await prisma.domain.findFirst({ where: { projectId, hostname } });
      return domain === null ? null : loadTimeline(prisma, domain.id, limit);
    },
  };
}

type Tx = Prisma.TransactionClient;
type Name = { readonly projectId: string; readonly hostname: string };

async function addDomain(tx: Tx, domain: NewDomain, at: Date): Promise<DomainDetails | null> {
  const fresh = {
    status: 'pending',
    attempts: 0,
    findings: [],
    addedAt: at,
    pendingSince: at,
    nextCheckAt: at,
    lastCheckedAt: null,
    verifiedAt: null,
    missedAt: null,
    driftedAt: null,
    failedAt: null,
    recheckAt: null,
    ...notRenewed,
    escalateAt: null,
    removedAt: null,
  } as const;
  const [created] = await tx.domain.createManyAndReturn({
    data: [{ ...domain, ...fresh, id: randomUUID() }],
    skipDuplicates: true,
  });
  const id = created?.id ?? (await reviveRemoved(tx, domain, fresh));
  if (id === null) return null;
  const record = recordFor(domain);
  await recordEvents(tx, [{ type: 'domain.added', domainId: id, record }], at);
  return detailsIn(tx, id);
}

/** In two steps: Prisma asks for all relations at once, and a transaction has one connection, on which pg lets one wait. */
async function detailsIn(tx: Tx, id: string): Promise<DomainDetails> {
  const domain = await tx.domain.findUniqueOrThrow({ where: { id }, include: escalations });
  const observation = await tx.storedObservation.findUnique({ where: { domainId: id } });
  return { ...domain, observation };
}

async function reviveRemoved(
  tx: Tx,
  { projectId, hostname }: Name,
  fresh: Prisma.DomainUpdateManyMutationInput,
): Promise<string | null> {
  const [revived] = await tx.domain.updateManyAndReturn({
    where: { projectId, hostname, removedAt: { not: null } },
    data: { ...fresh, epoch: { increment: 1 } },
  });
  return revived?.id ?? null;
}

async function requestVerify(
  tx: Tx,
  name: Name,
  at: Date,
  windowMs: number,
): Promise<{ domain: DomainDetails; ended: EndedEpoch | null } | null> {
  const row = await tx.domain.findFirst({ where: { ...name, removedAt: null } });
  if (row === null) return null;
  const step = transition(toState(row), { kind: 'verify_requested' }, { now: at, windowMs });
  const begins = step.kind === 'moved' && step.to.status === 'pending';
  const ended = begins && (await restartDomain(tx, row, step, at));
  if (step.kind === 'moved' && !begins) await takeUpAtOnce(tx, row, at);
  if (step.kind === 'stayed') await checkAtOnce(tx, row, at);
  const domain = await detailsIn(tx, row.id);
  return { domain, ended: ended ? { id: row.id, epoch: row.epoch } : null };
}

/** A served domain keeps its state; the next batch checks it. A check under way would put that off, so it counts no more. */
async function checkAtOnce(tx: Tx, { id, epoch, status }: Domain, at: Date): Promise<void> {
  const where = { id, epoch, status, removedAt: null };
  await tx.domain.updateMany({ where, data: { recheckAt: at, attempts: { increment: 1 } } });
}

/** A verified domain keeps its name, its life and the time of its case; the order's own check comes at once. */
async function takeUpAtOnce(tx: Tx, { id, epoch, status }: Domain, at: Date): Promise<void> {
  const { count } = await tx.domain.updateMany({
    where: { id, epoch, status, removedAt: null },
    data: { nextCheckAt: at, attempts: { increment: 1 } },
  });
  if (count > 0) await recordEvents(tx, [{ type: 'domain.reverify_requested', domainId: id }], at);
}

/** The open order stays: the new life continues it, rather than failing a validation half way. */
async function restartDomain(
  tx: Tx,
  row: Domain,
  { to }: Extract<Transition, { kind: 'moved' }>,
  at: Date,
): Promise<boolean> {
  if (!(await restart(tx, row, to, at))) return false;
  await recordEvents(tx, [{ type: 'domain.reverify_requested', domainId: row.id }], at);
  return true;
}

/** Locks the domain, then its project: whoever changes the settings waits, and finds the domain gone. */
async function removeDomain(
  tx: Tx,
  name: Name,
  at: Date,
  orphans: 'refuse' | 'drop',
): Promise<Removal | null> {
  const { projectId, hostname } = name;
  const [row] = await tx.$queryRaw<{ id: string; epoch: number }[]>`
    SELECT id::text, epoch FROM domain
    WHERE project_id = ${projectId}::uuid AND hostname = ${hostname} AND removed_at IS NULL FOR UPDATE`;
  if (row === undefined) return null;
  await lockOrders(tx, row.id, at); // before the project, as a refusal does
  await lockProject(tx, projectId);
  const uses = usesOf(await loadSettings(tx, projectId), hostname);
  if (isInUse(uses) && orphans === 'refuse') return { kind: 'in_use', ...uses };
  await tx.domain.update({
    where: { id: row.id },
    data: {
      removedAt: at,
      epoch: { increment: 1 },
      nextCheckAt: null,
      recheckAt: null,
      ...notRenewed,
      escalateAt: null,
    },
  });
  const dropped = await dropFromSettings(tx, projectId, hostname);
  await endOrders(tx, row.id, { reason: 'The domain was removed.', at });
  const closed = await closeEscalation(tx, row.id, 'domain_removed', at);
  await recordEvents(tx, [{ type: 'domain.removed', ...dropped, domainId: row.id }, ...closed], at);
  return { kind: 'removed', ...row };
}
