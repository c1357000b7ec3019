/** The only writer of a domain's state, epoch and times, apart from batches in checks.ts. */

import type { DomainChange } from '../../core/life/check.ts';
import type { DomainState } from '../../core/life/lifecycle.ts';
import type { Metadata } from '../../core/metadata.ts';
import type { Tx } from '../engine/transaction.ts';
import type { Prisma } from '../generated/client.ts';
import { type DomainRow, toDomainRow } from './domain-row.ts';

/** A commit succeeds only while `version` is current. */
export type Fence = { readonly id: string; readonly epoch: number; readonly version: number };

/** False, with nothing written: refused, stale or removed. */
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

/** A new row. False if the project already has the domain. */
export async function commitFirst(
  tx: Tx,
  domain: { readonly id: string; readonly metadata: Metadata } & Pick<
    DomainRow,
    'projectId' | 'hostname' | 'target'
  >,
  change: DomainChange,
  at: Date,
): Promise<boolean> {
  const { to, nextCheckAt, recheckAt, escalateAt } = change;
  const times = { nextCheckAt, recheckAt, escalateAt, addedAt: at, pendingSince: at };
  const data = [{ ...domain, ...stateColumns(to), ...times }];
  const { count } = await tx.domain.createMany({ data, skipDuplicates: true });
  return count > 0;
}

/** The caller holds the row's lock. The version stays: a running check can still be saved. */
export async function saveMetadata(tx: Tx, id: string, metadata: Metadata): Promise<void> {
  await tx.domain.update({ where: { id }, data: { metadata } });
}

/** Missing times stay. */
export type Times = {
  readonly nextCheckAt?: Date;
  readonly recheckAt?: Date;
  readonly escalateAt?: Date;
  readonly renewAt?: Date;
  readonly renewalInfoAt?: Date;
};

/** False if no row matches. The version stays, so a running check can still be saved. */
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

/** Null if removed. Before ending an order, lock its domain first, to avoid deadlocks. */
export async function loadLocked(tx: Tx, id: string): Promise<DomainRow | null> {
  await tx.$queryRaw`SELECT 1 FROM domain WHERE id = ${id}::uuid FOR UPDATE`;
  return loadAttached(tx, id);
}

/** The caller holds the row's lock. Null if removed. */
export async function loadAttached(tx: Tx, id: string): Promise<DomainRow | null> {
  const row = await tx.domain.findFirst({ where: { id, removedAt: null } });
  return row && toDomainRow(row);
}

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

const notServed = { renewAt: null, renewalInfoAt: null } as const;

/** Columns of other states keep their history. */
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
