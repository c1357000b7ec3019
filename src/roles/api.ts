/** The API role: what stands between a request and its route, and the port. */

import type { Config } from '../config/config.ts';
import { installation } from '../core/accounts/access.ts';
import { ladder, scaleOf } from '../core/life/ladder.ts';
import { withDashboard } from '../dashboard/dashboard.ts';
import { createSessions, type Sessions, type SessionsDeps } from '../dashboard/sessions.ts';
import { createAccountStore } from '../db/accounts.ts';
import { createApiKeyStore } from '../db/api-keys.ts';
import { createAuditStore } from '../db/audit.ts';
import { createWatchedDomainStore } from '../db/domains/watched-domains.ts';
import { createTransact } from '../db/engine/transaction.ts';
import { createEventFeedStore } from '../db/events.ts';
import { createIdempotentAnswerStore } from '../db/idempotent-answers.ts';
import { createKeyUsageStore } from '../db/key-usage.ts';
import { createSessionStore } from '../db/sessions.ts';
import { createCheckFeed } from '../events/check-feed.ts';
import { createFeed, sharePages } from '../events/feed.ts';
import { createWatching } from '../events/watching.ts';
import { createActFor } from '../http/keys/act-for.ts';
import { createAuthenticate, createIsSecret, type IsSecret } from '../http/keys/auth.ts';
import { createKeyUsage } from '../http/keys/key-usage.ts';
import { openRateLimiters } from '../http/limits/rate-limit.ts';
import { type Api, createApi } from '../http/pipeline/api.ts';
import { type AuditDeps, createAudit } from '../http/pipeline/audit.ts';
import { createCors } from '../http/pipeline/cors.ts';
import { createIdempotency } from '../http/pipeline/idempotency.ts';
import type { Headers } from '../http/pipeline/route.ts';
import {
  createIsStillAuthorized,
  createOpenStream,
  createSlots,
  defaultStreamLimits,
  type OpenStream,
} from '../http/routes/streams.ts';
import { listen } from '../http/socket/server.ts';
import { addressGroup, clientAddress, trustedProxies } from '../net/client-address.ts';
import { defaultConnectionLimits, descriptorLimit, shareDescriptors } from '../net/connections.ts';
import { createQueueBoard } from '../ops/queue-dashboard.ts';
import type { ReadReadiness } from '../ops/readiness.ts';
import type { Closing, Parts } from './parts.ts';
import { routesOf } from './routes.ts';

/** What the role is handed when its process starts. */
export type Served = {
  readonly parts: Parts;
  readonly readiness: ReadReadiness;
  /** Ends what an edge in this process serves under a name. */
  readonly dropTraffic: (hostname: string) => void;
};

/** The API without its port. */
export type SignpostApi = {
  /** Callable without a socket. */
  readonly api: Api;
  /** Writes what was counted and ends the streams. To be called before the database is closed. */
  close(): Promise<void>;
};

/** Builds the API with everything that its routes call. Opens no port. */
export function createSignpostApi({ parts, readiness, dropTraffic }: Served): SignpostApi {
  const { config, database, log, now } = parts;
  const { prisma } = database;
  const keys = composeKeys(parts);
  const limits = openRateLimiters({ config, database, log, now });
  const usage = createKeyUsage({ store: createKeyUsageStore(prisma), log, now });
  const streams = composeStreams(parts, keys);
  const from = composeFrom(config);
  const basePath = basePathOf(config.api.baseUrl);
  const isSecret = createIsSecret(config.apiKey);
  const { audit, idempotency, transact } = composeChanges(parts, from.addressOf, isSecret);
  const sessions = composeSessions(parts, { transact, note: audit.note });
  const counted = parts.metrics && { count: parts.metrics.request };
  const api = createApi({
    routes: routesOf({
      parts,
      readiness,
      dropTraffic,
      forgetKey: keys.authenticate.forget,
      forgetSession: sessions.forget,
      openStream: streams.open,
      streamsOf: streams.ofAccount,
      requestsOf: limits.perAccount.used,
    }),
    ...keys,
    limits,
    usage,
    addressOf: from.groupOf,
    idempotency,
    audit,
    cors: createCors(config.api.corsOrigins),
    isSecret,
    basePath,
    log,
    ...counted,
  });
  const queueBoard = createQueueBoard(parts.queues);
  return {
    api: withDashboard(api, {
      sessions,
      addressOf: ({ remoteAddress, headers }) => from.groupOf(remoteAddress, headers),
      basePath,
      now,
      log,
      isSecret,
      ...counted,
      queueBoard,
      audit,
    }),
    async close() {
      streams.close();
      sessions.close();
      await Promise.all([usage.close(), limits.close()]);
    },
  };
}

/** How keys are recognized, and the accounts that they act for; both remember for 5 s. */
function composeKeys({ config, database, now }: Parts) {
  const { prisma } = database;
  const { limits } = config.accounts;
  const accounts = createAccountStore(prisma);
  return {
    authenticate: createAuthenticate({ findKey: createApiKeyStore(prisma).find, limits, now }),
    actFor: createActFor({
      findAccount: (id) => accounts.find(installation, id),
      limits,
      now,
    }),
  };
}

/** What every change goes through: once for an Idempotency-Key, and into the audit log with its effect. */
function composeChanges(
  { database: { prisma }, now }: Parts,
  addressOf: AuditDeps['addressOf'],
  isSecret: IsSecret,
) {
  const transact = createTransact(prisma);
  const answers = createIdempotentAnswerStore(prisma);
  const store = createAuditStore(prisma);
  return {
    transact,
    idempotency: createIdempotency({ transact, answers, now }),
    audit: createAudit({ store, transact, addressOf, isSecret, now }),
  };
}

/** Where a request comes from: its address, behind trusted proxies as they saw it, and the group that it is counted in. */
function composeFrom({ api }: Config) {
  const trusted = trustedProxies(api.trustedProxies);
  const addressOf: AuditDeps['addressOf'] = (remoteAddress, headers) =>
    clientAddress(remoteAddress, headers['x-forwarded-for'], trusted);
  const groupOf = (remoteAddress: string | undefined, headers: Headers) =>
    addressGroup(addressOf(remoteAddress, headers));
  return { addressOf, groupOf };
}

function composeSessions(
  { config, database, log, now, secrets }: Parts,
  changes: Pick<SessionsDeps, 'transact' | 'note'>,
): Sessions {
  const store = createSessionStore(database.prisma);
  const { plans: accountPlans } = config.accounts;
  return createSessions({ store, secret: secrets.session, now, log, accountPlans, ...changes });
}

/** The path that a proxy puts before ours; routes begin with /v1, which the base URL ends with. */
function basePathOf(baseUrl = 'http://localhost/v1'): string {
  return new URL(baseUrl).pathname.slice(0, -'/v1'.length);
}

/**
 * Opens the API's port and resolves with what answers there, and its URL without a trailing slash. Adds to `closings`
 * what ends both. Rejects where the port cannot be had.
 */
export async function startApi(
  served: Served,
  closings: Closing[],
): Promise<{ api: Api; address: string }> {
  const { api, close } = createSignpostApi(served);
  closings.push(close);
  const { host, port } = served.parts.config.http;
  const { trustedProxies } = served.parts.config.api;
  const total = Math.min(defaultConnectionLimits.total, shareDescriptors(descriptorLimit()).api);
  const connections = { ...defaultConnectionLimits, total };
  const server = await listen(api, { host, port, trustedProxies, connections });
  served.parts.ownPorts.add(server.address.port);
  closings.push((deadlineMs) => server.close(deadlineMs));
  const name = host.includes(':') ? `[${host}]` : host;
  return { api, address: `http://${name}:${server.address.port}` };
}

/** The event streams of a process. */
export type ComposedStreams = {
  readonly open: OpenStream;
  /** How many of them an account has open. */
  ofAccount(accountId: string): number;
  /** Reads and writes nothing more. */
  close(): void;
};

/** Builds the streams over feeds that all of them share. */
export function composeStreams(
  { config, database, log, now, queues }: Parts,
  keys: Parameters<typeof createIsStillAuthorized>[0],
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
    checkEveryMs: ladder.pageOpenMs * scaleOf(config.verifyWindowMs),
  });
  const slots = createSlots(defaultStreamLimits);
  return {
    ofAccount: slots.ofAccount,
    open: createOpenStream({
      feed,
      checkFeed,
      page: sharePages(page),
      lastNumbers,
      slots,
      watching,
      isStillAuthorized: createIsStillAuthorized(keys),
      now,
      log,
    }),
    close() {
      feed.close();
      checkFeed.close();
      watching.close();
    },
  };
}
