/** What an edge remembers, beside a database that can be changed, slowed down and taken away, and a clock to be set. */
import type { EdgeRoute } from '../../../src/core/operations/edge-route.ts';
import { createRoutes } from '../../../src/edge/routes/routes.ts';
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

/** With the routes of `name` and `other` stored, at 0 ms. */
export function startRoutes() {
  const warnings: string[] = [];
  /** What a look-up waits for after it has looked. */
  let arrives = Promise.resolve();
  const db = {
    now: 0,
    stored: new Map([name, other].map((hostname) => [hostname, route(hostname)])),
    /** The names that were looked up. */
    asked: [] as string[],
    isUp: true,
    /** It is not up for look-ups alone. */
    isBusy: false,
    /** How often it was asked whether it is away. */
    lookups: 0,
  };
  const note = (_fields: unknown, message?: string) => void warnings.push(message ?? '');
  const routes = createRoutes(
    {
      async findRoute(hostname) {
        db.asked.push(hostname);
        const wait = arrives;
        if (!db.isUp) throw new Error('the database is away');
        const found = db.stored.get(hostname) ?? null;
        await wait;
        return found;
      },
      async isDatabaseAway() {
        db.lookups += 1;
        return !db.isUp && !db.isBusy;
      },
      log: { debug() {}, warn: note, error() {} },
      clock: () => db.now,
    },
    limits,
  );
  return Object.assign(db, {
    routes,
    warnings,
    /** Look-ups stay under way from now on, until the function that it gives is called. */
    hold(): () => void {
      let release = () => {};
      arrives = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    /** Everything told until now has been heard. */
    notify(): void {
      routes.notify({ kind: 'complete', until: db.now });
    },
    upstream: async (hostname = name) => (await routes.find(hostname))?.upstream,
  });
}
