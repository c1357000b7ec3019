/**
 * The listener that serves customers' domains: HTTP for challenges and redirects, HTTPS for the deploys.
 * Everything it knows of a domain it asks for at the moment it needs it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type EdgeDeps, edgeLimits } from './deps.ts';
import { handleHttp } from './http-port.ts';
import { contextFor, handleHttps } from './https-port.ts';
import { plainListener, tlsListener } from './listeners.ts';
import { pages, sendPage } from './pages.ts';
import { createProxy } from './proxy.ts';
import { createSecureContexts } from './secure-contexts.ts';

export type EdgePorts = { readonly httpPort: number; readonly httpsPort: number };

export type Edge = {
  /** Opens both ports (0: any free one) and says which; rejects, with neither open, where one cannot be had. */
  readonly listen: (where: { readonly host: string } & EdgePorts) => Promise<EdgePorts>;
  /** Stops accepting, lets requests on their way finish until the deadline, then cuts them off. */
  readonly close: (deadlineMs: number) => Promise<void>;
};

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** An edge that listens nowhere yet; it can be closed once and not opened again. */
export function createEdge(deps: EdgeDeps): Edge {
  const limits = { ...edgeLimits, ...deps.limits };
  const proxy = createProxy(limits, deps.log);
  const contexts = createSecureContexts(deps);
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
    guarded((request, response) => handleHttps(deps, proxy, request, response)),
    (serverName) => contextFor(deps, contexts, serverName),
    limits,
    deps.log,
  );

  return {
    async listen({ host, httpPort, httpsPort }) {
      redirectPort = await https.listen(host, httpsPort);
      try {
        return { httpPort: await http.listen(host, httpPort), httpsPort: redirectPort };
      } catch (error) {
        await https.close(0);
        throw error;
      }
    },
    async close(deadlineMs) {
      await Promise.all([http.close(deadlineMs), https.close(deadlineMs)]);
      proxy.close();
    },
  };
}
