/**
 * The checks of domains that somebody watches, as they are made, for all streams of a process: one question to the database a
 * second, and none while nobody watches. A check that found nothing new is no event; a page still says when it was.
 */
import type { LastLook, WatchedDomainStore } from '../db/domains/watched-domains.ts';
import { every } from './feed.ts';

export type Looks = {
  /** `onNews` is called where `news` has something to say. */
  follow(domainId: string, onNews: () => void): FollowingLooks;
  close(): void;
};

export type FollowingLooks = {
  /** The last check, where it is another than the one that was given before; the first call gives any. */
  news(): (LastLook & { readonly changed: boolean }) | null;
  end(): void;
};

export type LooksDeps = {
  readonly lastLooks: WatchedDomainStore['lastLooks'];
  readonly log: {
    warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  };
  readonly pollMs?: number;
};

const POLL_MS = 1_000; // our choice: a fifth of the wait between two checks of a watched domain

type Watched = { look: LastLook | null; readonly followers: Set<() => void> };

export function createLooks({ lastLooks, log, pollMs = POLL_MS }: LooksDeps): Looks {
  const domains = new Map<string, Watched>();
  let isAway = false;

  async function poll(): Promise<void> {
    try {
      for (const look of await lastLooks([...domains.keys()])) learn(domains.get(look.id), look);
      isAway = false;
    } catch (err) {
      if (!isAway) log.warn({ err }, 'checks are not told: the database does not answer');
      isAway = true;
    }
  }

  const polling = every(pollMs, poll, () => domains.size > 0);

  function follow(domainId: string, onNews: () => void): FollowingLooks {
    const domain = domains.get(domainId) ?? { look: null, followers: new Set() };
    domains.set(domainId, domain);
    domain.followers.add(onNews);
    polling.wake();
    let told: LastLook | null = null;
    return {
      news() {
        const { look } = domain;
        if (look === null || look === told) return null;
        const changed = told !== null && told.version !== look.version;
        told = look;
        return { ...look, changed };
      },
      end() {
        domain.followers.delete(onNews);
        if (domain.followers.size === 0 && domains.get(domainId) === domain)
          domains.delete(domainId);
        if (domains.size === 0) polling.rest();
      },
    };
  }

  return { follow, close: polling.close };
}

function learn(domain: Watched | undefined, look: LastLook): void {
  if (domain === undefined || (domain.look !== null && isSame(domain.look, look))) return;
  domain.look = look;
  for (const tell of [...domain.followers]) tell();
}

function isSame(one: LastLook, other: LastLook): boolean {
  return (
    one.version === other.version &&
    one.lastCheckedAt?.getTime() === other.lastCheckedAt?.getTime() &&
    one.nextCheckAt?.getTime() === other.nextCheckAt?.getTime()
  );
}
