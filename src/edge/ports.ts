/** The HTTPS port: one certificate per name (SNI, RFC 6066, 3), then a redirect or the deploy. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { KeyedCount } from '../net/keyed-count.ts';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';
import type { EdgeLog, EdgeService } from './edge-service.ts';
import type { OpenConnections, VisitorConnection } from './open-connections.ts';
import { sayHsts } from './proxy/forwarded-headers.ts';
import { pages, sendPage } from './proxy/pages.ts';
import type { UpstreamProxy } from './proxy/proxy.ts';
import {
  canonicalHostname,
  followRedirect,
  type RequestTarget,
  redirectToHttps,
  requestTarget,
} from './routes/redirect.ts';
import type { Routes } from './routes/routes.ts';
import type { Site } from './tls/secure-contexts.ts';

export type Visit = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** From the TLS handshake; null if missing or not a domain. */
  readonly serverName: string | null;
  /** `unknown` if the connection is gone. */
  readonly client: string;
  /** Closed when the name is removed. */
  readonly connection: VisitorConnection;
};

/** Null for an unknown name, so the handshake fails. Throws what the lookup throws. */
export async function siteFor(
  routes: Pick<Routes, 'find'>,
  serverName: string,
): Promise<Site | null> {
  const hostname = canonicalHostname(serverName);
  const route = hostname === null ? null : await routes.find(hostname);
  if (hostname === null || route === null || route.certificateId === null) return null;
  const { projectId, certificateId } = route;
  return { hostname, projectId, certificateId };
}

/** What answers visits over HTTP. */
export type HttpVisits = {
  /** Challenges are only looked up for held names. */
  readonly lookups: Pick<EdgeService['lookups'], 'answerProbe' | 'findChallenge'>;
  readonly routes: Pick<Routes, 'find'>;
};

/** Over HTTPS, visits are also passed on to deploys. */
export type HttpsVisits = HttpVisits & {
  readonly connections: Pick<OpenConnections, 'bindTo'>;
  readonly count: Pick<EdgeCounters, 'refused' | 'underWay'>;
  readonly log: EdgeLog;
  readonly proxy: UpstreamProxy;
  /** By project. */
  readonly requests: Pick<KeyedCount, 'admit'>;
};

/** Looks up the route again: the domain can be removed at any time. `httpsPort`: for redirects. */
export async function handleHttps(
  parts: HttpsVisits,
  httpsPort: number,
  { request, response, serverName, client, connection }: Visit,
): Promise<void> {
  const { connections, count, log, proxy, requests, routes } = parts;
  const target = requestTarget(request, httpsPort);
  if (target === null) return sendPage(response, pages.badRequest());
  if (request.method === 'TRACE') return sendPage(response, pages.notAllowed());
  // RFC 9110, 15.5.20 and 7.4: a connection is only valid for the name in its certificate request.
  if (target.hostname !== serverName) return sendPage(response, pages.misdirected());

  const route = await routes.find(target.hostname);
  if (route === null) return sendPage(response, pages.noLongerServed(target.hostname));
  // A proxy in front can redirect CAs here. Other tokens can be the deploy's.
  const proof = await findKeyAuthorization(parts, target).catch((err: unknown) => {
    log.warn({ err }, 'a challenge over HTTPS could not be found: its query failed');
    return null;
  });
  if (proof !== null) return sendKeyAuthorization(response, proof);
  sayHsts(response, route);
  const { redirect, upstream, projectId } = route;
  if (redirect !== null) return followRedirect(response, redirect, target, httpsPort);
  if (upstream === null) return sendPage(response, pages.notDeployed(target.hostname));
  const leave = requests.admit(projectId);
  if (typeof leave === 'string') {
    count.refused(leave === 'key' ? 'project' : leave);
    return sendPage(response, pages.busy(target.hostname));
  }
  count.underWay(1);
  whenOver(request, response, () => {
    leave();
    count.underWay(-1);
  });
  connections.bindTo(connection, projectId);
  await proxy.pass({ request, response, client, target, upstream, route });
}

/** Calls `act` once. A WebSocket ends with its connection. */
function whenOver({ socket }: IncomingMessage, response: ServerResponse, act: () => void): void {
  const over = () => {
    response.off('close', over);
    socket.off('close', over);
    act();
  };
  response.once('close', over);
  socket.once('close', over);
}

/** Null if it is not a domain. */
export function serverNameOf(socket: Socket): string | null {
  // A property of TLSSocket that @types/node lacks.
  const name = 'servername' in socket ? socket.servername : null;
  return typeof name === 'string' ? canonicalHostname(name) : null;
}

/** RFC 8555, 8.3: the token is base64url; ours are never longer. */
const CHALLENGE = /^\/\.well-known\/acme-challenge\/([\w-]{1,128})(?:\?|$)/;

/** `httpsPort`: the port of redirects. Throws what the lookups throw. */
export async function handleHttp(
  parts: HttpVisits,
  httpsPort: number,
  { request, response }: Pick<Visit, 'request' | 'response'>,
): Promise<void> {
  const target = requestTarget(request, httpsPort);
  if (target === null) return sendPage(response, pages.badRequest());
  if (request.method === 'TRACE') return sendPage(response, pages.notAllowed());
  // First, because a name with a certificate is challenged again for renewal.
  if (CHALLENGE.test(target.path)) {
    const proof = await findKeyAuthorization(parts, target);
    return proof === null
      ? sendPage(response, pages.noChallenge())
      : sendKeyAuthorization(response, proof);
  }

  const route = await parts.routes.find(target.hostname);
  if (route === null) return sendPage(response, pages.unknownHost(target.hostname));
  // In one step, and even before the name's own certificate is issued.
  if (route.redirect !== null) return followRedirect(response, route.redirect, target, httpsPort);
  if (route.certificateId === null) {
    return sendPage(response, pages.certificatePending(target.hostname));
  }
  redirectToHttps(response, target, httpsPort);
}

/** Null for other paths and unknown tokens. */
async function findKeyAuthorization(
  { lookups, routes }: HttpVisits,
  { hostname, path }: RequestTarget,
): Promise<string | null> {
  const [, token] = CHALLENGE.exec(path) ?? [];
  if (token === undefined) return null;
  const probe = lookups.answerProbe(token, hostname);
  if (probe !== null) return probe;
  // From memory, because anyone can request any name.
  return (await routes.find(hostname)) === null ? null : lookups.findChallenge(token, hostname);
}

function sendKeyAuthorization(response: ServerResponse, keyAuthorization: string): void {
  response.writeHead(200, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(keyAuthorization),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  response.end(keyAuthorization);
}
