/** Every route of the service, for its description only: it has no dependencies. */

import { loadConfig } from '../../src/config/config.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { type ApiRole, routesOf } from '../../src/http/routes/every-route.ts';
import type { Service } from '../../src/service/service.ts';

/** As src/http/routes/every-route.ts lists them with these environment variables. */
export function everyRoute(env: Readonly<Record<string, string>> = {}): readonly Route[] {
  const loaded = loadConfig(env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  // Stores use their dependencies only when called, which never happens here.
  const service = { config: loaded.config, database: { prisma: {}, pool: {} } };
  return routesOf(service as unknown as Service, {} as ApiRole);
}
