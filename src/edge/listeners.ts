/** Servers with explicit limits against slow clients, and an orderly end. */
import { constants } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';
import type { Admit } from './connection-limit.ts';
import type { EdgeDeps, EdgeLimits } from './deps.ts';
import type { OpenConnections } from './open-connections.ts';
import { serverNameOf } from './ports.ts';
import { createReaderWatch } from './proxy/slow-readers.ts';
import { EdgeRequest, responseTo } from './proxy/websocket.ts';
import { type Divert, readBeforeHandshake } from './tls/client-hello.ts';
import { tlsRules } from './tls/secure-contexts.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
/** The certificate for a name, or null to refuse the handshake. */
type FindContext = (serverName: string) => Promise<SecureContext | null>;

type TlsParts = {
  readonly handle: Handle;
  readonly findContext: FindContext;
  /** Takes the connections that are no visitors'; null: there are none to look for. */
  readonly divert: Divert | null;
  readonly admit: Admit;
  /** Is given every connection whose handshake is done. */
  readonly connections: Pick<OpenConnections, 'add'>;
  readonly log: EdgeDeps['log'];
  readonly count: Pick<EdgeCounters, 'handshake'>;
};

export type Listener = {
  /** Resolves to the port; rejects where it cannot be had. */
  readonly listen: (host: string, port: number) => Promise<number>;
  /** Stops accepting; what is under way may finish until the deadline. */
  readonly close: (deadlineMs: number) => Promise<void>;
};

/** Of all visitors together, at each port. */
const CONNECTIONS_MAX = 10_000;
const HEADERS_MAX = 100;

/** A server for plain HTTP. */
export function plainListener(handle: Handle, admit: Admit, limits: EdgeLimits): Listener {
  const server = createHttpServer(limitOptions(limits));
  server.on('connection', createReaderWatch(limits));
  return listener(server, handle, admit, limits);
}

/** A server for TLS 1.2 and newer, HTTP/1.1 only; a failed handshake is the client's affair and only logged. */
export function tlsListener(
  { handle, findContext, divert, admit, connections, log, count }: TlsParts,
  limits: EdgeLimits,
): Listener {
  const server = createHttpsServer({
    ...limitOptions(limits),
    IncomingMessage: EdgeRequest,
    handshakeTimeout: limits.handshakeMs,
    ...tlsRules,
    ALPNProtocols: ['http/1.1'],
    // No resumption: it would skip the look-up below, and a removal must count at the next handshake. Without tickets
    // there is none, because Node keeps no sessions by itself. Tickets would have to be bound to the route.
    // No renegotiation: a client could have us calculate again and again on one connection (RFC 9325, 3.5).
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
    SNICallback: (serverName, decide) => {
      findContext(serverName).then(
        // Without a context the server, which has no certificate of its own, refuses the handshake with an alert.
        (context) => decide(null, context ?? undefined),
        (error: unknown) => {
          log.error({ err: error }, 'no certificate could be loaded');
          decide(null);
        },
      );
    },
  });
  if (divert !== null) readBeforeHandshake(server, limits.handshakeMs, divert);
  const watch = createReaderWatch(limits);
  server.on('secureConnection', (socket) => {
    watch(socket);
    count.handshake('completed');
    const hostname = serverNameOf(socket);
    if (hostname !== null) connections.add(hostname, socket);
  });
  server.on('upgrade', (request, socket: Socket, head) => {
    handle(request, responseTo(request, socket, head));
  });
  server.on('tlsClientError', (error) => {
    count.handshake('failed');
    log.debug({ err: error }, 'a handshake failed');
  });
  return listener(server, handle, admit, limits);
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
function admitOnly(server: Server, admit: Admit): void {
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
  handle: Handle,
  admit: Admit,
  { silenceMs }: EdgeLimits,
): Listener {
  // Counted by us, because Node forgets connections that are still in their handshake.
  const sockets = new Set<Socket>();
  server.maxConnections = CONNECTIONS_MAX;
  server.maxHeadersCount = HEADERS_MAX;
  server.timeout = silenceMs;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  admitOnly(server, admit);
  server.on('request', (request, response) => {
    // Closing: this answer is the connection's last.
    if (!server.listening) response.shouldKeepAlive = false;
    handle(request, response);
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
