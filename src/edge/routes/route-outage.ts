/** Whether the database is available, as seen by lookups. */
import type { MemoryVerdict } from '../../core/operations/route-memory.ts';
import type { EdgeLog } from '../edge-service.ts';

export type RouteOutage = {
  /** A lookup failed or timed out. */
  readonly begin: (fault: unknown) => void;
  readonly end: () => void;
  /** Whether to use a cached entry at once, without waiting for the database. */
  readonly isBridged: (verdict: MemoryVerdict) => boolean;
  /** The same after a failed lookup, which can require a check of the database. */
  readonly mayBridge: (verdict: MemoryVerdict) => Promise<boolean>;
  /** If true, the caller must retry now. */
  readonly claimRetry: () => boolean;
};

type OutageParts = {
  /** Of the database: routes cannot change until it is back. Never rejects. */
  readonly isAway: () => Promise<boolean>;
  readonly log: EdgeLog;
  readonly clock: () => number;
};

/** `retryMs`: between two retries, and between two checks of the database. */
export function createRouteOutage(parts: OutageParts, retryMs: number): RouteOutage {
  const { log, clock } = parts;
  let triedAt: number | null = null;
  let isAway = false;
  let probedAt = Number.NEGATIVE_INFINITY;
  let probing: Promise<boolean> | null = null;

  function probe(): void {
    if (probing !== null || clock() - probedAt < retryMs) return;
    probedAt = clock();
    probing = parts.isAway().then((found) => {
      probing = null;
      isAway = found && triedAt !== null; // a lookup may have succeeded in the meantime
      return isAway;
    });
  }

  return {
    begin(err) {
      if (triedAt === null) log.warn({ err }, 'routes cannot be read; cached ones stay in use');
      triedAt = clock();
      probe();
    },
    end() {
      if (triedAt !== null) log.warn({}, 'routes can be read again');
      triedAt = null;
      isAway = false;
    },
    isBridged: (verdict) => triedAt !== null && (verdict === 'ask' || isAway),
    mayBridge: async (verdict) => verdict === 'ask' || (probing ?? isAway),
    claimRetry() {
      if (triedAt === null || clock() - triedAt < retryMs) return false;
      triedAt = clock();
      probe();
      return true;
    },
  };
}
