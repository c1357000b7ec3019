/** What was acknowledged and what failed, as seen by the clients. */

export type Failure = {
  /** performance.now() at its start. */
  readonly at: number;
  readonly who: 'api' | 'visitor';
  readonly what: string;
  /** 0: no response. */
  readonly status: number;
};

/** `unknown`: a request about it got no response, so either may hold. */
type WriteState = 'attached' | 'removed' | 'unknown';

export type DomainWrite = {
  readonly projectId: string;
  readonly hostname: string;
  state: WriteState;
};

export type Ledger = {
  readonly pets: Map<number, string>;
  readonly domains: Map<string, DomainWrite>;
  readonly projects: Set<string>;
  readonly failures: Failure[];
  /** Duration of each answered API request in ms, with its start. */
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
