/** node:http in front of the API, with every limit explicit. */
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { trustedProxies } from '../../net/client-address.ts';
import {
  type ConnectionCount,
  type ConnectionLimits,
  countConnections,
  defaultConnectionLimits,
  listenFault,
} from '../../net/connections.ts';
import { cameThroughEdge } from '../../net/via.ts';
import type { Api } from '../pipeline/api.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { turnAway } from './exchange.ts';
import { accept, answerRaw, createPipelines, onClientError, type Pipelines } from './pipeline.ts';

/** A server that listens. */
export type HttpServer = {
  /** The address that is bound, with the port that the system chose where 0 was asked for. */
  readonly address: AddressInfo;
  /**
   * Stops accepting, ends streams at once, lets what runs finish, and cuts what still runs after `deadlineMs`. Never
   * rejects; resolves once every connection is closed.
   */
  readonly close: (deadlineMs: number) => Promise<void>;
};

/** Where to listen, and what to allow; what is left out has the defaults below. */
export type ListenOptions = {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The variable that chose the port, for the message where it cannot be opened; PORT where it is missing. */
  readonly variable?: 'PORT' | 'METRICS_PORT';
  readonly timeouts?: Partial<Timeouts>;
  readonly connections?: Partial<ConnectionLimits>;
  /** Addresses and networks (`10.0.0.0/8`) that stand for many clients, and may open more connections than others. */
  readonly trustedProxies?: readonly string[];
};

type Timeouts = typeof defaultTimeouts;
// In milliseconds. A client that takes longer is answered 408 or cut off.
const defaultTimeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkIntervalMs: 2_000,
  keepAliveMs: 65_000, // longer than the usual 60 s of a load balancer, so that it closes first
  sendMs: 30_000, // our choice: an answer may take as long to leave as its request to arrive
  lingerMs: 1_000,
};

/** For all headers of a request together; docs/api.md publishes both limits. */
const MAX_HEADER_BYTES = 16_384;
const MAX_HEADERS = 100;
/** Our choice: as many as this may take `lingerMs` to read that they are too many; others are closed behind the answer. */
const MAX_TURNED_AWAY = 200;
const RETRY_AFTER_SECONDS = '5';
/** RFC 3986, 3.2.2 and 3.2.3, without the comma, which joins two fields; empty is allowed (RFC 9110, 7.2). */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]*)(?::\d{0,5})?$/;

/**
 * Listens, and settles once the address is bound. Where it cannot be, it rejects with an error that names the variable that
 * chose it.
 */
export async function listen(api: Api, options: ListenOptions): Promise<HttpServer> {
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const limits = { ...defaultConnectionLimits, ...options.connections };
  const count = countConnections(limits, trustedProxies(options.trustedProxies ?? []));
  const pipelines = createPipelines(api, timeouts);
  const server = createServer(serverOptions(timeouts));
  attach(server, pipelines);
  limitConnections(server, pipelines, count);
  await new Promise<void>((resolve, reject) => {
    const { host, port, variable = 'PORT' } = options;
    const fail = (cause: Error) => reject(listenFault(variable, host, port, cause));
    server.once('error', fail);
    server.listen(options.port, options.host, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return {
    address: server.address() as AddressInfo, // a server that listens on a host has one
    close: (deadlineMs) => {
      pipelines.closing = true;
      for (const end of [...pipelines.streams]) end();
      return closeServer(server, deadlineMs);
    },
  };
}

/** What node:http refuses by itself arrives as `clientError`. */
function serverOptions(timeouts: Timeouts): ServerOptions {
  return {
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkIntervalMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
    joinDuplicateHeaders: true, // two Authorization fields make no key, rather than the first of them
    requireHostHeader: false, // node would answer without our Error body; transportRefusal does it
  };
}

/** Idle connections are closed at once, the others after their answer or at the deadline. */
function closeServer(server: Server, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** Takes requests, expectations, CONNECT and what the parser refuses, so that node:http answers none of them by itself. */
function attach(server: Server, pipelines: Pipelines): void {
  server.maxHeadersCount = MAX_HEADERS + 1; // node drops the rest in silence; one more shows that there was a rest
  server.on('request', (req, res) => accept(pipelines, req, res, false, transportRefusal(req)));
  server.on('checkContinue', (req, res) =>
    accept(pipelines, req, res, true, transportRefusal(req)),
  );
  server.on('checkExpectation', (req, res) =>
    accept(pipelines, req, res, false, refuse('expectation_failed')),
  );
  server.on('clientError', (error, socket) => onClientError(pipelines, error, socket));
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy()); // node:http has let go of it
    answerRaw(pipelines, socket, refuse('bad_request', 'CONNECT is not served here.'));
  });
}

/** Why a request is refused whatever it asks for; null where nothing is wrong with it. */
function transportRefusal(req: IncomingMessage): Refusal | null {
  if (req.rawHeaders.length / 2 > MAX_HEADERS) return refuse('headers_too_large');
  // Nobody is to publish the API, or the metrics, as a domain of their own.
  if (cameThroughEdge(req.headers)) return refuse('misdirected');
  const { host, 'transfer-encoding': coding } = req.headers;
  // RFC 9112, 2.5: a greater major version may mean anything.
  if (!req.httpVersion.startsWith('1.')) return refuse('bad_request', 'HTTP/1.1 is spoken here.');
  // RFC 9112, 3.2: none in a 1.1 request, more than one (they arrive joined by a comma), or one that is no host.
  if (host === undefined ? req.httpVersion === '1.1' : !HOST.test(host)) {
    return refuse('bad_request', 'The request has no Host header, or not one that is valid.');
  }
  // RFC 9112, 6.1: node:http undoes nothing but chunks.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    return refuse('bad_request', 'The body must not have a transfer coding other than chunked.');
  }
  return null;
}

/** Answers a connection that is one too many with 503 and closes it, before anything of it is read. */
function limitConnections(server: Server, pipelines: Pipelines, count: ConnectionCount): void {
  const { api, timeouts } = pipelines;
  let turnedAway = 0;
  server.on('connection', (socket) => {
    const leave = count.admit(socket.remoteAddress);
    if (leave !== null) {
      socket.once('close', leave);
      return;
    }
    turnedAway += 1;
    socket.once('close', () => {
      turnedAway -= 1;
    });
    const headers = { 'retry-after': RETRY_AFTER_SECONDS };
    // Without its address: a flood of connections is not counted as requests, and not logged.
    const answer = api.reject(refuse('too_many_connections', undefined, headers), undefined);
    turnAway(socket, answer, turnedAway <= MAX_TURNED_AWAY ? timeouts.lingerMs : 0);
  });
}
