import type { Finding } from '../../core/diagnosis/findings.ts';
import type { Observation } from '../../core/diagnosis/observation.ts';
import type { CheckedDomain } from '../../core/life/check.ts';
import {
  type DomainState,
  type DomainStatus,
  heldStatuses,
  servedStatuses,
} from '../../core/life/lifecycle.ts';
import type { DomainRecord } from '../../core/records.ts';
import { Prisma } from '../generated/client.ts';

/** What a job loads of its domain. A save succeeds only while epoch and version are as loaded. */
export type LoadedDomain = CheckedDomain & {
  /** Of the last full check. */
  readonly observation: Observation | null;
} & Pick<
    DomainRecord,
    | 'id'
    | 'projectId'
    | 'hostname'
    | 'target'
    | 'epoch'
    | 'version'
    | 'attempts'
    | 'lastCheckedAt'
    | 'nextCheckAt'
    | 'recheckAt'
  >;

/** The observation has its own table. */
export type DomainRow = Omit<LoadedDomain, 'observation'>;

type StateColumns = Pick<
  DomainRecord,
  'status' | 'pendingSince' | 'verifiedAt' | 'missedAt' | 'driftedAt' | 'failedAt'
>;

type Columns = Omit<DomainRow, 'state' | 'findings'> &
  StateColumns &
  Pick<DomainRecord, 'findings'>;

export function toDomainRow(row: Columns): DomainRow {
  return toLoadedDomain({ ...row, observation: null });
}

/** Field by field: every check calls this, and a spread would copy twice. */
export function toLoadedDomain(row: Columns & { readonly observation: unknown }): LoadedDomain {
  return {
    id: row.id,
    projectId: row.projectId,
    hostname: row.hostname,
    target: row.target,
    epoch: row.epoch,
    version: row.version,
    attempts: row.attempts,
    lastCheckedAt: row.lastCheckedAt,
    nextCheckAt: row.nextCheckAt,
    recheckAt: row.recheckAt,
    escalateAt: row.escalateAt,
    certificateEndsAt: row.certificateEndsAt,
    watchedUntil: row.watchedUntil,
    state: toState(row),
    findings: row.findings as readonly Finding[], // only written here, always from Finding[]
    observation: observationIn(row.observation),
  };
}

/** Null if none is stored. */
export function observationIn(stored: unknown): Observation | null {
  return (stored ?? null) as Observation | null; // only written from an Observation
}

/** If the state's own time is missing, uses `pendingSince`. */
function toState(row: StateColumns): DomainState {
  const { status, pendingSince } = row;
  switch (status) {
    case 'pending':
      return { status, pendingSince };
    case 'verified':
      return { status, verifiedAt: row.verifiedAt ?? pendingSince };
    case 'live':
      return { status, missedAt: row.missedAt };
    case 'drifted':
      return { status, driftedAt: row.driftedAt ?? pendingSince };
    case 'failed':
      return { status, failedAt: row.failedAt ?? pendingSince };
  }
}

/** For `IN (…)`. As text instead of a parameter, so that partial indexes match. */
export function statusList(statuses: readonly DomainStatus[]): string {
  return statuses.map((status) => `'${status}'`).join(', ');
}

export const servedInSql = Prisma.raw(statusList(servedStatuses));
export const heldInSql = Prisma.raw(statusList(heldStatuses));
