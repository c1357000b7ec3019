/** Servers with explicit limits against slow clients, and an orderly end. */
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
import { createTurns, type Turns } from '../net/turns.ts';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';
import type { EdgeDeps, EdgeLimits } from './deps.ts';
import type { OpenConnections } from './open-connections.ts';
import { serverNameOf } from './ports.ts';
import { pages, sendPage } from './proxy/pages.ts';
import { EdgeRequest, responseTo } from './proxy/websocket.ts';
import { type Divert, readBeforeHandshake } from './tls/client-hello.ts';
import { visitorsRules } from './tls/secure-contexts.ts';
import type { VisitorLimits } from './visitor-limits.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** What both ports share. */
type Common = {
  readonly visitors: VisitorLimits;
  /** Ends a connection that hardly reads, whenever something waits for it. */
  readonly watchReader: (socket: Socket) => void;
};

type TlsParts = Common & {
  readonly handle: Handle;
  /** Who shakes hands for a name; null: nobody does. What comes of it arrives at `handshakes`. */
  readonly findServer: (serverName: string) => Promise<TlsServer | null>;
  readonly handshakes: EventEmitter;
  /** Takes the connections that are no visitors'; null: there are none to look for. */
  readonly divert: Divert | null;
  /** Is given every connection whose handshake is done. */
  readonly connections: Pick<OpenConnections, 'add'>;
  readonly log: EdgeDeps['log'];
  readonly count: Pick<EdgeCounters, 'handshake'>;
};

/** A server at one port, which is opened once and closed once. */
export type Listener = {
  /** Resolves to the port; rejects where it cannot be had. */
  readonly listen: (host: string, port: number) => Promise<number>;
  /** Stops accepting; what is under way may finish until the deadline. */
  readonly close: (deadlineMs: number) => Promise<void>;
};

/** Of all visitors together, at each port. */
const CONNECTIONS_MAX = 10_000;
/** Our choice, and Apache httpd's (LimitRequestFields). */
const HEADERS_MAX = 100;
/** Our choice: behind the one that is answered. Browsers and the usual clients do not pipeline at all. */
const PIPELINED_MAX = 20;

/** A server for plain HTTP. */
export function plainListener(
  handle: Handle,
  { visitors, watchReader }: Common,
  limits: EdgeLimits,
): Listener {
  const server = createHttpServer(limitOptions(limits));
  server.on('connection', watchReader);
  return listener(server, turnsOf(handle, visitors), visitors.admitConnection, limits);
}

/** A server for TLS 1.2 and newer, HTTP/1.1 only; a failed handshake is the client's affair and only logged. */
export function tlsListener(parts: TlsParts, limits: EdgeLimits): Listener {
  const { handle, findServer, handshakes, divert, visitors, watchReader, connections } = parts;
  const { log, count } = parts;
  const server = createHttpsServer({
    ...limitOptions(limits),
    IncomingMessage: EdgeRequest,
    handshakeTimeout: limits.handshakeMs,
    ...visitorsRules,
    // It has no certificate, and refuses the names that have no server of their own (secure-contexts.ts).
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
  const turns = turnsOf(handle, visitors);
  server.on('secureConnection', (socket) => {
    watchReader(socket);
    count.handshake('completed');
    const hostname = serverNameOf(socket);
    if (hostname !== null) connections.add(hostname, socket);
  });
  answerUpgrades(server, turns, handle);
  server.on('tlsClientError', (error) => {
    count.handshake('failed');
    log.debug({ err: error }, 'a handshake failed');
  });
  const admit = (socket: Socket) =>
    visitors.admitConnection(socket) && visitors.admitHandshake(socket);
  return listener(server, turns, admit, limits);
}

function answerUpgrades(server: Server, turns: Turns<Exchange>, handle: Handle): void {
  server.on('upgrade', (request, socket: Socket, head) => {
    // Node has let go of the connection, on which another answer is still under way.
    if (turns.isBusy(socket)) socket.destroy();
    else handle(request, responseTo(request, socket, head));
  });
}

/** What Caddy adds to a visitor's fields: four of ours, and three of its own. Newer versions add Via, so a visitor has 99 there. */
const GATEWAY_FIELDS = 7;
const GATEWAY_HEAD_BYTES = 24 * 1_024;
/** Longer than Caddy keeps an idle connection (caddyfile.ts), so that it never sends a request on one that we close. */
const GATEWAY_KEEP_ALIVE_MS = 90_000;

/** A server for what Caddy passes on, over connections that are everybody's. */
export function gatewayListener(
  handle: Handle,
  watchReader: (socket: Socket) => void,
  connectionsMax: number,
  limits: EdgeLimits,
): Listener {
  const server = createHttpServer({
    ...limitOptions(limits),
    // Caddy opens connections ahead, and has limits of its own for its visitors.
    headersTimeout: Math.min(GATEWAY_KEEP_ALIVE_MS, limits.requestMs),
    keepAliveTimeout: GATEWAY_KEEP_ALIVE_MS,
    maxHeaderSize: GATEWAY_HEAD_BYTES,
    IncomingMessage: EdgeRequest,
  });
  const nobody = { penalize() {} };
  const turns = turnsOf(handle, nobody, HEADERS_MAX + GATEWAY_FIELDS);
  server.on('connection', watchReader);
  answerUpgrades(server, turns, handle);
  const gateway = listener(server, turns, () => true, limits);
  server.maxConnections = connectionsMax;
  return gateway;
}

/** What the parser refuses, by its codes (llhttp's HPE_… among them); every other one is 400. */
const parserStatuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};
/** Our choice: how long a refused client may take to read why. */
const LINGER_MS = 1_000;

/** Answers what never became a request, after the requests before it, and closes the connection. */
function answerBroken(turns: Turns<Exchange>, newest: WeakMap<Duplex, Exchange>) {
  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    if (!turns.refuseMore(socket)) return;
    const refuse = () => refuseRaw(socket, parserStatuses[error.code ?? ''] ?? 400);
    const exchange = newest.get(socket);
    if (exchange === undefined || exchange.request.complete) turns.whenIdle(socket, refuse);
    else if (isUnanswered(exchange, socket))
      refuse(); // the rest of its body never comes
    else socket.destroy();
  };
}

/** Whether a request is the one to be answered now, and nothing of its answer has been sent. */
function isUnanswered({ response }: Exchange, socket: Duplex): boolean {
  return response.socket === socket && !response.headersSent;
}

function refuseRaw(socket: Duplex, status: number): void {
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}`;
  socket.end(`${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** One request of a connection at a time: the next one is handled when this one's answer has left, or nobody waits for it. */
function turnsOf(
  handle: Handle,
  { penalize }: Pick<VisitorLimits, 'penalize'>,
  fieldsMax: number = HEADERS_MAX,
): Turns<Exchange> {
  const turns = createTurns<Exchange>(
    PIPELINED_MAX,
    ({ request, response }, connection) => {
      response.once('close', () => turns.ended(connection));
      if (request.rawHeaders.length / 2 > fieldsMax) sendPage(response, pages.tooManyFields());
      else handle(request, response);
    },
    penalize,
  );
  return turns;
}

function limitOptions({ headersMs, requestMs, keepAliveMs }: EdgeLimits) {
  return {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: Math.min(1_000, headersMs),
  };
}

/**
 * Closes connections that are not admitted, before anything else of the server has them: a handshake costs more than a
 * connection does.
 */
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
  turns: Turns<Exchange>,
  admit: (socket: Socket) => boolean,
  { silenceMs }: EdgeLimits,
): Listener {
  // Counted by us, because Node forgets connections that are still in their handshake.
  const sockets = new Set<Socket>();
  server.maxConnections = CONNECTIONS_MAX;
  // Node drops the rest in silence; one more shows that there was a rest.
  server.maxHeadersCount = HEADERS_MAX + GATEWAY_FIELDS + 1;
  server.timeout = silenceMs;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  admitOnly(server, admit);
  const newest = new WeakMap<Duplex, Exchange>();
  server.on('clientError', answerBroken(turns, newest));
  server.on('request', (request, response) => {
    // Closing: this answer is the connection's last.
    if (!server.listening) response.shouldKeepAlive = false;
    newest.set(request.socket, { request, response });
    turns.take(request.socket, { request, response });
  });
  return {
    async listen(host, port) {
      server.listen(port, host);
      await once(server, 'listening');
      const { port: actual } = server.address() as AddressInfo; // a TCP server's, and it listens
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
