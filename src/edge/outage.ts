/** Whether the database can be asked for routes; and where it cannot, whether it is away, or there and busy. */
import type { MemoryVerdict } from '../core/route-memory.ts';
import type { EdgeDeps } from './deps.ts';

export type Outage = {
  /** A look-up failed, or takes too long. */
  readonly begin: (fault: unknown) => void;
  /** A look-up was answered. */
  readonly end: () => void;
  /** Whether nobody waits for the database: what was judged so is used at once. */
  readonly isBridged: (verdict: MemoryVerdict) => boolean;
  /** The same once a look-up has failed, where it may have to be found out first. */
  readonly mayBridge: (verdict: MemoryVerdict) => Promise<boolean>;
  /** Whether somebody is to try again; then the caller does. */
  readonly takeTurn: () => boolean;
};

type OutageDeps = Pick<EdgeDeps, 'isDatabaseAway' | 'log'> & { readonly clock: () => number };

/** `retryMs`: between two tries, and between two looks whether the database is there. */
export function createOutage({ isDatabaseAway, log, clock }: OutageDeps, retryMs: number): Outage {
  let triedAt: number | null = null;
  let isAway = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<boolean> | null = null;

  function look(): void {
    if (looking !== null || clock() - lookedAt < retryMs) return;
    lookedAt = clock();
    looking = isDatabaseAway().then((found) => {
      looking = null;
      isAway = found && triedAt !== null; // it may have answered meanwhile
      return isAway;
    });
  }

  return {
    begin(err) {
      if (triedAt === null) log.warn({ err }, 'routes cannot be read; those known are served on');
      triedAt = clock();
      look();
    },
    end() {
      if (triedAt !== null) log.warn({}, 'routes can be read again');
      triedAt = null;
      isAway = false;
    },
    isBridged: (verdict) => triedAt !== null && (verdict === 'ask' || isAway),
    mayBridge: async (verdict) => verdict === 'ask' || (looking ?? isAway),
    takeTurn() {
      if (triedAt === null || clock() - triedAt < retryMs) return false;
      triedAt = clock();
      look();
      return true;
    },
  };
}
