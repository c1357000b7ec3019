/** What people do with domains: add, look, verify, remove. Jobs load and save through checks.ts instead. */
import { randomUUID } from 'node:crypto';
import { type Transition, transition } from '../core/lifecycle.ts';
import { endOrders } from './certificates.ts';
import { stateColumns, toState } from './domain-row.ts';
import { closeEscalation } from './escalations.ts';
import { type EventRow, loadTimeline, tell } from './events.ts';
import type { Certificate, Domain, Escalation, Prisma, PrismaClient } from './generated/client.ts';

export type DomainDetails = Domain & {
  /** The open order first, then issued ones, then refused ones, each newest first; 5 at most. */
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
export type EndedLife = { readonly id: string; readonly epoch: number };

export type DomainStore = {
  list(projectId: string): Promise<DomainDetails[]>;
  find(projectId: string, hostname: string): Promise<DomainDetails | null>;
  /** Null where the project has it already. A removed one comes back with its history and a new epoch. */
  add(domain: NewDomain, at: Date): Promise<DomainDetails | null>;
  /** How many the project added since, oldest first. */
  addedSince(projectId: string, since: Date): Promise<readonly Date[]>;
  /** Null where there is no such domain. Starts a new window where the state allows it; `ended` is the life before. */
  requestVerify(
    projectId: string,
    hostname: string,
    at: Date,
    windowMs: number,
  ): Promise<{ domain: DomainDetails; ended: EndedLife | null } | null>;
  /** The domain's id and the epoch that ended, or null where there was nothing to remove. */
  remove(
    projectId: string,
    hostname: string,
    at: Date,
  ): Promise<{ id: string; epoch: number } | null>;
  /** Newest first, also of a removed domain; null where the project never had it. */
  timeline(projectId: string, hostname: string, limit: number): Promise<EventRow[] | null>;
};

const details = {
  // The enum's order: ordering, issued, failed.
  certificates: { orderBy: [{ status: 'asc' }, { createdAt: 'desc' }], take: 5 },
  escalations: { where: { closedAt: null } },
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
    remove: (projectId, hostname, at) =>
      prisma.$transaction((tx) => removeDomain(tx, { projectId, hostname }, at)),
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
    escalateAt: null,
    removedAt: null,
  } as const;
  const [created] = await tx.domain.createManyAndReturn({
    data: [{ ...domain, ...fresh, id: randomUUID() }],
    skipDuplicates: true,
  });
  const id = created?.id ?? (await reviveRemoved(tx, domain, fresh));
  if (id === null) return null;
  await tell(tx, id, [{ type: 'domain.added' }], at);
  return tx.domain.findUniqueOrThrow({ where: { id }, include: details });
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
): Promise<{ domain: DomainDetails; ended: EndedLife | null } | null> {
  const row = await tx.domain.findFirst({ where: { ...name, removedAt: null } });
  if (row === null) return null;
  const step = transition(toState(row), { kind: 'verify_requested' }, { now: at, windowMs });
  const ended = step.kind === 'moved' && (await startNewLife(tx, row, step, at));
  const domain = await tx.domain.findUniqueOrThrow({ where: { id: row.id }, include: details });
  return { domain, ended: ended ? { id: row.id, epoch: row.epoch } : null };
}

/** The open order stays: the new life continues it, rather than failing a validation half way. */
async function startNewLife(
  tx: Tx,
  row: Domain,
  { to, event }: Extract<Transition, { kind: 'moved' }>,
  at: Date,
): Promise<boolean> {
  const { count } = await tx.domain.updateMany({
    where: { id: row.id, epoch: row.epoch, status: row.status, removedAt: null },
    data: {
      ...stateColumns(to),
      epoch: { increment: 1 },
      attempts: 0,
      nextCheckAt: at,
      escalateAt: null,
    },
  });
  if (count === 0) return false;
  await closeEscalation(tx, row.id, at);
  await tell(tx, row.id, [{ type: event }], at);
  return true;
}

async function removeDomain(tx: Tx, name: Name, at: Date): Promise<EndedLife | null> {
  const [removed] = await tx.domain.updateManyAndReturn({
    where: { ...name, removedAt: null },
    data: { removedAt: at, epoch: { increment: 1 }, nextCheckAt: null, escalateAt: null },
  });
  if (removed === undefined) return null;
  await endOrders(tx, removed.id);
  await closeEscalation(tx, removed.id, at);
  await tell(tx, removed.id, [{ type: 'domain.removed' }], at);
  return { id: removed.id, epoch: removed.epoch - 1 };
}
