/** What an edge process remembers of names, within bounds, and whether it still counts (src/core/operations/route-memory.ts). */
import { LRUCache } from 'lru-cache';
import type { EdgeRoute, RouteNotification } from '../../core/operations/edge-route.ts';
import {
  classifyMemory,
  type MemoryVerdict,
  memoryTimes,
  resubscribe,
  type Subscription,
  unsubscribed,
} from '../../core/operations/route-memory.ts';
import type { EdgeDeps } from '../deps.ts';

const KNOWN_MAX = 50_000;
/** Names that nobody holds have places of their own: whoever asks for names at random drives out no real one. */
const UNKNOWN_MAX = 10_000;
/** Projects whose routes have changed; at more than that, every route counts as changed. */
const PROJECTS_MAX = 1_000;

/** What is remembered of a name, and what it counts for. */
export type Recalled = {
  /** Null: nobody holds the name. */
  readonly route: EdgeRoute | null;
  readonly verdict: Exclude<MemoryVerdict, 'forget'>;
};

/** The names that a process remembers. */
export type Memories = {
  /** Null: nothing, or nothing that counts. */
  readonly recall: (hostname: string) => Recalled | null;
  /** In the place of what was known; `readAt`: when the question was asked. */
  readonly keep: (hostname: string, route: EdgeRoute | null, readAt: number) => void;
  readonly notify: (notification: RouteNotification) => void;
  readonly sizes: () => { readonly known: number; readonly unknown: number };
};

type Memory = { readonly route: EdgeRoute | null; readonly readAt: number; isOutdated: boolean };

/** `clock`: milliseconds, never backwards. */
export function createMemories(clock: () => number, freshMs: number): Memories {
  const known = new LRUCache<string, Memory>({ max: KNOWN_MAX });
  const unknown = new LRUCache<string, Memory>({ max: UNKNOWN_MAX });
  const projects = createProjectChanges();
  const times = { ...memoryTimes, freshMs };
  let subscription: Subscription = unsubscribed;

  return {
    recall(hostname) {
      const memory = known.get(hostname) ?? unknown.get(hostname);
      if (memory === undefined) return null;
      const { route, readAt } = memory;
      const isOutdated = memory.isOutdated || readAt <= projects.changedAt(route);
      const verdict = classifyMemory({ readAt, isOutdated }, subscription, clock(), times);
      return verdict === 'forget' ? null : { route, verdict };
    },
    keep(hostname, route, readAt) {
      const [place, other] = route === null ? [unknown, known] : [known, unknown];
      other.delete(hostname);
      place.set(hostname, { route, readAt, isOutdated: false });
    },
    notify(notification) {
      if ('hostname' in notification) {
        unknown.delete(notification.hostname);
        const memory = known.peek(notification.hostname);
        // What changed stays, for the case that the database cannot be asked what it is now.
        if (memory !== undefined) memory.isOutdated = true;
        if (notification.kind === 'gone') known.delete(notification.hostname);
      } else if (notification.kind === 'project_changed') {
        projects.note(notification.projectId, clock());
      } else {
        subscription = afterNotification(subscription, notification);
      }
    },
    sizes: () => ({ known: known.size, unknown: unknown.size }),
  };
}

function afterNotification(
  before: Subscription,
  notification: Extract<RouteNotification, { kind: 'listening' | 'complete' }>,
): Subscription {
  if (notification.kind === 'listening') return resubscribe(before, notification.since);
  return { ...before, completeUntil: notification.until };
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

/** Whether the database can be asked, as look-ups found it. */
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

/** `retryMs`: between two tries, and between two checks whether the database is there. */
export function createOutage({ isDatabaseAway, log, clock }: OutageDeps, retryMs: number): Outage {
  let triedAt: number | null = null;
  let isAway = false;
  let probedAt = Number.NEGATIVE_INFINITY;
  let probing: Promise<boolean> | null = null;

  function probe(): void {
    if (probing !== null || clock() - probedAt < retryMs) return;
    probedAt = clock();
    probing = isDatabaseAway().then((found) => {
      probing = null;
      isAway = found && triedAt !== null; // it may have answered meanwhile
      return isAway;
    });
  }

  return {
    begin(err) {
      if (triedAt === null) log.warn({ err }, 'routes cannot be read; those known are served on');
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
    takeTurn() {
      if (triedAt === null || clock() - triedAt < retryMs) return false;
      triedAt = clock();
      probe();
      return true;
    },
  };
}
