/**
 * Asks, for one pending name after the other, whom its domain is delegated to. Where that has changed, the new name servers
 * may have the record, while those that are asked for the name show what they always did.
 */
import { MINUTE } from '../../core/time.ts';
import type { Entry } from './entry.ts';

/** Asks for what is due, a little at each call; `now` on the steady clock. */
export type Delegations = { readonly tick: (now: number) => void };

/** What it needs of the watch that it is part of. */
export type DelegationsDeps = {
  /** The names, in the order in which they came; asked for anew whenever all have had their turn. */
  readonly entries: () => Iterable<Entry>;
  /** Resolves with the digest of a name's delegation; null where nobody could tell. */
  readonly lookupDelegation: (hostname: string) => Promise<number | null>;
  readonly onDifference: (entry: Entry) => void;
  /** By how much a laboratory's short window shortens every interval; 1 in production. */
  readonly scale: number;
};

/** Once for each pending name; less often where that are more than the rate allows. Our choice. */
const EVERY_MS = 30 * MINUTE;
/** Questions a second of one process, mostly to the same registries. Our choice. */
const PER_SECOND = 20;
/** So many names are passed over at a time, such as those that are live. */
const SEEN_PER_TICK = 500;

export function createDelegations(deps: DelegationsDeps): Delegations {
  let turn = deps.entries()[Symbol.iterator]();
  let nextAt = 0;
  let isUnderWay = false;

  /** The next one that is due; undefined where there was none among the few that were seen. */
  function take(now: number): Entry | undefined {
    for (let seen = 0; seen < SEEN_PER_TICK; seen++) {
      const { value, done } = turn.next();
      if (done) {
        turn = deps.entries()[Symbol.iterator]();
        return undefined;
      }
      if (value.status === 'pending' && now >= value.delegationDueAt) return value;
    }
    return undefined;
  }

  async function ask(entry: Entry): Promise<void> {
    const digest = await deps.lookupDelegation(entry.hostname);
    if (digest === null || entry.gone) return;
    const before = entry.delegation;
    entry.delegation = digest;
    if (before !== null && before !== digest) deps.onDifference(entry);
  }

  return {
    tick(now) {
      if (now < nextAt || isUnderWay) return;
      const entry = take(now);
      if (entry === undefined) return;
      nextAt = now + 1_000 / PER_SECOND;
      entry.delegationDueAt = now + EVERY_MS * deps.scale;
      isUnderWay = true;
      void ask(entry).finally(() => {
        isUnderWay = false;
      });
    },
  };
}
