/** Cached routes keep sites up while the database is down (docs/decisions/0017). */
import type { EdgeRoute, RouteNotification } from '../../core/operations/edge-route.ts';
import type { EdgeLookups } from '../../db/domains/edge-lookups.ts';
import { createAwayProbe } from '../../db/engine/unavailable.ts';
import { beforeDeadline } from '../../net/deadline.ts';
import type { EdgeService } from '../edge-service.ts';
import type { EdgeLimits } from '../limits.ts';
import { createMemories, type Memories, type Recalled } from './route-memories.ts';
import { createRouteOutage, type RouteOutage } from './route-outage.ts';

export type Routes = {
  /** Null: unknown, removed, or not held. Rejects if the lookup fails and nothing is cached. */
  readonly find: (hostname: string) => Promise<EdgeRoute | null>;
  readonly notify: (notification: RouteNotification) => void;
  readonly sizes: Memories['sizes'];
};

type RoutesLimits = Pick<EdgeLimits, 'routeFreshMs' | 'routePatienceMs' | 'routeRetryMs'>;

/** `clock`: monotonic milliseconds. */
export function createRoutes(
  { database, log, lookups }: Pick<EdgeService, 'database' | 'log' | 'lookups'>,
  limits: RoutesLimits,
  clock: () => number = () => performance.now(),
): Routes {
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
    find,
    notify(notification) {
      memories.notify(notification);
      if ('hostname' in notification) flights.outdate(notification.hostname);
    },
    sizes: memories.sizes,
  };
}

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
