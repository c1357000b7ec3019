/**
 * Accounts share the database connections and the CPU of a process: each has its own line of
 * requests, and the lines take turns. So a flood of one account waits for itself.
 */

import type { Access } from '../../core/access.ts';

/** Leaves the place; idempotent. */
export type Leave = () => void;

export type Turns = {
  /** Waits for a place. Call the result once the work has ended. */
  take(account: string): Promise<Leave>;
};

type AccountLine = { running: number; readonly waiting: ((leave: Leave) => void)[] };

type TurnLimits = {
  /** Requests at once. */
  readonly places: number;
  /** Of one account, while others had requests within SHARED_MS. The installation has half of all. */
  readonly placesWhenShared: number;
  /**
   * While others had requests, an account's line pauses after a request for as long as that took, so that
   * it has at most half of the CPU; up to this time. 0: never.
   */
  readonly restMsMax: number;
};

/** Long enough that a customer who calls now and then finds free places. */
const SHARED_MS = 5_000;

const INSTALLATION = '';

/** Operators and the platform's own backend share a line. */
export function lineOf(access: Access): string {
  return access.kind === 'account' ? access.accountId : INSTALLATION;
}

/** Whether others than an account had requests within SHARED_MS. `now`: monotonic, in milliseconds. */
function noteAccounts(now: () => number) {
  let newest = { account: '', at: -Infinity };
  let newestOther = newest;
  return {
    note(account: string): void {
      if (newest.account !== account) newestOther = newest;
      newest = { account, at: now() };
    },
    isShared(account: string): boolean {
      const other = newest.account === account ? newestOther : newest;
      return now() - other.at < SHARED_MS;
    },
  };
}

/** A line without requests takes no memory. */
export function createTurns(
  { places, placesWhenShared, restMsMax }: TurnLimits,
  now = () => performance.now(),
): Turns {
  /** In the order of their last turns. */
  const lines = new Map<string, AccountLine>();
  const accounts = noteAccounts(now);
  let running = 0;

  function mostOf(account: string): number {
    if (!accounts.isShared(account)) return places;
    return account === INSTALLATION ? places / 2 : placesWhenShared;
  }

  /** The line with a free place that has the fewest; of equal ones, the one whose turn is longest ago. */
  function next(): [string, AccountLine] | undefined {
    const ready = [...lines].filter(
      ([account, line]) => line.waiting.length > 0 && line.running < mostOf(account),
    );
    const fewest = Math.min(...ready.map(([, line]) => line.running));
    return ready.find(([, line]) => line.running === fewest);
  }

  function serve(): void {
    for (let found = next(); running < places && found !== undefined; found = next()) {
      const [account, line] = found;
      lines.delete(account);
      lines.set(account, line);
      line.running += 1;
      running += 1;
      line.waiting.shift()?.(leaveOf(account, line));
    }
  }

  function leaveOf(account: string, line: AccountLine): Leave {
    const startedAt = now();
    const end = () => {
      line.running -= 1;
      if (line.running === 0 && line.waiting.length === 0) lines.delete(account);
      serve();
    };
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      running -= 1;
      if (restMsMax > 0 && account !== INSTALLATION && accounts.isShared(account)) {
        setTimeout(end, Math.min(now() - startedAt, restMsMax));
        serve();
      } else end();
    };
  }

  return {
    take(account) {
      accounts.note(account);
      const line = lines.get(account) ?? { running: 0, waiting: [] };
      lines.set(account, line);
      return new Promise((resolve) => {
        line.waiting.push(resolve);
        serve();
      });
    },
  };
}
