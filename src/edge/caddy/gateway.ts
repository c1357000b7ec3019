/** Caddy requests certificates and forwards requests here, with a secret (docs/run/caddy.md). */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { EdgeCertificate } from '../../certificates/served/proof-certificate.ts';
import { clientAddress } from '../../net/client-address.ts';
import type { ConnectionCount } from '../../net/connections.ts';
import { isSameSecret } from '../../net/constant-time.ts';
import { loadOnce } from '../../net/load-once.ts';
import { createMinuteLog } from '../../ops/log.ts';
import type { EdgeCounters } from '../../ops/metrics/traffic.ts';
import type { EdgeLog } from '../edge-service.ts';
import type { OpenConnections } from '../open-connections.ts';
import type { Visit } from '../ports.ts';
import { pages, sendPage } from '../proxy/pages.ts';
import { asksForWebSocket } from '../proxy/websocket.ts';
import { canonicalHostname } from '../routes/redirect.ts';
import type { LoadCertificate } from '../tls/secure-contexts.ts';

/** Caddy overwrites the visitor's values, and the edge removes them. */
export const gatewayFields = {
  secret: 'Signpost-Edge-Secret',
  /** `http` or `https`. */
  scheme: 'Signpost-Scheme',
  serverName: 'Signpost-Server-Name',
  /** `HTTP/1.1`, `HTTP/2.0` or `HTTP/3.0`. */
  protocol: 'Signpost-Protocol',
} as const;

/** User of Caddy's certificate requests (RFC 7617); the password is the secret. */
export const GATEWAY_USER = 'caddy';
/** Has the parameter `server_name`. */
export const CERTIFICATE_PATH = '/certificate';

/** Lookups here must not wait for the database longer than a visitor would. */
type GatewayParts = {
  readonly log: EdgeLog;
  readonly secret: string;
  /** PEM chain and key of a name; null: the handshake must fail. */
  readonly findCertificate: (serverName: string) => Promise<Uint8Array | null>;
  readonly handleHttp: (visit: Visit) => Promise<void>;
  readonly handleHttps: (visit: Visit) => Promise<void>;
  readonly connections: Pick<OpenConnections, 'add'>;
  /** Counts requests by visitor address. */
  readonly visitors: ConnectionCount;
  /** Load balancers in front of Caddy whose `X-Forwarded-For` is trusted. */
  readonly isTrusted: (address: string) => boolean;
  readonly count: Pick<EdgeCounters, 'handshake' | 'refused'>;
};

/** Refuses requests that do not come from Caddy with 403. Rejects if a lookup rejects. */
export function createGateway(
  parts: GatewayParts,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const takePlace = createPlaces(parts.visitors);
  const isSecret = sameAs(parts.secret);
  const report = createMinuteLog(
    parts.log,
    'request without Caddy’s secret was refused: set EDGE_CADDY_SECRET to the same value for Caddy and Signpost',
  );
  const isCaddy = sameAs(
    `Basic ${Buffer.from(`${GATEWAY_USER}:${parts.secret}`).toString('base64')}`,
  );
  return async (request, response) => {
    const { headers } = request;
    // Every forwarded visitor request has this field.
    const secret = headers[nameOf('secret')];
    if (secret === undefined && isCaddy(headers.authorization)) {
      return answerCertificate(parts, request, response);
    }
    if (!isSecret(secret)) {
      parts.count.refused('gateway_secret');
      report({ address: clientAddress(request.socket.remoteAddress, undefined, () => false) });
      response.writeHead(403, { 'Content-Length': 0 }).end();
      return;
    }
    const client = visitorOf(request, parts.isTrusted);
    if (!takePlace(client, request, response)) {
      parts.count.refused('connections');
      return sendPage(response, pages.tooMany());
    }
    return passVisit(parts, client, request, response);
  };
}

function nameOf(field: keyof typeof gatewayFields): string {
  return gatewayFields[field].toLowerCase();
}

function sameAs(wanted: string): (given: string | string[] | undefined) => boolean {
  return (given) => isSameSecret(wanted, typeof given === 'string' ? given : '');
}

/** An aborted request still counts this long: resetting costs the edge more than the visitor. */
const BROKEN_OFF_MS = 5_000;

type Place = { readonly leave: () => void; readonly response: ServerResponse };

/** Counts until the connection is reused or closed: Caddy can hold a response for a slow reader. */
function createPlaces(visitors: ConnectionCount) {
  const places = new WeakMap<Socket, Place>();

  function end(socket: Socket): void {
    const place = places.get(socket);
    if (place === undefined) return;
    if (place.response.writableFinished) place.leave();
    else setTimeout(place.leave, BROKEN_OFF_MS).unref();
  }

  return (client: string, { socket }: IncomingMessage, response: ServerResponse): boolean => {
    const before = places.get(socket);
    before?.leave();
    const leave = visitors.admit(client);
    if (leave === null) return false;
    if (before === undefined) socket.once('close', () => end(socket));
    places.set(socket, { leave, response });
    return true;
  };
}

async function passVisit(
  { handleHttp, handleHttps, connections }: GatewayParts,
  client: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Caddy's connections are shared, except those that became a WebSocket.
  const connection = asksForWebSocket(request) ? request.socket : response;
  const visit = { request, response, client, connection };
  if (request.headers[nameOf('scheme')] !== 'https') {
    return handleHttp({ ...visit, serverName: null });
  }
  const serverName = serverNameOf(request);
  if (serverName !== null) connections.add(serverName, connection);
  return handleHttps({ ...visit, serverName });
}

/** Caddy 2.6 does not provide the TLS name for HTTP/3; there, the request's host is used. */
function serverNameOf({ headers }: IncomingMessage): string | null {
  const said = canonicalHostname(String(headers[nameOf('serverName')] ?? ''));
  if (said !== null || headers[nameOf('protocol')] !== 'HTTP/3.0') return said;
  return canonicalHostname((headers.host ?? '').replace(/:\d*$/, ''));
}

/** Caddy appends the address that it saw. */
function visitorOf({ headers }: IncomingMessage, isTrusted: GatewayParts['isTrusted']): string {
  const chain = String(headers['x-forwarded-for'] ?? '');
  const comma = chain.lastIndexOf(',');
  const before = comma === -1 ? undefined : chain.slice(0, comma);
  return clientAddress(chain.slice(comma + 1).trim(), before, isTrusted);
}

/** Caddy and the visitor wait this long; then the handshake fails. */
const CERTIFICATE_MS = 3_000;

async function answerCertificate(
  { findCertificate, count, log }: GatewayParts,
  { url = '' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const late = setTimeout(() => {
    log.warn({}, 'certificate lookup timed out');
    refuse(503);
  }, CERTIFICATE_MS);
  function refuse(status: 204 | 503): void {
    if (response.headersSent) return;
    count.handshake('failed');
    response.writeHead(status).end();
  }
  try {
    const certificate = await findCertificate(serverNameIn(url));
    if (response.headersSent) return; // it arrived too late
    if (certificate === null) return refuse(204);
    count.handshake('completed');
    response.writeHead(200, {
      'Content-Type': 'application/pem-certificate-chain', // RFC 8555, 9.1
      'Content-Length': certificate.byteLength,
      'Cache-Control': 'no-store',
    });
    response.end(certificate);
  } catch (err) {
    log.error({ err }, 'no certificate could be loaded');
    refuse(503);
  } finally {
    clearTimeout(late);
  }
}

function serverNameIn(target: string): string {
  const [, query = ''] = target.split('?', 2);
  return new URLSearchParams(query).get('server_name') ?? '';
}

/** The number of secure contexts kept elsewhere; about 3 KB each, including the key. */
export const BUNDLES_MAX = 1_000;

/** Chain and key in one file, as Caddy expects. Concurrent handshakes share one load. */
export function createBundles(
  loadCertificate: LoadCertificate,
): (certificateId: string) => Promise<Uint8Array | null> {
  const kept = new LRUCache<string, Buffer>({ max: BUNDLES_MAX });
  return loadOnce(kept, async (certificateId: string) => {
    const certificate = await loadCertificate(certificateId);
    return certificate === null ? null : bundleOf(certificate);
  });
}

function bundleOf({ chain, key }: EdgeCertificate): Buffer {
  const separator = chain.endsWith('\n') ? '' : '\n';
  const bundle = Buffer.concat([Buffer.from(chain + separator), Buffer.from(key)]);
  if (typeof key !== 'string') key.fill(0);
  return bundle;
}
