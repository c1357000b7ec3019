/** The API role: every route of the service, and everything that stands between a request and its route. */
import type { Parts } from './compose.ts';
import { createApiKeyStore } from './db/api-keys.ts';
import { findAttachedTarget } from './db/attached-target.ts';
import { createIdempotentAnswerStore } from './db/idempotent-answers.ts';
import { createKeyUsageStore } from './db/key-usage.ts';
import { createPetStore } from './db/pets.ts';
import { createExamine } from './doctor/examine.ts';
import { type Api, createApi } from './http/api.ts';
import { createCors } from './http/cors.ts';
import { createIdempotency } from './http/idempotency.ts';
import { createAuthenticate } from './http/keys/auth.ts';
import { createKeyUsage } from './http/keys/key-usage.ts';
import { createIsSecret } from './http/keys/secret.ts';
import { addressGroup, clientAddress, trustedProxies } from './http/limits/client-address.ts';
import { openRateLimiters } from './http/limits/rate-limit.ts';
import type { Route } from './http/route.ts';
import { diagnosisRoutes } from './http/routes/diagnosis.ts';
import { domainRoutes } from './http/routes/domains.ts';
import { healthRoutes } from './http/routes/health.ts';
import { keyRoutes } from './http/routes/keys.ts';
import { openApiRoutes } from './http/routes/openapi.ts';
import { petRoutes } from './http/routes/pets.ts';
import { projectRoutes } from './http/routes/projects.ts';
import { startPageRoutes } from './http/routes/start-page.ts';
import { forgetJobs } from './queue/queues.ts';

/** What the process's edge and the API have to tell each other. */
export type RoutesDeps = Parts & {
  /** Ends what an edge in this process serves under a name. */
  readonly dropTraffic: (hostname: string) => void;
  /** Has a key looked up again at its next use. */
  readonly forgetKey: (keyId: string) => void;
};

export type SignpostApi = {
  /** Callable without a socket. */
  readonly api: Api;
  /** Writes what was counted, and lets go of the counters. Close it before the database. */
  close(): Promise<void>;
};

export function createSignpostApi(
  parts: Parts,
  dropTraffic: (hostname: string) => void,
): SignpostApi {
  const { config, database, log, now } = parts;
  const { prisma } = database;
  const authenticate = createAuthenticate({ findKey: createApiKeyStore(prisma).find, now });
  const limits = openRateLimiters({ config, database, log, now });
  const usage = createKeyUsage({ store: createKeyUsageStore(prisma), log, now });
  const answers = createIdempotentAnswerStore(prisma);
  const trusted = trustedProxies(config.api.trustedProxies);
  const api = createApi({
    routes: routesOf({ ...parts, dropTraffic, forgetKey: authenticate.forget }),
    authenticate,
    limits,
    usage,
    addressOf: (remoteAddress, headers) =>
      addressGroup(clientAddress(remoteAddress, headers['x-forwarded-for'], trusted)),
    idempotency: createIdempotency({ prisma, answers, now }),
    cors: createCors(config.api.corsOrigins),
    isSecret: createIsSecret(config.apiKey),
    basePath: new URL(config.api.baseUrl ?? 'http://localhost/v1').pathname.slice(0, -'/v1'.length),
    log,
  });
  return {
    api,
    async close() {
      await Promise.all([usage.close(), limits.close()]);
    },
  };
}

/** Every route there is; docs/api.md describes the same ones. */
export function routesOf(deps: RoutesDeps): readonly Route[] {
  const { config, database, domains, log, now, projects, queues, targetFor } = deps;
  // Embedded storage runs one statement at a time.
  const concurrency = config.storage.kind === 'embedded' ? 1 : 2;
  const routes = [
    ...petRoutes({ pets: createPetStore(database, { concurrency }), now }),
    ...projectRoutes({ projects, now }),
    ...domainRoutes({
      projects,
      domains,
      targetFor,
      dropTraffic: deps.dropTraffic,
      now,
      platformDomain: config.platform.domain,
      windowMs: config.verifyWindowMs,
      wake: (domain) => quietly(log, 'wake', () => deps.wake(domain)),
      forget: ({ id, epoch }) =>
        quietly(log, 'forget', () => forgetJobs(queues, { domainId: id, epoch })),
    }),
    ...diagnosisRoutes({
      platformDomain: config.platform.domain,
      targetOf: (hostname) => findAttachedTarget(database.prisma, hostname),
      examine: createExamine({
        observer: deps.observer,
        allowPrivate: config.dns.allowPrivate,
        ca: deps.caaAuthority,
      }),
    }),
    ...keyRoutes({ keys: createApiKeyStore(database.prisma), forget: deps.forgetKey, now }),
    ...healthRoutes({ isReady: () => database.probe() }),
    ...startPageRoutes(),
  ];
  return [...routes, ...openApiRoutes(routes, config.api)];
}

/** What was committed is safe without the queue: the reconciler makes good within a minute. */
async function quietly(log: Parts['log'], what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (err) {
    log.warn({ err, what }, 'the queue is away; the reconciler will make good');
  }
}
