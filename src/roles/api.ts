import { ladder } from '../core/life/ladder.ts';
import { withDashboard } from '../dashboard/dashboard.ts';
import { createApiKeyStore, createKeyUsageStore } from '../db/api-keys.ts';
import { createWatchedDomainStore } from '../db/domains/watched-domains.ts';
import { createTransact } from '../db/engine/transaction.ts';
import { createEventFeedStore } from '../db/events.ts';
import { createIdempotentAnswerStore } from '../db/idempotent-answers.ts';
import { createCheckFeed } from '../events/check-feed.ts';
import { createFeed, sharePages } from '../events/feed.ts';
import { createWatching } from '../events/watching.ts';
import { type Authenticate, createAuthenticate, createIsSecret } from '../http/keys/auth.ts';
import { createKeyUsage } from '../http/keys/key-usage.ts';
import { openRateLimiters } from '../http/limits/rate-limit.ts';
import { type Api, createApi } from '../http/pipeline/api.ts';
import { createCors } from '../http/pipeline/cors.ts';
import { createIdempotency } from '../http/pipeline/idempotency.ts';
import {
  createIsStillAuthorized,
  createOpenStream,
  createSlots,
  defaultStreamLimits,
  type OpenStream,
} from '../http/routes/streams.ts';
import { listenHttp } from '../http/socket/server.ts';
import { addressGroup, clientAddress, trustedProxies } from '../net/client-address.ts';
import { defaultConnectionLimits, descriptorLimit, shareDescriptors } from '../net/connections.ts';
import { createQueueBoard } from '../ops/queue-dashboard.ts';
import type { ReadReadiness } from '../ops/readiness.ts';
import type { Closing } from '../service/closing.ts';
import type { Service } from '../service/service.ts';
import { routesOf } from './routes.ts';

export type ServedApi = {
  readonly service: Service;
  readonly readiness: ReadReadiness;
  /** Closes connections that an edge in this process serves under a name. */
  readonly dropTraffic: (hostname: string) => void;
};

export type SignpostApi = {
  /** Callable without a socket. */
  readonly api: Api;
  /** Writes pending counts and ends streams. Call it before closing the database. */
  close(): Promise<void>;
};

/** Opens no port. */
export function createSignpostApi({ service, readiness, dropTraffic }: ServedApi): SignpostApi {
  const { config, database, log, now } = service;
  const { prisma } = database;
  const authenticate = createAuthenticate({ findKey: createApiKeyStore(prisma).find, now });
  const limits = openRateLimiters({ config, database, log, now });
  const usage = createKeyUsage({ store: createKeyUsageStore(prisma), log, now });
  const answers = createIdempotentAnswerStore(prisma);
  const streams = composeStreams(service, authenticate);
  const trusted = trustedProxies(config.api.trustedProxies);
  // The path that a proxy adds; routes start with /v1, and the base URL ends with it.
  const basePath = new URL(config.api.baseUrl ?? 'http://localhost/v1').pathname.slice(
    0,
    -'/v1'.length,
  );
  const isSecret = createIsSecret(config.apiKey);
  const counted = service.metrics && { count: service.metrics.request };
  const api = createApi({
    routes: routesOf({
      service,
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
    idempotency: createIdempotency({ transact: createTransact(prisma), answers, now }),
    cors: createCors(config.api.corsOrigins),
    isSecret,
    basePath,
    docsUrl: (config.api.baseUrl ?? '/v1').replace(/\/v1$/, '/docs'),
    log,
    ...counted,
  });
  const sessionSecret = service.secrets.session;
  const queueBoard = createQueueBoard(service.queues);
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

/** The URL has no trailing slash. Rejects if the port cannot be opened. */
export async function startApi(
  served: ServedApi,
  closings: Closing[],
): Promise<{ api: Api; address: string }> {
  const { api, close } = createSignpostApi(served);
  closings.push(close);
  const { host, port } = served.service.config.http;
  const { trustedProxies } = served.service.config.api;
  const total = Math.min(defaultConnectionLimits.total, shareDescriptors(descriptorLimit()).api);
  const connections = { ...defaultConnectionLimits, total };
  const server = await listenHttp(api, { host, port, trustedProxies, connections });
  closings.push((deadlineMs) => server.close(deadlineMs));
  const name = host.includes(':') ? `[${host}]` : host;
  return { api, address: `http://${name}:${server.address.port}` };
}

export type ComposedStreams = {
  readonly open: OpenStream;
  /** Stops all reads and writes. */
  close(): void;
};

export function composeStreams(
  { config, database, log, now, queues }: Service,
  authenticate: Authenticate,
): ComposedStreams {
  const { lastNumbers, page } = createEventFeedStore(database);
  const feed = createFeed({ lastNumbers, log });
  const store = createWatchedDomainStore(database.prisma);
  const checkFeed = createCheckFeed({ lastChecks: store.lastChecks, log });
  const watching = createWatching({
    store,
    promote: (domain) => queues.promote('check-dns', domain),
    now,
    log,
    checkEveryMs: ladder.watchedWaitMs / config.timeScale,
  });
  return {
    open: createOpenStream({
      feed,
      checkFeed,
      page: sharePages(page),
      lastNumbers,
      slots: createSlots(defaultStreamLimits),
      watching,
      isStillAuthorized: createIsStillAuthorized(authenticate),
      log,
    }),
    close() {
      feed.close();
      checkFeed.close();
      watching.close();
    },
  };
}
