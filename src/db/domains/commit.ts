/**
 * The one writer of what a domain is: its state, epoch and times. `commit` writes a decision (src/core/life/decide.ts) and
 * `schedule` moves a time; checks.ts writes the same for many checks at once that moved nothing.
 */
import type { Change } from '../../core/life/change.ts';
import type { DomainState, DomainStatus } from '../../core/life/lifecycle.ts';
import type { Tx } from '../engine/transaction.ts';
import type { Prisma } from '../generated/client.ts';
import { type DomainRow, toDomainRow } from './domain-row.ts';

/** The version of a domain that a decision was made from; it is committed only while the domain is still that. */
export type Fence = { readonly id: string; readonly epoch: number; readonly version: number };

/** Writes a change. False, with nothing written, where it is refused, another one came first, or the domain was removed. */
export async function commit(
  tx: Tx,
  { id, epoch, version }: Fence,
  change: Change,
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
 * Adds a domain: as a new row, or a removed one that comes back in its next epoch. Returns its id, which for one that comes
 * back is not the given one; null where the project has it attached already.
 */
export async function commitFirst(
  tx: Tx,
  domain: { readonly id: string } & Pick<
    DomainRow,
    'projectId' | 'hostname' | 'target' | 'claimNonce'
  >,
  change: Change,
  at: Date,
): Promise<string | null> {
  const { to, nextCheckAt, recheckAt, escalateAt } = change;
  const times = { nextCheckAt, recheckAt, escalateAt, addedAt: at, pendingSince: at };
  const { projectId, hostname, claimNonce } = domain;
  const claim = { claimNonce, arrival: change.arrival };
  const fresh = { ...neverYet, ...stateColumns(to), ...times, ...claim, attempts: 0, findings: [] };
  const data = [{ ...domain, ...fresh, removedAt: null }];
  const [created] = await tx.domain.createManyAndReturn({ data, skipDuplicates: true });
  if (created !== undefined) return created.id;
  const [revived] = await tx.domain.updateManyAndReturn({
    where: { projectId, hostname, removedAt: { not: null } },
    data: { ...fresh, removedAt: null, epoch: { increment: 1 }, version: { increment: 1 } },
  });
  return revived?.id ?? null;
}

/** When a domain is worked on; a time that is missing stays as it is. */
export type Times = {
  readonly nextCheckAt?: Date;
  readonly recheckAt?: Date;
  readonly escalateAt?: Date;
  readonly renewAt?: Date;
  readonly renewalInfoAt?: Date;
};

/**
 * Moves times of a domain that still matches `where`; false where it does not, or was removed. The version stays the same,
 * so that a check under way is saved all the same, with the times that it decides.
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

/**
 * Makes checks of live and drifted domains due at a time, where they are not due before. Returns whose are; one that is being
 * saved at this moment is left out rather than waited for. The version stays the same, as above.
 */
export async function bringForward(
  tx: Tx,
  ids: readonly string[],
  at: Date,
): Promise<readonly string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    WITH found AS (
      SELECT id FROM domain
      WHERE id = ANY(${ids}::uuid[]) AND status IN ('live', 'drifted') AND removed_at IS NULL
      ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE domain SET recheck_at = LEAST(recheck_at, ${at}) FROM found WHERE domain.id = found.id
    RETURNING domain.id::text`;
  return rows.map(({ id }) => id);
}

/** The statuses in which a domain counts as served: its certificate is in use. */
export const served = ['live', 'drifted'] satisfies readonly DomainStatus[];

/**
 * Loads a row and locks it until the transaction ends, so that a decision made from it is committed. Null where there is
 * none, or it was removed. Whoever ends an order locks its domain first, as a removal does, or the two would wait for each
 * other.
 */
export async function loadLocked(tx: Tx, id: string): Promise<DomainRow | null> {
  await tx.$queryRaw`SELECT 1 FROM domain WHERE id = ${id}::uuid FOR UPDATE`;
  return loadAttached(tx, id);
}

/** The row, for a caller that holds its lock already. Null where there is none, or it was removed. */
export async function loadAttached(tx: Tx, id: string): Promise<DomainRow | null> {
  const row = await tx.domain.findFirst({ where: { id, removedAt: null } });
  return row && toDomainRow(row);
}

/** What a domain has that was never checked. */
const neverYet = {
  lastCheckedAt: null,
  verifiedAt: null,
  missedAt: null,
  driftedAt: null,
  failedAt: null,
} as const;

function columnsOf(change: Change, at: Date) {
  const { to, findings, arrival, nextCheckAt, recheckAt, escalateAt, served } = change;
  return {
    ...stateColumns(to),
    ...(change.epoch === 'next' && { epoch: { increment: 1 }, ...notServed }),
    ...attemptColumns(change, at),
    findings: [...findings],
    arrival,
    nextCheckAt,
    recheckAt,
    escalateAt,
    ...served,
    leases: 0,
    // A record that is left behind proves nothing: the next claim has another nonce.
    ...(change.isRemoved && { removedAt: at, claimNonce: null }),
  };
}

function attemptColumns({ attempts }: Change, at: Date) {
  switch (attempts) {
    case 'counted':
      return { attempts: { increment: 1 }, lastCheckedAt: at };
    case 'reset':
      return { attempts: 0 };
    case 'same':
      return {};
  }
}

/** A domain that is not served has no renewal planned; the next certificate that it gets plans one. */
const notServed = { renewAt: null, renewalInfoAt: null } as const;

/** The columns that a state changes; the others keep what they say about the past. */
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
