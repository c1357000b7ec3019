/** Cached routes keep sites up while the database is down (docs/decisions/0017). */

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
import type { EdgeLookups } from '../../db/domains/edge-lookups.ts';
import { createAwayProbe } from '../../db/engine/unavailable.ts';
import { beforeDeadline } from '../../net/deadline.ts';
import type { EdgeLog, EdgeService } from '../edge-service.ts';
import type { EdgeLimits } from '../limits.ts';

type RoutesLimits = Pick<EdgeLimits, 'routeFreshMs' | 'routePatienceMs' | 'routeRetryMs'>;

/** `clock`: monotonic milliseconds. */
export function createRoutes(
  { database, log, lookups }: Pick<EdgeService, 'database' | 'log' | 'lookups'>,
  limits: RoutesLimits,
  clock: () => number = () => performance.now(),
) {
  const memories = createMemories(clock, limits.routeFreshMs);
  const outage = createRouteOutage(
    { isAway: createAwayProbe(database), log, clock },
    limits.routeRetryMs,
  );
  const flights = createFlights(lookups, { clock, keep: memories.keep }, outage);

  async function find(hostname: string): Promise<EdgeRoute | null> {
    const recalled = memories.recall(hostname);
    if (recalled?.verdict === 'use') return recalled.route;
    if (recalled === null || !outage.isBridged(recalled.verdict)) return ask(hostname, recalled);
    // Visitors do not wait for an unavailable database. One lookup at a time probes it.
    if (outage.claimRetry()) flights.join(hostname);
    return recalled.route;
  }

  /** `spare` is used if the database is unavailable. */
  async function ask(hostname: string, spare: Recalled | null): Promise<EdgeRoute | null> {
    const flight = flights.join(hostname);
    const route = await (spare === null
      ? flight.answer
      : answeredWithin(limits.routePatienceMs, flight.answer, outage.begin).catch(async () =>
          (await outage.mayBridge(spare.verdict)) ? spare.route : flight.answer,
        ));
    return flight.isOutdated ? find(hostname) : route;
  }

  return {
    /** Null: unknown, removed, or not held. Rejects if the lookup fails and nothing is cached. */
    find,
    notify(notification: RouteNotification): void {
      memories.notify(notification);
      if ('hostname' in notification) flights.outdate(notification.hostname);
    },
    sizes: memories.sizes,
  };
}

export type Routes = ReturnType<typeof createRoutes>;

/** A notification during the lookup makes it outdated, because the order is unknown. */
type Flight = { readonly answer: Promise<EdgeRoute | null>; isOutdated: boolean };

type Cache = { readonly clock: () => number; readonly keep: Memories['keep'] };

/** One lookup per name at a time, shared by all waiters. */
function createFlights(
  lookups: Pick<EdgeLookups, 'findRoute'>,
  { clock, keep }: Cache,
  outage: RouteOutage,
) {
  const flights = new Map<string, Flight>();

  function takeOff(hostname: string): Flight {
    const readAt = clock();
    const flight: Flight = { answer: lookups.findRoute(hostname), isOutdated: false };
    flights.set(hostname, flight);
    flight.answer.then(
      (route) => {
        flights.delete(hostname);
        outage.end();
        if (!flight.isOutdated) keep(hostname, route, readAt);
      },
      (fault: unknown) => {
        flights.delete(hostname);
        outage.begin(fault);
      },
    );
    return flight;
  }

  return {
    join: (hostname: string): Flight => flights.get(hostname) ?? takeOff(hostname),
    outdate(hostname: string): void {
      const flight = flights.get(hostname);
      if (flight !== undefined) flight.isOutdated = true;
    },
  };
}

/** Rejects after `ms`, and calls `onLate` before. */
async function answeredWithin<T>(
  ms: number,
  answer: Promise<T>,
  onLate: (fault: Error) => void,
): Promise<T> {
  const found = await beforeDeadline(
    ms,
    answer.then((value) => ({ value })),
    null,
  );
  if (found !== null) return found.value;
  const fault = new Error(`no answer within ${ms} ms`);
  onLate(fault);
  throw fault;
}

// The route cache of an edge process (src/core/operations/route-memory.ts).

const KNOWN_MAX = 50_000;
/** Unknown names have their own cache, so that random names do not evict real ones. */
const UNKNOWN_MAX = 10_000;
/** Projects with changed routes. Above this number, all routes count as changed. */
const PROJECTS_MAX = 1_000;

type Recalled = {
  /** Null: the name is not held. */
  readonly route: EdgeRoute | null;
  readonly verdict: Exclude<MemoryVerdict, 'forget'>;
};

type Memory = { readonly route: EdgeRoute | null; readonly readAt: number; isOutdated: boolean };

/** `clock`: monotonic milliseconds. */
function createMemories(clock: () => number, freshMs: number) {
  const known = new LRUCache<string, Memory>({ max: KNOWN_MAX });
  const unknown = new LRUCache<string, Memory>({ max: UNKNOWN_MAX });
  const projects = createProjectChanges();
  const times = { ...memoryTimes, freshMs };
  let subscription: Subscription = unsubscribed;

  return {
    /** Null: not cached, or not usable. */
    recall(hostname: string): Recalled | null {
      const memory = known.get(hostname) ?? unknown.get(hostname);
      if (memory === undefined) return null;
      const { route, readAt } = memory;
      const isOutdated = memory.isOutdated || readAt <= projects.changedAt(route);
      const verdict = classifyMemory({ readAt, isOutdated }, subscription, clock(), times);
      return verdict === 'forget' ? null : { route, verdict };
    },
    /** `readAt`: when the query started. */
    keep(hostname: string, route: EdgeRoute | null, readAt: number): void {
      const [place, other] = route === null ? [unknown, known] : [known, unknown];
      other.delete(hostname);
      place.set(hostname, { route, readAt, isOutdated: false });
    },
    notify(notification: RouteNotification): void {
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

type Memories = ReturnType<typeof createMemories>;

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

// Whether the database is available, as seen by lookups.

type OutageParts = {
  /** Of the database: routes cannot change until it is back. Never rejects. */
  readonly isAway: () => Promise<boolean>;
  readonly log: EdgeLog;
  readonly clock: () => number;
};

/** `retryMs`: between two retries, and between two checks of the database. */
function createRouteOutage(parts: OutageParts, retryMs: number) {
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
    /** A lookup failed or timed out. */
    begin(err: unknown): void {
      if (triedAt === null) log.warn({ err }, 'routes cannot be read; cached ones stay in use');
      triedAt = clock();
      probe();
    },
    end(): void {
      if (triedAt !== null) log.warn({}, 'routes can be read again');
      triedAt = null;
      isAway = false;
    },
    /** Whether to use a cached entry at once, without waiting for the database. */
    isBridged: (verdict: MemoryVerdict) => triedAt !== null && (verdict === 'ask' || isAway),
    /** The same after a failed lookup, which can require a check of the database. */
    mayBridge: async (verdict: MemoryVerdict) => verdict === 'ask' || (probing ?? isAway),
    /** If true, the caller must retry now. */
    claimRetry(): boolean {
      if (triedAt === null || clock() - triedAt < retryMs) return false;
      triedAt = clock();
      probe();
      return true;
    },
  };
}

type RouteOutage = ReturnType<typeof createRouteOutage>;
