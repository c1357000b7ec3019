/** What was acknowledged, and what went wrong, as the clients saw it. */

export type Failure = {
  /** performance.now() when it was begun. */
  readonly at: number;
  readonly who: 'api' | 'visitor';
  readonly what: string;
  /** 0: no answer. */
  readonly status: number;
};

/** `unknown`: a request about it was not answered, so either may hold. */
type WriteState = 'attached' | 'removed' | 'unknown';

export type DomainWrite = {
  readonly projectId: string;
  readonly hostname: string;
  state: WriteState;
};

export type Ledger = {
  /** Names of acknowledged pets by id. */
  readonly pets: Map<number, string>;
  readonly domains: Map<string, DomainWrite>;
  readonly projects: Set<string>;
  readonly failures: Failure[];
  /** Milliseconds of each answered request to the API, with the time at which it was begun. */
  readonly answered: { readonly at: number; readonly ms: number }[];
};

export function createLedger(): Ledger {
  return {
    pets: new Map(),
    domains: new Map(),
    projects: new Set(),
    failures: [],
    answered: [],
  };
}
