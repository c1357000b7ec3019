/**
 * What Caddy asks of us where it stands in front (docs/edge.md): a certificate for each full handshake, and every request of
 * a visitor, which goes to its deploy through our proxy. Both come to one address of this machine, with a secret.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { EdgeCertificate } from '../../certificates/served/proof-certificate.ts';
import { clientAddress } from '../../net/client-address.ts';
import type { ConnectionCount } from '../../net/connections.ts';
import type { EdgeCounters } from '../../ops/metrics/traffic.ts';
import type { EdgeDeps } from '../deps.ts';
import type { OpenConnections } from '../open-connections.ts';
import type { Visit } from '../ports.ts';
import { pages, sendPage } from '../proxy/pages.ts';
import { asksForWebSocket } from '../proxy/websocket.ts';
import { canonicalHostname } from '../routes/redirect.ts';
import { loadOnce } from '../tls/secure-contexts.ts';
import { createReporter } from '../visitor-limits.ts';

/** What Caddy says of a visitor's request. It sets them itself, in the place of whatever the visitor sent, and they end here. */
export const gatewayFields = {
  secret: 'Signpost-Edge-Secret',
  /** `http` or `https`. */
  scheme: 'Signpost-Scheme',
  serverName: 'Signpost-Server-Name',
  /** `HTTP/1.1`, `HTTP/2.0` or `HTTP/3.0`. */
  protocol: 'Signpost-Protocol',
} as const;

/** The user in the URL by which Caddy asks for certificates (RFC 7617); the password is the secret. */
export const GATEWAY_USER = 'caddy';
/** Where it asks, with the parameter `server_name`. */
export const CERTIFICATE_PATH = '/certificate';

/** What the gateway asks of the edge. Nothing here may wait for a database for longer than a visitor would. */
export type GatewayDeps = Pick<EdgeDeps, 'log'> & {
  readonly secret: string;
  /** The certificate of a name and its key in PEM; null: the handshake is to fail. */
  readonly findCertificate: (serverName: string) => Promise<Uint8Array | null>;
  readonly handleHttp: (visit: Visit) => Promise<void>;
  readonly handleHttps: (visit: Visit) => Promise<void>;
  readonly connections: Pick<OpenConnections, 'add'>;
  /** Counts requests by the address of their visitor. */
  readonly visitors: ConnectionCount;
  /** Balancers before Caddy, whose `X-Forwarded-For` is believed. */
  readonly isTrusted: (address: string) => boolean;
  readonly count: Pick<EdgeCounters, 'handshake' | 'refused'>;
};

/** Answers what comes to the gateway's address; 403 where it does not come from Caddy. Rejects as the look-ups do. */
export function createGateway(
  deps: GatewayDeps,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const takePlace = createPlaces(deps.visitors);
  const isSecret = sameAs(deps.secret);
  const report = createReporter(
    deps.log,
    'a request without Caddy’s secret was refused: EDGE_CADDY_SECRET must be the same for Caddy',
  );
  const isCaddy = sameAs(
    `Basic ${Buffer.from(`${GATEWAY_USER}:${deps.secret}`).toString('base64')}`,
  );
  return async (request, response) => {
    const { headers } = request;
    // Every request of a visitor has the field, whatever else it says.
    const secret = headers[nameOf('secret')];
    if (secret === undefined && isCaddy(headers.authorization)) {
      return answerCertificate(deps, request, response);
    }
    if (!isSecret(secret)) {
      deps.count.refused('gateway_secret');
      report(clientAddress(request.socket.remoteAddress, undefined, () => false));
      response.writeHead(403, { 'Content-Length': 0 }).end();
      return;
    }
    const client = visitorOf(request, deps.isTrusted);
    if (!takePlace(client, request, response)) {
      deps.count.refused('connections');
      return sendPage(response, pages.tooMany());
    }
    return passVisit(deps, client, request, response);
  };
}

/** As Node has it in a request. */
function nameOf(field: keyof typeof gatewayFields): string {
  return gatewayFields[field].toLowerCase();
}

function sameAs(wanted: string): (given: string | string[] | undefined) => boolean {
  const bytes = Buffer.from(wanted);
  return (given) => {
    const others = Buffer.from(typeof given === 'string' ? given : '');
    return bytes.length === others.length && timingSafeEqual(bytes, others);
  };
}

/** Our choice: how long a request that was broken off still counts: resetting costs us more than it costs the visitor. */
const BROKEN_OFF_MS = 5_000;

type Place = { readonly leave: () => void; readonly response: ServerResponse };

/**
 * Counts the requests of each address: from when Caddy passes one on until its connection is used again or closes, because an
 * answer that we have given may wait in Caddy for a visitor who does not read. False where it is one too many.
 */
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
  { handleHttp, handleHttps, connections }: GatewayDeps,
  client: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // What a removal cuts off. Caddy's connections are everybody's; one that has become a WebSocket is its visitor's.
  const connection = asksForWebSocket(request) ? request.socket : response;
  const visit = { request, response, client, connection };
  if (request.headers[nameOf('scheme')] !== 'https') {
    return handleHttp({ ...visit, serverName: null });
  }
  const serverName = serverNameOf(request);
  if (serverName !== null) connections.add(serverName, connection);
  return handleHttps({ ...visit, serverName });
}

/** What the handshake was for. Caddy 2.6 does not know it of HTTP/3: there it is taken to be what the request is for. */
function serverNameOf({ headers }: IncomingMessage): string | null {
  const said = canonicalHostname(String(headers[nameOf('serverName')] ?? ''));
  if (said !== null || headers[nameOf('protocol')] !== 'HTTP/3.0') return said;
  return canonicalHostname((headers.host ?? '').replace(/:\d*$/, ''));
}

/** Caddy appends the address that it saw. */
function visitorOf({ headers }: IncomingMessage, isTrusted: GatewayDeps['isTrusted']): string {
  const chain = String(headers['x-forwarded-for'] ?? '');
  const comma = chain.lastIndexOf(',');
  const before = comma === -1 ? undefined : chain.slice(0, comma);
  return clientAddress(chain.slice(comma + 1).trim(), before, isTrusted);
}

/** Caddy waits as long as we take, and a visitor with it: beyond that the handshake fails. */
const CERTIFICATE_MS = 3_000;

async function answerCertificate(
  { findCertificate, count, log }: GatewayDeps,
  { url = '' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const late = setTimeout(() => {
    log.warn({}, 'a certificate could not be found in time');
    refuse(503);
  }, CERTIFICATE_MS);
  function refuse(status: 204 | 503): void {
    if (response.headersSent) return;
    count.handshake('failed');
    response.writeHead(status).end();
  }
  try {
    const certificate = await findCertificate(serverNameIn(url));
    if (response.headersSent) return; // it came too late
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

/** Our choice, as many as secure contexts are kept: some 3 KB each, the key among them. */
export const BUNDLES_MAX = 1_000;

/** A certificate's chain and key in one, as Caddy reads them; several handshakes at once load it once. */
export function createBundles({
  loadCertificate,
}: Pick<EdgeDeps, 'loadCertificate'>): (certificateId: string) => Promise<Uint8Array | null> {
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
