/** Servers with limits against slow clients and a graceful shutdown. */
import { constants } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Server as TlsServer } from 'node:tls';
import { isSupportedCoding } from '../net/connections.ts';
import { createRequestQueue, type RequestQueue } from '../net/request-queue.ts';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';
import type { EdgeLog } from './edge-service.ts';
import type { EdgeLimits } from './limits.ts';
import type { OpenConnections } from './open-connections.ts';
import { serverNameOf } from './ports.ts';
import { pages, sendPage } from './proxy/pages.ts';
import { EdgeRequest, upgradeResponse } from './proxy/websocket.ts';
import { type Divert, readBeforeHandshake } from './tls/client-hello.ts';
import { visitorsRules } from './tls/secure-contexts.ts';
import type { VisitorLimits } from './visitor-limits.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

type Common = {
  readonly visitors: VisitorLimits;
  /** Closes a connection with pending data that hardly reads it. */
  readonly watchReader: (socket: Socket) => void;
};

type TlsParts = Common & {
  readonly handle: Handle;
  /** Null for an unknown name. Its events arrive at `handshakes`. */
  readonly findServer: (serverName: string) => Promise<TlsServer | null>;
  readonly handshakes: EventEmitter;
  /** Takes connections of CAs and probes; null if tls-alpn-01 is off. */
  readonly divert: Divert | null;
  /** Receives every connection after its handshake. */
  readonly connections: Pick<OpenConnections, 'add'>;
  readonly log: EdgeLog;
  readonly count: Pick<EdgeCounters, 'handshake'>;
};

export type EdgeListener = {
  /** Resolves to the port. */
  readonly listen: (host: string, port: number) => Promise<number>;
  /** Running requests can finish until the deadline. */
  readonly close: (deadlineMs: number) => Promise<void>;
};

/** For all visitors together, per port. */
const CONNECTIONS_MAX = 10_000;
/** The default of Apache httpd (LimitRequestFields). */
const HEADERS_MAX = 100;
/** In addition to the running one. Common clients do not pipeline. */
const PIPELINED_MAX = 20;

export function plainListener(
  handle: Handle,
  { visitors, watchReader }: Common,
  limits: EdgeLimits,
): EdgeListener {
  const server = createHttpServer(limitOptions(limits));
  server.on('connection', watchReader);
  return listener(server, requestQueueOf(handle, visitors), visitors.admitConnection, limits);
}

/** TLS 1.2 and newer, HTTP/1.1 only. Failed handshakes are only logged. */
export function tlsListener(parts: TlsParts, limits: EdgeLimits): EdgeListener {
  const { handle, findServer, handshakes, divert, visitors, watchReader, connections } = parts;
  const { log, count } = parts;
  const server = createHttpsServer({
    ...limitOptions(limits),
    IncomingMessage: EdgeRequest,
    handshakeTimeout: limits.handshakeMs,
    ...visitorsRules,
    // This server has no certificate and refuses names without an own server (secure-contexts.ts).
    secureOptions: visitorsRules.secureOptions | constants.SSL_OP_NO_TICKET,
  });
  for (const event of ['secureConnection', 'tlsClientError']) {
    handshakes.on(event, (...what) => server.emit(event, ...what));
  }
  readBeforeHandshake(server, limits.handshakeMs, divert, (serverName) =>
    findServer(serverName).catch((error: unknown) => {
      log.error({ err: error }, 'no certificate could be loaded');
      return null;
    }),
  );
  const requests = requestQueueOf(handle, visitors);
  server.on('secureConnection', (socket) => {
    watchReader(socket);
    count.handshake('completed');
    const hostname = serverNameOf(socket);
    if (hostname !== null) connections.add(hostname, socket);
  });
  answerUpgrades(server, requests, handle);
  server.on('tlsClientError', (error) => {
    count.handshake('failed');
    log.debug({ err: error }, 'TLS handshake failed');
  });
  const admit = (socket: Socket) =>
    visitors.admitConnection(socket) && visitors.admitHandshake(socket);
  return listener(server, requests, admit, limits);
}

function answerUpgrades(server: Server, requests: RequestQueue<Exchange>, handle: Handle): void {
  server.on('upgrade', (request, socket: Socket, head) => {
    // Node.js no longer handles the connection, on which another response is still in progress.
    if (requests.isBusy(socket)) socket.destroy();
    else handle(request, upgradeResponse(request, socket, head));
  });
}

/** Caddy adds four of our fields and up to four of its own, which leaves a visitor 99. */
const GATEWAY_FIELDS = 7;
const GATEWAY_HEAD_BYTES = 24 * 1_024;
/** Longer than Caddy keeps idle connections (caddyfile.ts): Caddy never uses a closing one. */
const GATEWAY_KEEP_ALIVE_MS = 90_000;

/** Caddy forwards requests over shared connections. */
export function gatewayListener(
  handle: Handle,
  watchReader: (socket: Socket) => void,
  connectionsMax: number,
  limits: EdgeLimits,
): EdgeListener {
  const server = createHttpServer({
    ...limitOptions(limits),
    // Caddy opens connections in advance and has its own limits for visitors.
    headersTimeout: Math.min(GATEWAY_KEEP_ALIVE_MS, limits.requestMs),
    keepAliveTimeout: GATEWAY_KEEP_ALIVE_MS,
    maxHeaderSize: GATEWAY_HEAD_BYTES,
    IncomingMessage: EdgeRequest,
  });
  const noPenalties = { penalize() {} };
  const requests = requestQueueOf(handle, noPenalties, HEADERS_MAX + GATEWAY_FIELDS);
  server.on('connection', watchReader);
  answerUpgrades(server, requests, handle);
  const gateway = listener(server, requests, () => true, limits);
  server.maxConnections = connectionsMax;
  return gateway;
}

/** By llhttp code; all others are 400. */
const parserStatuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};
/** How long a refused client can take to read the error. */
const LINGER_MS = 1_000;

/** For bytes that never became a request; after the previous requests. Closes the connection. */
function answerBroken(requests: RequestQueue<Exchange>, newest: WeakMap<Duplex, Exchange>) {
  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    if (!requests.refuseMore(socket)) return;
    const refuse = () => refuseRaw(socket, parserStatuses[error.code ?? ''] ?? 400);
    const exchange = newest.get(socket);
    if (exchange === undefined || exchange.request.complete) requests.whenIdle(socket, refuse);
    else if (isUnanswered(exchange, socket))
      refuse(); // the rest of its body will not arrive
    else socket.destroy();
  };
}

/** Next to be answered, and nothing of its response was sent. */
function isUnanswered({ response }: Exchange, socket: Duplex): boolean {
  return response.socket === socket && !response.headersSent;
}

function refuseRaw(socket: Duplex, status: number): void {
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}`;
  socket.end(`${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** One request per connection at a time: the next starts when the previous response is over. */
function requestQueueOf(
  handle: Handle,
  { penalize }: Pick<VisitorLimits, 'penalize'>,
  fieldsMax: number = HEADERS_MAX,
): RequestQueue<Exchange> {
  const requests = createRequestQueue<Exchange>(
    PIPELINED_MAX,
    ({ request, response }, connection) => {
      response.once('close', () => requests.ended(connection));
      const { headers, rawHeaders } = request;
      if (rawHeaders.length / 2 > fieldsMax) sendPage(response, pages.tooManyFields());
      else if (isSupportedCoding(headers['transfer-encoding'])) handle(request, response);
      else sendPage(response, pages.unsupportedCoding());
    },
    penalize,
  );
  return requests;
}

function limitOptions({ headersMs, requestMs, keepAliveMs }: EdgeLimits) {
  return {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: Math.min(1_000, headersMs),
  };
}

/** Before the server handles the connection, because a handshake costs more. */
function admitOnly(server: Server, admit: (socket: Socket) => boolean): void {
  const inside = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (!admit(socket)) {
      socket.destroy();
      return;
    }
    for (const listener of inside) listener.call(server, socket);
  });
}

function listener(
  server: Server,
  requests: RequestQueue<Exchange>,
  admit: (socket: Socket) => boolean,
  { silenceMs }: EdgeLimits,
): EdgeListener {
  // Counted here, because Node.js does not track connections that are still in their handshake.
  const sockets = new Set<Socket>();
  server.maxConnections = CONNECTIONS_MAX;
  // Node.js drops further headers silently; one more shows that there were more.
  server.maxHeadersCount = HEADERS_MAX + GATEWAY_FIELDS + 1;
  server.timeout = silenceMs;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  admitOnly(server, admit);
  const newest = new WeakMap<Duplex, Exchange>();
  server.on('clientError', answerBroken(requests, newest));
  server.on('request', (request, response) => {
    // The server is closing: this is the connection's last response.
    if (!server.listening) response.shouldKeepAlive = false;
    newest.set(request.socket, { request, response });
    requests.take(request.socket, { request, response });
  });
  return {
    async listen(host, port) {
      server.listen(port, host);
      await once(server, 'listening');
      const { port: actual } = server.address() as AddressInfo; // a listening TCP server
      return actual;
    },
    async close(deadlineMs) {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const cutOff = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, deadlineMs);
      await closed;
      clearTimeout(cutOff);
    },
  };
}
