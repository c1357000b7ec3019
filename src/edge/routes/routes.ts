/**
 * Where the edge asks for routes: from memory where that counts, else of the database; and from memory once more while the
 * database cannot be asked, so that visitors outlast its outage (docs/decisions/0017).
 */
import type { EdgeRoute, RouteNotification } from '../../core/operations/edge-route.ts';
import type { EdgeDeps, EdgeLimits } from '../deps.ts';
import {
  createMemories,
  createOutage,
  type Memories,
  type Outage,
  type Recalled,
} from './route-memories.ts';

/** The routes of a process: from memory, or from the database. */
export type Routes = {
  /** Null: unknown, removed, or not held. Rejects as the look-up does where it fails and nothing is known from before. */
  readonly find: (hostname: string) => Promise<EdgeRoute | null>;
  readonly notify: (notification: RouteNotification) => void;
  /** How many names are remembered. */
  readonly sizes: Memories['sizes'];
};

type RoutesDeps = Pick<EdgeDeps, 'findRoute' | 'isDatabaseAway' | 'log'> & {
  /** Milliseconds, never backwards. */
  readonly clock?: () => number;
};
type RoutesLimits = Pick<EdgeLimits, 'routeFreshMs' | 'routePatienceMs' | 'routeRetryMs'>;

/** Routes that remember nothing yet, and are notified of nothing. `limits`: in milliseconds. */
export function createRoutes(deps: RoutesDeps, limits: RoutesLimits): Routes {
  const { clock = () => performance.now() } = deps;
  const memories = createMemories(clock, limits.routeFreshMs);
  const outage = createOutage({ ...deps, clock }, limits.routeRetryMs);
  const flights = createFlights({ ...deps, clock, keep: memories.keep }, outage);

  async function find(hostname: string): Promise<EdgeRoute | null> {
    const recalled = memories.recall(hostname);
    if (recalled?.verdict === 'use') return recalled.route;
    if (recalled === null || !outage.isBridged(recalled.verdict)) return ask(hostname, recalled);
    // Nobody waits for a database that does not answer. One look-up at a time finds out whether it does.
    if (outage.takeTurn()) flights.join(hostname);
    return recalled.route;
  }

  /** Of the database; `spare` is what may count where it cannot be asked. */
  async function ask(hostname: string, spare: Recalled | null): Promise<EdgeRoute | null> {
    const flight = flights.join(hostname);
    const route = await (spare === null
      ? flight.answer
      : within(limits.routePatienceMs, flight.answer, outage.begin).catch(async () =>
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

/** A look-up under way. What is heard of before it ends may have happened before it looked, or after: it is outdated. */
type Flight = { readonly answer: Promise<EdgeRoute | null>; isOutdated: boolean };

type FlightDeps = Pick<EdgeDeps, 'findRoute'> & {
  readonly clock: () => number;
  readonly keep: (hostname: string, route: EdgeRoute | null, readAt: number) => void;
};

/** One look-up of a name at a time, however many wait for it. */
function createFlights({ findRoute, clock, keep }: FlightDeps, outage: Outage) {
  const flights = new Map<string, Flight>();

  function takeOff(hostname: string): Flight {
    const readAt = clock();
    const flight: Flight = { answer: findRoute(hostname), isOutdated: false };
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

/** Rejects where the answer does, or takes longer, which `onLate` is told. */
function within<T>(ms: number, answer: Promise<T>, onLate: (fault: Error) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const fault = new Error(`no answer within ${ms} ms`);
      onLate(fault);
      reject(fault);
    }, ms);
    void answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
