/** The route cache of an edge process (src/core/operations/route-memory.ts). */
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

const KNOWN_MAX = 50_000;
/** Unknown names have their own cache, so that random names do not evict real ones. */
const UNKNOWN_MAX = 10_000;
/** Projects with changed routes. Above this number, all routes count as changed. */
const PROJECTS_MAX = 1_000;

export type Recalled = {
  /** Null: the name is not held. */
  readonly route: EdgeRoute | null;
  readonly verdict: Exclude<MemoryVerdict, 'forget'>;
};

export type Memories = {
  /** Null: not cached, or not usable. */
  readonly recall: (hostname: string) => Recalled | null;
  /** `readAt`: when the query started. */
  readonly keep: (hostname: string, route: EdgeRoute | null, readAt: number) => void;
  readonly notify: (notification: RouteNotification) => void;
  readonly sizes: () => { readonly known: number; readonly unknown: number };
};

type Memory = { readonly route: EdgeRoute | null; readonly readAt: number; isOutdated: boolean };

/** `clock`: monotonic milliseconds. */
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
        // An outdated entry stays as a fallback if the database is unavailable.
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

/** The time of each project's last route change, instead of searching all names. */
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
