/** The columns of a domain as the lifecycle understands them, and back. */
import type { Finding } from '../../core/diagnosis/findings.ts';
import type { Observation } from '../../core/diagnosis/observation.ts';
import type { DomainState, DomainStatus } from '../../core/life/lifecycle.ts';
import type { Arrival } from '../../core/names/claim.ts';

/** What a job loads of its domain. */
export type LoadedDomain = {
  readonly id: string;
  readonly projectId: string;
  readonly hostname: string;
  /** The host name that its record must point to. */
  readonly target: string;
  /** What the claim's TXT record is made of, new with every claim; null: a claim of before there were any. */
  readonly claimNonce: string | null;
  /** How our addresses came to the name; null: no check of this claim has said so yet. */
  readonly arrival: Arrival | null;
  /** What other projects have, or had, of a name that is live or drifted here; null: nothing, or it was not asked. */
  readonly others: Others | null;
  /** Fences: a save holds only while both are what was loaded. */
  readonly epoch: number;
  readonly version: number;
  /** Checks that ran since it was added, verified again or lost its name. */
  readonly attempts: number;
  readonly state: DomainState;
  readonly findings: readonly Finding[];
  /** Of the last full check; null where there was none yet, or it has the shape of an early version. */
  readonly observation: Observation | null;
  readonly lastCheckedAt: Date | null;
  /** When its own job is due; null where it has none. */
  readonly nextCheckAt: Date | null;
  /** When a batch checks it next; null where none does. */
  readonly recheckAt: Date | null;
  /** When an operator is called for unless a certificate comes; null where none is. */
  readonly escalateAt: Date | null;
  /** When its newest certificate expires; null where it has none. */
  readonly certificateEndsAt: Date | null;
  /** About until when somebody has its page open; null where nobody had. */
  readonly watchedUntil: Date | null;
};

/** `pending`: one of them waits for the name. `held`: one of them had it once. */
export type Others = { readonly pending: boolean; readonly held: boolean };

/** What makes a claim on a host name another one than all others. */
export type Claim = Pick<LoadedDomain, 'projectId' | 'hostname' | 'claimNonce'>;

/** The same without the observation, which stands beside the row. */
export type DomainRow = Omit<LoadedDomain, 'observation'>;

type StateColumns = {
  readonly status: DomainStatus;
  readonly pendingSince: Date;
  readonly verifiedAt: Date | null;
  readonly missedAt: Date | null;
  readonly driftedAt: Date | null;
  readonly failedAt: Date | null;
};

type Columns = Omit<DomainRow, 'state' | 'findings' | 'arrival' | 'others'> &
  StateColumns & {
    readonly findings: unknown;
    readonly arrival: string | null;
    /** Only the check store's statement reads it. */
    readonly others?: Others | null;
  };

/** Converts a row that was loaded without its observation. */
export function toDomainRow(row: Columns): DomainRow {
  return toLoadedDomain({ ...row, observation: null });
}

/** Converts a row with its observation. Field by field, because every check does it and a spread would copy twice. */
export function toLoadedDomain(row: Columns & { readonly observation: unknown }): LoadedDomain {
  return {
    id: row.id,
    projectId: row.projectId,
    hostname: row.hostname,
    target: row.target,
    claimNonce: row.claimNonce,
    arrival: row.arrival as Arrival | null, // written by us only
    others: row.others ?? null,
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
    findings: row.findings as readonly Finding[], // written by us only, always from Finding[]
    observation: observationIn(row.observation),
  };
}

/** Reads the stored observation; null where there is none, or it is one of the first, which had no time and no costs. */
export function observationIn(stored: unknown): Observation | null {
  const known = typeof stored === 'object' && stored !== null && 'at' in stored && 'cost' in stored;
  return known ? (stored as unknown as Observation) : null; // see above
}

/** The state that the columns hold. Where its own time is missing, `pendingSince` takes its place. */
export function toState(row: StateColumns): DomainState {
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
