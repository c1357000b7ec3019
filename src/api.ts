/** The API role: every route of the service, and everything that stands between a request and its route. */
import type { Parts } from './compose.ts';
import { createApiKeyStore, createKeyUsageStore } from './db/api-keys.ts';
import { findAttachedTarget } from './db/attached-target.ts';
import { createDomainSettingsStore } from './db/domain-settings.ts';
import type { DomainDetails, EndedLife } from './db/domains.ts';
import { closeForOperator, listEscalations } from './db/escalations.ts';
import { createEventFeedStore, loadTimeline } from './db/events.ts';
import { createIsHeld } from './db/held-names.ts';
import { createIdempotentAnswerStore } from './db/idempotent-answers.ts';
import { bringToSweep, findWatchedDomain, loadNotes, searchDomains } from './db/operations.ts';
import { createPetStore } from './db/pets.ts';
import { createExamine } from './doctor/examine.ts';
import { type Api, createApi } from './http/api.ts';
import { createCors } from './http/cors.ts';
import { withDashboard } from './http/dashboard/dashboard.ts';
import { createIdempotency } from './http/idempotency.ts';
import { createAuthenticate } from './http/keys/auth.ts';
import { createKeyUsage } from './http/keys/key-usage.ts';
import { createIsSecret } from './http/keys/secret.ts';
import { openRateLimiters } from './http/limits/rate-limit.ts';
import type { Route } from './http/route.ts';
import { diagnosisRoutes } from './http/routes/diagnosis.ts';
import { domainSettingsRoutes } from './http/routes/domain-settings.ts';
import { domainRoutes } from './http/routes/domains.ts';
import { escalationRoutes } from './http/routes/escalations.ts';
import { eventRoutes } from './http/routes/events.ts';
import { healthRoutes, metricsRoutes } from './http/routes/health.ts';
import { hostnameRoutes } from './http/routes/hostname.ts';
import { internalRoutes } from './http/routes/internal.ts';
import { keyRoutes } from './http/routes/keys.ts';
import { openApiRoutes } from './http/routes/openapi.ts';
import { operationsRoutes } from './http/routes/operations.ts';
import { petRoutes } from './http/routes/pets.ts';
import { projectRoutes } from './http/routes/projects.ts';
import { webhookRoutes } from './http/routes/webhooks.ts';
import type { OpenStream } from './http/streams.ts';
import {
  addressGroup,
  clientAddress,
  createIsNeighbour,
  trustedProxies,
} from './net/client-address.ts';
import { createIsMetricsToken } from './ops/listener.ts';
import { createReadBudget, createReadOverview } from './ops/overview.ts';
import { createQueueBoard } from './ops/queue-dashboard.ts';
import type { ReadReadiness } from './ops/readiness.ts';
import { forgetJobs } from './queue/queues.ts';
import { composeStreams } from './roles/streams.ts';

/** What the role is handed when its process starts. */
export type Served = {
  readonly parts: Parts;
  readonly readiness: ReadReadiness;
  /** Ends what an edge in this process serves under a name. */
  readonly dropTraffic: (hostname: string) => void;
};

/** What routes are made of. */
export type RoutesDeps = Parts & {
  readonly readiness: ReadReadiness;
  readonly dropTraffic: (hostname: string) => void;
  /** Has a key looked up again at its next use. */
  readonly forgetKey: (keyId: string) => void;
  readonly openStream: OpenStream;
};

export type SignpostApi = {
  /** Callable without a socket. */
  readonly api: Api;
  /** Writes what was counted, and lets go of the counters. Close it before the database. */
  close(): Promise<void>;
};

export function createSignpostApi({ parts, readiness, dropTraffic }: Served): SignpostApi {
  const { config, database, log, now } = parts;
  const { prisma } = database;
  const authenticate = createAuthenticate({ findKey: createApiKeyStore(prisma).find, now });
  const limits = openRateLimiters({ config, database, log, now });
  const usage = createKeyUsage({ store: createKeyUsageStore(prisma), log, now });
  const answers = createIdempotentAnswerStore(prisma);
  const streams = composeStreams(parts, authenticate);
  const trusted = trustedProxies(config.api.trustedProxies);
  const basePath = new URL(config.api.baseUrl ?? 'http://localhost/v1').pathname.slice(
    0,
    -'/v1'.length,
  );
  const isSecret = createIsSecret(config.apiKey);
  const counted = parts.metrics && { count: parts.metrics.request };
  const api = createApi({
    routes: routesOf({
      ...parts,
      readiness,
      dropTraffic,
      forgetKey: authenticate.forget,
      openStream: streams.open,
    }),
    authenticate,
    limits,
    usage,
    addressOf: (remoteAddress, headers) =>
      addressGroup(clientAddress(remoteAddress, headers['x-forwarded-for'], trusted)),
    idempotency: createIdempotency({ prisma, answers, now }),
    cors: createCors(config.api.corsOrigins),
    isSecret,
    basePath,
    log,
    ...counted,
  });
  const sessionSecret = parts.secrets.session;
  const queueBoard = createQueueBoard(parts.queues);
  return {
    api: withDashboard(api, {
      sessionSecret,
      basePath,
      now,
      log,
      isSecret,
      ...counted,
      queueBoard,
    }),
    async close() {
      streams.close();
      await Promise.all([usage.close(), limits.close()]);
    },
  };
}

/** Every route there is; docs/api.md describes the same ones. */
export function routesOf(deps: RoutesDeps): readonly Route[] {
  const { config, database, now, projects } = deps;
  // Embedded storage runs one statement at a time.
  const concurrency = config.storage.kind === 'embedded' ? 1 : 2;
  const routes = [
    ...petRoutes({ pets: createPetStore(database, { concurrency }), now }),
    ...projectRoutes({ projects, platformDomain: config.platform.domain, now }),
    ...publishingRoutes(deps),
    ...hostnameRoutes({ platformDomain: config.platform.domain }),
    ...eventRoutes({
      projects,
      findDomainId: createEventFeedStore(database).findDomainId,
      platformDomain: config.platform.domain,
      openStream: deps.openStream,
    }),
    ...domainSettingsRoutes({
      projects,
      settings: createDomainSettingsStore(database.prisma),
      platformDomain: config.platform.domain,
    }),
    ...diagnosisRoutes({
      platformDomain: config.platform.domain,
      targetOf: (hostname) => findAttachedTarget(database.prisma, hostname),
      examine: createExamine({
        observer: deps.observer,
        allowPrivate: config.dns.allowPrivate,
        authorities: deps.caaAuthorities,
      }),
    }),
    ...webhookRoutes({ ...deps, allowPrivate: config.webhooks.allowPrivate }),
    ...keyRoutes({ keys: createApiKeyStore(database.prisma), forget: deps.forgetKey, now }),
    ...operatorsRoutes(deps),
    ...internalRoutes({
      platformDomain: config.platform.domain,
      isHeld: createIsHeld(database.prisma),
      isNeighbour: createIsNeighbour(trustedProxies(config.api.trustedProxies)),
    }),
    ...watchedRoutes(deps),
  ];
  return [...routes, ...openApiRoutes(routes, config.api)];
}

function publishingRoutes(deps: RoutesDeps): readonly Route[] {
  const { config, dropTraffic, projects, targetFor } = deps;
  const platformDomain = config.platform.domain;
  return domainRoutes({ ...verifyingOf(deps), projects, targetFor, dropTraffic, platformDomain });
}

/** What verifying a domain sets going. The queue is told what was committed, and may be away. */
function verifyingOf({ config, domains, log, now, queues, ...deps }: RoutesDeps) {
  return {
    domains,
    now,
    windowMs: config.verifyWindowMs,
    wake: (domain: DomainDetails, requestId: string) =>
      quietly(log, { what: 'wake', domainId: domain.id, requestId }, () => deps.wake(domain)),
    orderNow: ({ id, epoch }: EndedLife, requestId: string) =>
      quietly(log, { what: 'wake', domainId: id, requestId }, () =>
        deps.bringNow('issue-certificate', { domainId: id, epoch }),
      ),
    forget: ({ id, epoch }: EndedLife, requestId: string) =>
      quietly(log, { what: 'forget', domainId: id, requestId }, () =>
        forgetJobs(queues, { domainId: id, epoch }),
      ),
  };
}

/** What operators look at, and what they set going again. */
function operatorsRoutes(deps: RoutesDeps): readonly Route[] {
  const { database, log, now, queues } = deps;
  const { prisma } = database;
  const overview = createReadOverview({
    prisma,
    queues,
    budget: createReadBudget(prisma, now),
    now,
  });
  return [
    ...escalationRoutes({
      list: (query) => listEscalations(prisma, query),
      close: (id) => closeForOperator(prisma, id, now()).finally(overview.forget),
    }),
    ...operationsRoutes({
      ...verifyingOf(deps),
      overview,
      queues,
      search: (part, limit) => searchDomains(prisma, part, limit),
      find: (id) => findWatchedDomain(prisma, id),
      notes: (id) => loadNotes(prisma, id),
      timeline: (id, limit) => loadTimeline(prisma, id, limit),
      runNow: (queue, job, requestId) =>
        quietly(log, { what: 'wake', domainId: job.domainId, requestId }, () =>
          deps.bringNow(queue, job),
        ),
      bringToSweep: (domain, sweep, at) => bringToSweep(prisma, domain, sweep, at),
    }),
  ];
}

/** What is asked by those who watch the process. */
function watchedRoutes(deps: RoutesDeps): readonly Route[] {
  const { config, metrics } = deps;
  return [
    ...healthRoutes(deps),
    ...metricsRoutes({
      metrics: async () => metrics?.text() ?? '',
      isMetricsToken: createIsMetricsToken(config.metrics.token),
    }),
  ];
}

/** What was committed is safe without the queue: the reconciler makes good within a minute. */
async function quietly(
  log: Parts['log'],
  about: { readonly what: string; readonly domainId: string; readonly requestId: string },
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (err) {
    log.warn({ err, ...about }, 'the queue is away; the reconciler will make good');
  }
}
