/** The API role: every route of the service, and the process's HTTP listener. */
import type { Parts } from './compose.ts';
import { createApiKeyStore } from './db/api-keys.ts';
import { createPetStore } from './db/pets.ts';
import { type Api, createApi } from './http/api.ts';
import { createAuthenticate } from './http/auth.ts';
import type { Route } from './http/route.ts';
import { domainRoutes } from './http/routes/domains.ts';
import { healthRoutes } from './http/routes/health.ts';
import { petRoutes } from './http/routes/pets.ts';
import { projectRoutes } from './http/routes/projects.ts';
import { startPageRoutes } from './http/routes/start-page.ts';
import { forgetJobs } from './queue/queues.ts';

/** The whole API, callable without a socket. `dropTraffic` ends what an edge in this process serves under a name. */
export function createSignpostApi(parts: Parts, dropTraffic: (hostname: string) => void): Api {
  const { database, log, now } = parts;
  const authenticate = createAuthenticate({
    findKey: createApiKeyStore(database.prisma).find,
    now,
  });
  return createApi({ routes: routesOf(parts, dropTraffic), authenticate, log });
}

/** Every route there is; docs/api.md describes the same ones. */
export function routesOf(parts: Parts, dropTraffic: (hostname: string) => void): readonly Route[] {
  const { config, database, domains, log, now, projects, queues, targetFor } = parts;
  return [
    ...petRoutes({ pets: createPetStore(database.prisma), now }),
    ...projectRoutes({ projects, now }),
    ...domainRoutes({
      projects,
      domains,
      targetFor,
      dropTraffic,
      now,
      platformDomain: config.platform.domain,
      windowMs: config.verifyWindowMs,
      wake: (domain) => quietly(log, 'wake', () => parts.wake(domain)),
      forget: ({ id, epoch }) =>
        quietly(log, 'forget', () => forgetJobs(queues, { domainId: id, epoch })),
    }),
    ...healthRoutes({ isReady: () => database.probe() }),
    ...startPageRoutes(),
  ];
}

/** What was committed is safe without the queue: the reconciler makes good within a minute. */
async function quietly(log: Parts['log'], what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (err) {
    log.warn({ err, what }, 'the queue is away; the reconciler will make good');
  }
}
