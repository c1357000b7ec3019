/**
 * The listener that serves customers' domains: HTTP for challenges and redirects, HTTPS for the deploys.
 * What it knows of a domain it asks for when it needs it, and remembers as long as that counts (routes.ts).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouteNotification } from '../core/operations/edge-route.ts';
import { listenFault } from '../net/connections.ts';
import { type EdgeCounters, uncounted } from '../ops/metrics/traffic.ts';
import { type EdgeDeps, edgeLimits } from './deps.ts';
import { type Listener, plainListener, tlsListener } from './listeners.ts';
import { createOpenConnections } from './open-connections.ts';
import { contextFor, handleHttp, handleHttps } from './ports.ts';
import { pages, sendPage } from './proxy/pages.ts';
import { createProxy } from './proxy/proxy.ts';
import { createReaderWatch } from './proxy/slow-readers.ts';
import { createRequestLimit } from './request-limit.ts';
import { createRoutes } from './routes/routes.ts';
import { createSecureContexts } from './tls/secure-contexts.ts';
import { answerChallenges } from './tls/tls-alpn.ts';
import { createVisitorLimits } from './visitor-limits.ts';

export type EdgePorts = { readonly httpPort: number; readonly httpsPort: number };

/** `publicHttpsPort`: where visitors reach the HTTPS port, and redirects lead; missing: where it listens. */
export type EdgePlace = EdgePorts & {
  readonly host: string;
  readonly publicHttpsPort?: number | undefined;
};

export type Edge = {
  /**
   * Opens both ports (0: any free one) and says which. Where one cannot be had it rejects, with neither open, and names
   * the variable that chose it.
   */
  readonly listen: (where: EdgePlace) => Promise<EdgePorts>;
  /**
   * Takes news of routes. A name that is gone is forgotten, and what is open for it is cut off: answers under way, and
   * connections that wait for a request. Where nobody calls this the edge finds out by itself, within some 4 s.
   */
  readonly notify: (notification: RouteNotification) => void;
  /** Stops accepting, lets requests on their way finish until the deadline, then cuts them off. */
  readonly close: (deadlineMs: number) => Promise<void>;
};

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** An edge that listens nowhere yet; it can be closed once and not opened again. */
export function createEdge(given: EdgeDeps): Edge {
  const deps = { ...given, log: limitedLog(given.log) };
  const limits = { ...edgeLimits, ...deps.limits };
  const count = deps.count ?? uncounted;
  const proxy = createProxy(deps.reach, limits, deps.log);
  const contexts = createSecureContexts(deps);
  const routes = createRoutes(deps, limits);
  const known = { ...deps, findRoute: routes.find };
  const connections = createOpenConnections(known, limits);
  const requests = createRequestLimit(deps.requests);
  const visited = { findRoute: routes.find, bindTo: connections.bindTo, requests, count };
  const visitors = createVisitorLimits(deps.visitors, deps.log, count);
  const watchReader = createReaderWatch(limits, count);
  let redirectPort = 443;

  const guarded = guard(deps.log, count);
  const http = plainListener(
    guarded('http', (request, response) => handleHttp(known, redirectPort, request, response)),
    { visitors, watchReader },
    limits,
  );
  const https = tlsListener(
    {
      handle: guarded('https', (request, response) =>
        handleHttps(visited, proxy, redirectPort, request, response),
      ),
      findContext: (serverName) => contextFor(known, contexts, serverName),
      divert: answerChallenges(known, limits),
      visitors,
      watchReader,
      connections,
      log: deps.log,
      count,
    },
    limits,
  );

  return {
    async listen({ host, httpPort, httpsPort, publicHttpsPort }) {
      const actual = await open(https, 'EDGE_HTTPS_PORT', host, httpsPort);
      redirectPort = publicHttpsPort ?? actual;
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
    notify(notification) {
      routes.notify(notification);
      if (notification.kind === 'gone') connections.drop(notification.hostname);
    },
    async close(deadlineMs) {
      await Promise.all([http.close(deadlineMs), https.close(deadlineMs)]);
      proxy.close();
    },
  };
}

/** The one place where a fault meets a visitor, and where answers are counted. */
function guard(log: EdgeDeps['log'], count: EdgeCounters) {
  return (port: 'http' | 'https', handle: Handler) =>
    (request: IncomingMessage, response: ServerResponse) => {
      response.once('close', () => {
        if (response.headersSent) count.request(port, response.statusCode);
      });
      handle(request, response).catch((error: unknown) => {
        log.error({ err: error }, 'the edge could not answer');
        sendPage(response, pages.outOfOrder());
      });
    };
}

function open(
  listener: Listener,
  variable: Parameters<typeof listenFault>[0],
  host: string,
  port: number,
): Promise<number> {
  return listener.listen(host, port).catch((cause: unknown) => {
    throw listenFault(variable, host, port, cause);
  });
}

const EVERY_MS = 5_000;

/**
 * The same log, with one line of each kind of error in `everyMs`: the first at once, and then, where more came, the last
 * of them with their `count`. A kind is what the line says, so there are few.
 */
export function limitedLog(log: EdgeDeps['log'], everyMs: number = EVERY_MS): EdgeDeps['log'] {
  const held = new Map<string, { count: number; fields: object }>();

  function say(fields: object, kind: string): void {
    log.error(fields, kind);
    const more = { count: 0, fields };
    held.set(kind, more);
    setTimeout(() => {
      held.delete(kind);
      if (more.count > 0) say({ ...more.fields, count: more.count }, kind);
    }, everyMs).unref();
  }

  function error(fields: object, kind: string): void {
    const more = held.get(kind);
    if (more === undefined) {
      say(fields, kind);
    } else {
      more.count += 1;
      more.fields = fields;
    }
  }

  return {
    debug: log.debug.bind(log),
    warn: log.warn.bind(log),
    error: (fields: unknown, kind: unknown = '') =>
      error(typeof fields === 'object' && fields !== null ? fields : { err: fields }, String(kind)),
  };
}
