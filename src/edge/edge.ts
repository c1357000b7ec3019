/** The edge serves customers' domains: HTTP for challenges and redirects, HTTPS for deploys. */

import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RouteNotification } from '../core/operations/edge-route.ts';
import { trustedProxies } from '../net/client-address.ts';
import {
  countConnections,
  descriptorLimit,
  listenFault,
  shareDescriptors,
} from '../net/connections.ts';
import { createKeyedCount, type KeyedLimits } from '../net/keyed-count.ts';
import { limitedLog } from '../ops/log.ts';
import { type EdgeCounters, uncounted } from '../ops/metrics/traffic.ts';
import { BUNDLES_MAX, createBundles, createGateway } from './caddy/gateway.ts';
import type { EdgeLog, EdgeService } from './edge-service.ts';
import { type EdgeLimits, edgeLimits } from './limits.ts';
import { type EdgeListener, gatewayListener, plainListener, tlsListener } from './listeners.ts';
import { createOpenConnections, type OpenConnections } from './open-connections.ts';
import {
  type HttpsVisits,
  type HttpVisits,
  handleHttp,
  handleHttps,
  serverNameOf,
  siteFor,
  type Visit,
} from './ports.ts';
import { pages, sendPage } from './proxy/pages.ts';
import { createProxy } from './proxy/proxy.ts';
import { createReaderWatch } from './proxy/slow-readers.ts';
import { type UpstreamReach, upstreamReach } from './proxy/upstream.ts';
import { createRoutes, type Routes } from './routes/routes.ts';
import { createPreparation, type ReadySites } from './tls/prepare.ts';
import {
  createLoadCertificate,
  createTicketKeys,
  createTlsServers,
  TLS_SERVERS_MAX,
} from './tls/secure-contexts.ts';
import { answerChallenges } from './tls/tls-alpn.ts';
import { createVisitorLimits, type VisitorRules } from './visitor-limits.ts';

/** `gatewayPort`: the port for Caddy, which then owns the other two. */
export type EdgePorts = {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly gatewayPort?: number;
};

/** `publicHttpsPort`: used in redirects; defaults to the listening port. */
type EdgePlace = Omit<EdgePorts, 'gatewayPort'> & {
  readonly host: string;
  readonly publicHttpsPort?: number | undefined;
};

/** A given rule replaces the whole one of the configuration. */
export function createEdge(service: EdgeService, replaced: Partial<EdgeRules> = {}) {
  const log = limitedLog(service.log);
  const rules = { ...edgeRulesOf(service), ...replaced };
  const { limits } = rules;
  const count = service.metrics?.edge ?? uncounted;
  const proxy = createProxy(service, rules.reach, limits);
  const routes = createRoutes(service, limits);
  const connections = createOpenConnections(routes, log, limits);
  const requests = createKeyedCount(rules.requests);
  const http: HttpVisits = { lookups: service.lookups, routes };
  const https: HttpsVisits = { ...http, connections, count, log, proxy, requests };
  const watchReader = createReaderWatch(limits, count);
  let redirectPort = 443;
  const guarded = guard(log, count);
  const visits: Visits = {
    http: guarded('http', (visit) => handleHttp(http, redirectPort, visit)),
    https: guarded('https', (visit) => handleHttps(https, redirectPort, visit)),
  };
  const parts: FrontParts = {
    service,
    log,
    rules,
    routes,
    count,
    visits,
    connections,
    watchReader,
  };
  const { caddy } = service.config.edge;
  const front = caddy === undefined ? ownFront(parts) : caddyFront(parts, caddy);
  const preparation = createPreparation(service, routes, front);

  return {
    /** Port 0: any free one. All or none; the error names the variable. */
    async listen(place: EdgePlace): Promise<EdgePorts> {
      const ports = await front.listen(place);
      redirectPort = place.publicHttpsPort ?? ports.httpsPort;
      return ports;
    },
    /** Closes removed names' connections. Without it, the edge notices within about 4 s. */
    notify(notification: RouteNotification): void {
      routes.notify(notification);
      if (notification.kind === 'gone') connections.drop(notification.hostname);
      preparation.notify(notification);
    },
    /** Lets running requests finish until the deadline, then aborts them. It cannot be reopened. */
    async close(deadlineMs: number): Promise<void> {
      await front.close(deadlineMs);
      proxy.close();
    },
  };
}

export type Edge = ReturnType<typeof createEdge>;

type VisitHandler = (visit: Visit) => Promise<void>;
/** The handlers of the two ports; they do not reject. */
type Visits = { readonly http: VisitHandler; readonly https: VisitHandler };

/** Where visitors connect: own ports, or Caddy. */
type Front = Pick<Edge, 'listen' | 'close'> & ReadySites;

type FrontParts = {
  readonly service: EdgeService;
  readonly log: EdgeLog;
  readonly rules: EdgeRules;
  readonly routes: Routes;
  readonly count: EdgeCounters;
  readonly visits: Visits;
  readonly connections: OpenConnections;
  readonly watchReader: (socket: Socket) => void;
};

function ownFront(parts: FrontParts): Front {
  const { service, log, rules, routes, count, visits, connections, watchReader } = parts;
  const { limits } = rules;
  const handshakes = new EventEmitter();
  const findServer = createTlsServers({
    loadCertificate: createLoadCertificate(service),
    ticketKeys: createTicketKeys(service.secrets.tickets, service.now),
    handshakeMs: limits.handshakeMs,
    receiver: handshakes,
  });
  const visitors = createVisitorLimits(rules.visitors, log, count);
  const http = plainListener(
    (request, response) => void visits.http(direct(request, response)),
    { visitors, watchReader },
    limits,
  );
  const https = tlsListener(
    {
      handle: (request, response) => void visits.https(direct(request, response)),
      handshakes,
      async findServer(serverName) {
        const site = await siteFor(routes, serverName);
        return site === null ? null : findServer(site);
      },
      divert: answerChallenges(service, log, routes, limits),
      visitors,
      watchReader,
      connections,
      log,
      count,
    },
    limits,
  );
  return {
    async listen({ host, httpPort, httpsPort }) {
      const actual = await open(https, 'EDGE_HTTPS_PORT', host, httpsPort);
      try {
        return {
          httpPort: await open(http, 'EDGE_HTTP_PORT', host, httpPort),
          httpsPort: actual,
        };
      } catch (error) {
        await https.close(0);
        throw error;
      }
    },
    async close(deadlineMs) {
      await Promise.all([http.close(deadlineMs), https.close(deadlineMs)]);
    },
    makeReady: findServer,
    keptMax: TLS_SERVERS_MAX,
  };
}

function direct(request: IncomingMessage, response: ServerResponse): Visit {
  const { socket } = request;
  const client = socket.remoteAddress ?? 'unknown';
  return { request, response, client, serverName: serverNameOf(socket), connection: socket };
}

function caddyFront(
  { service, log, rules, routes, count, visits, connections, watchReader }: FrontParts,
  { secret, address, port }: NonNullable<EdgeService['config']['edge']['caddy']>,
): Front {
  const { isTrusted, connections: total, connectionsPerAddress: perAddress } = rules.visitors;
  const bundles = createBundles(createLoadCertificate(service));
  const answer = createGateway({
    secret,
    async findCertificate(serverName) {
      const site = await siteFor(routes, serverName);
      return site === null ? null : bundles(site.certificateId);
    },
    handleHttp: visits.http,
    handleHttps: visits.https,
    connections,
    visitors: countConnections({ total, perAddress }, isTrusted),
    isTrusted,
    count,
    log,
  });
  const handle: Parameters<typeof gatewayListener>[0] = (...of) => void answer(...of);
  const gateway = gatewayListener(handle, watchReader, total, rules.limits);
  return {
    async listen({ httpPort, httpsPort }) {
      const gatewayPort = await open(gateway, 'EDGE_CADDY_ADDRESS', address, port);
      return { httpPort, httpsPort, gatewayPort };
    },
    close: gateway.close,
    makeReady: ({ certificateId }) => bundles(certificateId),
    keptMax: BUNDLES_MAX,
  };
}

/** The only place that catches exceptions and counts responses. */
function guard(log: EdgeLog, count: EdgeCounters) {
  return (port: 'http' | 'https', handle: VisitHandler): VisitHandler =>
    async (visit) => {
      const { response } = visit;
      response.once('close', () => {
        if (response.headersSent) count.request(port, response.statusCode);
      });
      try {
        await handle(visit);
      } catch (error) {
        log.error({ err: error }, 'the edge could not answer');
        sendPage(response, pages.outOfOrder());
      }
    };
}

function open(
  listener: EdgeListener,
  variable: Parameters<typeof listenFault>[0],
  host: string,
  port: number,
): Promise<number> {
  return listener.listen(host, port).catch((cause: unknown) => {
    throw listenFault(variable, host, port, cause);
  });
}

// Limits and allowed addresses of the edge, from the configuration.

export type EdgeRules = {
  readonly visitors: VisitorRules;
  /** Concurrent ones to deploys, in total and per project. Each uses its own connection. */
  readonly requests: KeyedLimits;
  readonly reach: UpstreamReach;
  readonly limits: EdgeLimits;
};

/** For both ports together: about 50 KB each, including the handshake. */
const CONNECTIONS_MAX = 20_000;

function edgeRulesOf(
  service: Pick<EdgeService, 'config' | 'ownAddresses' | 'ownListeners'>,
): EdgeRules {
  const { api, edge } = service.config;
  const descriptors = shareDescriptors(descriptorLimit());
  return {
    visitors: {
      connections: Math.min(CONNECTIONS_MAX, descriptors.visitors),
      connectionsPerAddress: edge.connectionsPerAddress,
      handshakesPerSecond: edge.handshakesPerSecond,
      handshakesPerSecondAndAddress: edge.handshakesPerAddress,
      isTrusted: trustedProxies(api.trustedProxies),
    },
    requests: {
      total: Math.min(edge.requests, descriptors.upstreams),
      perKey: edge.requestsPerProject,
    },
    reach: upstreamReach(service),
    limits: edgeLimits,
  };
}
