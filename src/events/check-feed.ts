/** Checks of watched domains, one database query per POLL_MS. Unchanged checks are not events. */
import type { LastCheck } from '../db/domains/watched-domains.ts';
import { every } from './feed.ts';

export type FollowingChecks = {
  /** Null if nothing differs from the previous result. `changed`: the observation differs. */
  next(): (LastCheck & { readonly changed: boolean }) | null;
  /** Call it when the stream ends. Idempotent. */
  end(): void;
};

/** `lastChecks` may reject: the feed logs the first failure and retries after the next pause. */
export type CheckFeedDeps = {
  readonly lastChecks: (ids: readonly string[]) => Promise<readonly LastCheck[]>;
  readonly log: {
    warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  };
  /** The pause between two queries. */
  readonly pollMs?: number;
};

const POLL_MS = 1_000; // a fifth of the wait between two checks of a watched domain

type Watched = { check: LastCheck | null; readonly followers: Set<() => void> };

/** Starts with the first follower and stops with the last. */
export function createCheckFeed({ lastChecks, log, pollMs = POLL_MS }: CheckFeedDeps) {
  const domains = new Map<string, Watched>();
  let isAway = false;

  async function poll(): Promise<void> {
    try {
      // Removed domains are missing here: their followers keep the last known check.
      for (const check of await lastChecks([...domains.keys()]))
        learn(domains.get(check.id), check);
      isAway = false;
    } catch (err) {
      if (!isAway) log.warn({ err }, 'checks are not streamed: the database does not answer');
      isAway = true;
    }
  }

  const polling = every(pollMs, poll, () => domains.size > 0);

  /** Calls `onCheck` whenever `next` has something to return. */
  function follow(domainId: string, onCheck: () => void): FollowingChecks {
    const domain = domains.get(domainId) ?? { check: null, followers: new Set() };
    domains.set(domainId, domain);
    domain.followers.add(onCheck);
    polling.wake();
    let sent: LastCheck | null = null;
    return {
      next() {
        const { check } = domain;
        if (check === null || check === sent) return null;
        const changed = sent !== null && sent.version !== check.version;
        sent = check;
        return { ...check, changed };
      },
      end() {
        domain.followers.delete(onCheck);
        if (domain.followers.size === 0 && domains.get(domainId) === domain)
          domains.delete(domainId);
        if (domains.size === 0) polling.rest();
      },
    };
  }

  return { follow, close: polling.close };
}

export type CheckFeed = ReturnType<typeof createCheckFeed>;

function learn(domain: Watched | undefined, check: LastCheck): void {
  if (domain === undefined || (domain.check !== null && isSame(domain.check, check))) return;
  domain.check = check;
  for (const notify of [...domain.followers]) notify();
}

function isSame(one: LastCheck, other: LastCheck): boolean {
  return (
    one.version === other.version &&
    one.attempts === other.attempts &&
    one.lastCheckedAt?.getTime() === other.lastCheckedAt?.getTime() &&
    one.nextCheckAt?.getTime() === other.nextCheckAt?.getTime()
  );
}
