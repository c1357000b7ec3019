/** Every route of the service, to be described rather than run: nothing behind them is open. */

import { loadConfig } from '../../src/config/config.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { type RoutesDeps, routesOf } from '../../src/roles/routes.ts';

/** As src/roles/routes.ts lists them, with these variables in the environment. */
export function everyRoute(env: Readonly<Record<string, string>> = {}): readonly Route[] {
  const loaded = loadConfig(env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  // Stores keep what they are given until they are called, which nobody does here.
  const parts = { config: loaded.config, database: { prisma: {}, pool: {} } };
  return routesOf({ parts } as unknown as RoutesDeps);
}
