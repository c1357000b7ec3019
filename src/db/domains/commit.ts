/**
 * The only writer of a domain's state, epoch and times. `commit` writes a decision
 * (src/core/life/decide.ts), `schedule` moves a time; checks.ts saves many unchanged checks at
 * once.
 */
import type { DomainChange } from '../../core/life/change.ts';
import type { DomainState, DomainStatus } from '../../core/life/lifecycle.ts';
import type { Tx } from '../engine/transaction.ts';
import type { Prisma } from '../generated/client.ts';
import { type DomainRow, toDomainRow } from './domain-row.ts';

/**
 * The domain's version when the decision was made; the commit succeeds only while it is current.
 */
export type Fence = { readonly id: string; readonly epoch: number; readonly version: number };

/**
 * Writes a change. False, with nothing written, if it is refused, another save came first, or the
 * domain was removed.
 */
export async function commit(
  tx: Tx,
  { id, epoch, version }: Fence,
  change: DomainChange,
  at: Date,
): Promise<boolean> {
  if (change.kind === 'refused') return false;
  const { count } = await tx.domain.updateMany({
    where: { id, epoch, version, removedAt: null },
    data: { ...columnsOf(change, at), version: { increment: 1 } },
  });
  return count > 0;
}

/**
 * Adds a domain: a new row, or a removed one in its next epoch. Returns its id (an existing row
 * keeps its own); null if the project already has it attached.
 */
export async function commitFirst(
  tx: Tx,
  domain: { readonly id: string } & Pick<DomainRow, 'projectId' | 'hostname' | 'target'>,
  change: DomainChange,
  at: Date,
): Promise<string | null> {
  const { to, nextCheckAt, recheckAt, escalateAt } = change;
  const times = { nextCheckAt, recheckAt, escalateAt, addedAt: at, pendingSince: at };
  const fresh = { ...neverYet, ...stateColumns(to), ...times, attempts: 0, findings: [] };
  const data = [{ ...domain, ...fresh, removedAt: null }];
  const [created] = await tx.domain.createManyAndReturn({ data, skipDuplicates: true });
  if (created !== undefined) return created.id;
  const { projectId, hostname } = domain;
  const [revived] = await tx.domain.updateManyAndReturn({
    where: { projectId, hostname, removedAt: { not: null } },
    data: { ...fresh, removedAt: null, epoch: { increment: 1 }, version: { increment: 1 } },
  });
  return revived?.id ?? null;
}

/** When a domain is processed; missing times stay. */
export type Times = {
  readonly nextCheckAt?: Date;
  readonly recheckAt?: Date;
  readonly escalateAt?: Date;
  readonly renewAt?: Date;
  readonly renewalInfoAt?: Date;
};

/**
 * Moves times of a domain that still matches `where`; false if it does not, or was removed. The
 * version stays, so that a running check can still be saved, with its own times.
 */
export async function schedule(
  tx: Tx,
  where: Prisma.DomainWhereInput & { readonly id: string; readonly epoch: number },
  times: Times,
): Promise<boolean> {
  const { count } = await tx.domain.updateMany({
    where: { ...where, removedAt: null },
    data: { ...times, leases: 0 },
  });
  return count > 0;
}

/** Statuses in which a domain is served. */
export const served = ['live', 'drifted'] satisfies readonly DomainStatus[];

/**
 * Loads a row and locks it until the transaction ends. Null if it does not exist or was removed.
 * Before ending an order, lock its domain first, as a removal does, to avoid deadlocks.
 */
export async function loadLocked(tx: Tx, id: string): Promise<DomainRow | null> {
  await tx.$queryRaw`SELECT 1 FROM domain WHERE id = ${id}::uuid FOR UPDATE`;
  return loadAttached(tx, id);
}

/**
 * Loads the row for a caller that already holds its lock. Null if it does not exist or was removed.
 */
export async function loadAttached(tx: Tx, id: string): Promise<DomainRow | null> {
  const row = await tx.domain.findFirst({ where: { id, removedAt: null } });
  return row && toDomainRow(row);
}

/** The columns of a domain that was never checked. */
const neverYet = {
  lastCheckedAt: null,
  verifiedAt: null,
  missedAt: null,
  driftedAt: null,
  failedAt: null,
} as const;

function columnsOf(change: DomainChange, at: Date) {
  const { to, findings, nextCheckAt, recheckAt, escalateAt, served } = change;
  return {
    ...stateColumns(to),
    ...(change.epoch === 'next' && { epoch: { increment: 1 }, ...notServed }),
    ...attemptColumns(change, at),
    findings: [...findings],
    nextCheckAt,
    recheckAt,
    escalateAt,
    ...served,
    leases: 0,
    ...(change.isRemoved && { removedAt: at }),
  };
}

function attemptColumns({ attempts }: DomainChange, at: Date) {
  switch (attempts) {
    case 'counted':
      return { attempts: { increment: 1 }, lastCheckedAt: at };
    case 'reset':
      return { attempts: 0 };
    case 'same':
      return {};
  }
}

/** A domain that is not served has no planned renewal; its next certificate plans one. */
const notServed = { renewAt: null, renewalInfoAt: null } as const;

/** The columns that a state changes; the others keep their history. */
function stateColumns(state: DomainState) {
  switch (state.status) {
    case 'pending':
      return { ...state, verifiedAt: null, missedAt: null, ...notServed };
    case 'verified':
      return { ...state, missedAt: null, ...notServed };
    case 'failed':
      return { ...state, ...notServed };
    case 'live':
    case 'drifted':
      return state;
  }
}
