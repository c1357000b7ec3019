/**
 * The listener that serves customers' domains: HTTP for challenges and redirects, HTTPS for the deploys.
 * Everything it knows of a domain it asks for at the moment it needs it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type EdgeDeps, edgeLimits } from './deps.ts';
import { handleHttp } from './http-port.ts';
import { contextFor, handleHttps } from './https-port.ts';
import { listenFault } from './listen-fault.ts';
import { type Listener, plainListener, tlsListener } from './listeners.ts';
import { createOpenConnections } from './open-connections.ts';
import { pages, sendPage } from './pages.ts';
import { createProxy } from './proxy.ts';
import { createSecureContexts } from './secure-contexts.ts';

export type EdgePorts = { readonly httpPort: number; readonly httpsPort: number };

export type Edge = {
  /**
   * Opens both ports (0: any free one) and says which. Where one cannot be had it rejects, with neither open, and names
   * the variable that chose it.
   */
  readonly listen: (where: { readonly host: string } & EdgePorts) => Promise<EdgePorts>;
  /**
   * Cuts off what is open for a name: answers under way, and connections that wait for a request. For who has just
   * removed it; where nobody calls this the edge finds out within about a second.
   */
  readonly drop: (hostname: string) => void;
  /** Stops accepting, lets requests on their way finish until the deadline, then cuts them off. */
  readonly close: (deadlineMs: number) => Promise<void>;
};

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** An edge that listens nowhere yet; it can be closed once and not opened again. */
export function createEdge(deps: EdgeDeps): Edge {
  const limits = { ...edgeLimits, ...deps.limits };
  const proxy = createProxy(limits, deps.log);
  const contexts = createSecureContexts(deps);
  const connections = createOpenConnections(deps, limits);
  let redirectPort = 443;

  /** The one place where a fault meets a visitor. */
  const guarded = (handle: Handler) => (request: IncomingMessage, response: ServerResponse) => {
    handle(request, response).catch((error: unknown) => {
      deps.log.error({ err: error }, 'the edge could not answer');
      sendPage(response, pages.outOfOrder());
    });
  };
  const http = plainListener(
    guarded((request, response) => handleHttp(deps, redirectPort, request, response)),
    limits,
  );
  const https = tlsListener(
    {
      handle: guarded((request, response) => handleHttps(deps, proxy, request, response)),
      findContext: (serverName) => contextFor(deps, contexts, serverName),
      connections,
      log: deps.log,
    },
    limits,
  );

  return {
    async listen({ host, httpPort, httpsPort }) {
      redirectPort = await open(https, 'EDGE_HTTPS_PORT', host, httpsPort);
      try {
        const actual = await open(http, 'EDGE_HTTP_PORT', host, httpPort);
        return { httpPort: actual, httpsPort: redirectPort };
      } catch (error) {
        await https.close(0);
        throw error;
      }
    },
    drop: connections.drop,
    async close(deadlineMs) {
      await Promise.all([http.close(deadlineMs), https.close(deadlineMs)]);
      proxy.close();
    },
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
