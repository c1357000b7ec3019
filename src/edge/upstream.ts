/** Opens requests to deploys over kept connections. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { hostOf } from '../net/destination.ts';
import { upstreamHeaders } from './forwarded-headers.ts';
import type { RequestTarget } from './request-target.ts';
import {
  type IsAllowed,
  judgedLookup,
  refuseLiteral,
  type UpstreamReach,
} from './upstream-reach.ts';

/** What a request is passed on with. */
export type Passed = {
  readonly request: IncomingMessage;
  readonly target: RequestTarget;
  /** An http or https URL. */
  readonly upstream: string;
  /** The project's primary domain. */
  readonly primary: string | null;
};

export type Upstreams = {
  /**
   * A request as the client's, to be given its body. Throws UpstreamRefused, which may also be the request's error, where
   * the upstream is out of reach, and a TypeError for what is no URL.
   */
  readonly open: (passed: Passed, isAllowed: IsAllowed) => ClientRequest;
  readonly close: () => void;
};

/** Connections of their own; how long an answer may take is the caller's to say. */
export function createUpstreams({ lookup }: Pick<UpstreamReach, 'lookup'>): Upstreams {
  const http = new HttpAgent({ keepAlive: true });
  const https = new HttpsAgent({ keepAlive: true });
  return {
    open({ request, target, upstream, primary }, isAllowed) {
      const url = new URL(upstream);
      refuseLiteral(url, isAllowed);
      const host = hostOf(url);
      const options = {
        method: request.method ?? 'GET',
        host,
        port: url.port,
        path: url.pathname.replace(/\/$/, '') + target.path,
        headers: upstreamHeaders(request, target.authority, primary),
        lookup: judgedLookup(url, lookup, isAllowed),
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
