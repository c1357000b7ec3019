/** An edge's route cache with a controllable database and clock. */
import type { EdgeRoute } from '../../../src/core/operations/edge-route.ts';
import { createRoutes } from '../../../src/edge/routes/routes.ts';
import { plainService } from '../../support/plain-service.ts';
import { bare } from './fixture.ts';

export const name = 'docs.acme.test';
export const other = 'shop.acme.test';
const limits = { routeFreshMs: 3_000, routePatienceMs: 20, routeRetryMs: 1_000 };

export const route = (hostname: string, more: Partial<EdgeRoute> = {}): EdgeRoute => ({
  ...bare,
  hostname,
  upstream: 'http://one.test',
  certificateId: 'first',
  ...more,
});

export type RoutesFixture = ReturnType<typeof startRoutes>;

/** Stores the routes of `name` and `other` at 0 ms. */
export function startRoutes() {
  const warnings: string[] = [];
  /** Every query waits for it before it returns. */
  let arrives = Promise.resolve();
  const db = {
    now: 0,
    stored: new Map([name, other].map((hostname) => [hostname, route(hostname)])),
    /** The queried names. */
    asked: [] as string[],
    isUp: true,
    /** Only route queries fail. */
    isBusy: false,
    /** Number of availability checks. */
    lookups: 0,
  };
  const note = (_fields: unknown, message?: string) => void warnings.push(message ?? '');
  const query = async () => {
    db.lookups += 1;
    if (!db.isUp && !db.isBusy) throw new Error('the database is away');
  };
  const routes = createRoutes(
    plainService({
      database: { openPool: () => ({ query }) as never },
      lookups: {
        async findRoute(hostname) {
          db.asked.push(hostname);
          const wait = arrives;
          if (!db.isUp) throw new Error('the database is away');
          const found = db.stored.get(hostname) ?? null;
          await wait;
          return found;
        },
      },
      log: { debug() {}, warn: note, error() {} },
    }),
    limits,
    () => db.now,
  );
  return Object.assign(db, {
    routes,
    warnings,
    /** Holds all queries until the returned function is called. */
    hold(): () => void {
      let release = () => {};
      arrives = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    /** Delivers all pending notifications. */
    notify(): void {
      routes.notify({ kind: 'complete', until: db.now });
    },
    upstream: async (hostname = name) => (await routes.find(hostname))?.upstream,
  });
}
