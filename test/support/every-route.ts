/** Every route of the service, for its description only: it has no dependencies. */

import { loadConfig } from '../../src/config/config.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { type RoutesDeps, routesOf } from '../../src/roles/routes.ts';

/** As src/roles/routes.ts lists them with these environment variables. */
export function everyRoute(env: Readonly<Record<string, string>> = {}): readonly Route[] {
  const loaded = loadConfig(env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  // Stores use their dependencies only when called, which never happens here.
  const service = { config: loaded.config, database: { prisma: {}, pool: {} } };
  return routesOf({ service } as unknown as RoutesDeps);
}
