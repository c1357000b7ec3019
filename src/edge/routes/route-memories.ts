/** What an edge process remembers of names, within bounds, and whether it still counts (src/core/operations/route-memory.ts). */
import { LRUCache } from 'lru-cache';
import type { EdgeRoute, RouteNews } from '../../core/operations/edge-route.ts';
import {
  deaf,
  type Hearing,
  judgeMemory,
  listenAnew,
  type MemoryVerdict,
  memoryTimes,
} from '../../core/operations/route-memory.ts';
import type { EdgeDeps } from '../deps.ts';

const KNOWN_MAX = 50_000;
/** Names that nobody holds have places of their own: whoever asks for names at random drives out no real one. */
const UNKNOWN_MAX = 10_000;
/** Projects whose routes have changed; at more than that, every route counts as changed. */
const PROJECTS_MAX = 1_000;

export type Recalled = {
  /** Null: nobody holds the name. */
  readonly route: EdgeRoute | null;
  readonly verdict: Exclude<MemoryVerdict, 'forget'>;
};

export type Memories = {
  /** Null: nothing, or nothing that counts. */
  readonly recall: (hostname: string) => Recalled | null;
  /** In the place of what was known; `readAt`: when the question was asked. */
  readonly keep: (hostname: string, route: EdgeRoute | null, readAt: number) => void;
  readonly hear: (news: RouteNews) => void;
  readonly sizes: () => { readonly known: number; readonly unknown: number };
};

type Memory = { readonly route: EdgeRoute | null; readonly readAt: number; isOutdated: boolean };

/** `clock`: milliseconds, never backwards. */
export function createMemories(clock: () => number, freshMs: number): Memories {
  const known = new LRUCache<string, Memory>({ max: KNOWN_MAX });
  const unknown = new LRUCache<string, Memory>({ max: UNKNOWN_MAX });
  const projects = createProjectChanges();
  const times = { ...memoryTimes, freshMs };
  let hearing: Hearing = deaf;

  return {
    recall(hostname) {
      const memory = known.get(hostname) ?? unknown.get(hostname);
      if (memory === undefined) return null;
      const { route, readAt } = memory;
      const isOutdated = memory.isOutdated || readAt <= projects.changedAt(route);
      const verdict = judgeMemory({ readAt, isOutdated }, hearing, clock(), times);
      return verdict === 'forget' ? null : { route, verdict };
    },
    keep(hostname, route, readAt) {
      const [place, other] = route === null ? [unknown, known] : [known, unknown];
      other.delete(hostname);
      place.set(hostname, { route, readAt, isOutdated: false });
    },
    hear(news) {
      if ('hostname' in news) {
        unknown.delete(news.hostname);
        const memory = known.peek(news.hostname);
        // What changed stays, for the case that the database cannot be asked what it is now.
        if (memory !== undefined) memory.isOutdated = true;
        if (news.kind === 'gone') known.delete(news.hostname);
      } else if (news.kind === 'project_changed') {
        projects.note(news.projectId, clock());
      } else {
        hearing = heard(hearing, news);
      }
    },
    sizes: () => ({ known: known.size, unknown: unknown.size }),
  };
}

function heard(
  before: Hearing,
  news: Extract<RouteNews, { kind: 'listening' | 'complete' }>,
): Hearing {
  if (news.kind === 'listening') return listenAnew(before, news.since);
  return { ...before, completeUntil: news.until };
}

/** When each project's routes changed last; instead of searching for the names of one among all. */
function createProjectChanges() {
  const changes = new Map<string, number>();
  let all = Number.NEGATIVE_INFINITY;
  return {
    note(projectId: string, at: number): void {
      if (changes.size >= PROJECTS_MAX) {
        changes.clear();
        all = at;
      }
      changes.set(projectId, at);
    },
    changedAt: (route: EdgeRoute | null): number =>
      route === null ? all : Math.max(all, changes.get(route.projectId) ?? all),
  };
}

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
