/** The columns of a domain as the lifecycle understands them, and back. */
import type { Finding } from '../core/diagnosis/findings.ts';
import type { DomainState, DomainStatus } from '../core/lifecycle.ts';
import type { Observation } from '../core/observation.ts';

/** What a job loads of its domain. */
export type LoadedDomain = {
  readonly id: string;
  readonly projectId: string;
  readonly hostname: string;
  readonly target: string;
  /** Fences: a save holds only while both are what was loaded. */
  readonly epoch: number;
  readonly attempts: number;
  readonly state: DomainState;
  readonly findings: readonly Finding[];
  /** The last look in full; null where there was none yet, or one in a shape of before. */
  readonly observation: Observation | null;
  readonly nextCheckAt: Date | null;
  readonly escalateAt: Date | null;
};

type StateColumns = {
  readonly status: DomainStatus;
  readonly pendingSince: Date;
  readonly verifiedAt: Date | null;
  readonly missedAt: Date | null;
};

type Columns = Omit<LoadedDomain, 'state' | 'findings' | 'observation'> &
  StateColumns & { readonly findings: unknown; readonly observation: unknown };

export function toLoadedDomain(row: Columns): LoadedDomain {
  const { id, projectId, hostname, target, epoch, attempts, nextCheckAt, escalateAt } = row;
  return {
    id,
    projectId,
    hostname,
    target,
    epoch,
    attempts,
    nextCheckAt,
    escalateAt,
    state: toState(row),
    findings: row.findings as readonly Finding[], // written by us only, always from Finding[]
    observation: observationIn(row.observation),
  };
}

/** Written by us only, always an Observation; the first ones had no time and no costs. */
function observationIn(stored: unknown): Observation | null {
  const known = typeof stored === 'object' && stored !== null && 'at' in stored && 'cost' in stored;
  return known ? (stored as unknown as Observation) : null; // see above
}

/** The state that the columns spell. A verified domain without its time counts from when it became pending. */
export function toState({ status, pendingSince, verifiedAt, missedAt }: StateColumns): DomainState {
  switch (status) {
    case 'pending':
      return { status, pendingSince };
    case 'verified':
      return { status, verifiedAt: verifiedAt ?? pendingSince };
    case 'live':
      return { status, missedAt };
    case 'drifted':
    case 'failed':
      return { status };
  }
}

/** The columns that a state changes; the others keep what they say about the past. */
export function stateColumns(state: DomainState): Partial<StateColumns> & { status: DomainStatus } {
  switch (state.status) {
    case 'pending':
      return { ...state, verifiedAt: null, missedAt: null };
    case 'verified':
    case 'live':
      return state;
    case 'drifted':
    case 'failed':
      return state;
  }
}
