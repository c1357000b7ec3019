/** Opens requests to deploys over kept connections. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { upstreamHeaders } from './forwarded-headers.ts';
import type { RequestTarget } from './request-target.ts';

export type Upstreams = {
  /** A request as the client's, to be given its body; throws for an upstream that is no http or https URL. */
  readonly open: (upstream: string, target: RequestTarget, from: IncomingMessage) => ClientRequest;
  readonly close: () => void;
};

/** Connections of their own; how long an answer may take is the caller's to say. */
export function createUpstreams(): Upstreams {
  const http = new HttpAgent({ keepAlive: true });
  const https = new HttpsAgent({ keepAlive: true });
  return {
    open(upstream, target, from) {
      const url = new URL(upstream);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const options = {
        method: from.method ?? 'GET',
        host,
        port: url.port,
        path: url.pathname.replace(/\/$/, '') + target.path,
        headers: upstreamHeaders(from, target.authority),
      };
      if (url.protocol !== 'https:') return httpRequest({ ...options, agent: http });
      // Without this Node would ask the deploy for the customer's domain, which stands in Host.
      const servername = isIP(host) === 0 ? host : '';
      return httpsRequest({ ...options, servername, agent: https });
    },
    close() {
      http.destroy();
      https.destroy();
    },
  };
}
