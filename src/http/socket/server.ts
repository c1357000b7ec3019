import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { trustedProxies } from '../../net/client-address.ts';
import {
  type ConnectionCount,
  type ConnectionLimits,
  countConnections,
  defaultConnectionLimits,
  isSupportedCoding,
  listenFault,
} from '../../net/connections.ts';
import type { Api } from '../pipeline/api.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { turnAway } from './exchange.ts';
import { accept, answerRaw, createPipelines, onClientError, type Pipelines } from './pipeline.ts';

export type HttpServer = {
  /** With the assigned port if 0 was requested. */
  readonly address: AddressInfo;
  /** Ends streams, lets requests finish, aborts the rest after `deadlineMs`. Never rejects. */
  readonly close: (deadlineMs: number) => Promise<void>;
};

export type HttpListenOptions = {
  readonly host: string;
  readonly port: number;
  /** For the error message; PORT if missing. */
  readonly variable?: 'PORT' | 'METRICS_PORT';
  readonly timeouts?: Partial<Timeouts>;
  readonly connections?: Partial<ConnectionLimits>;
  readonly trustedProxies?: readonly string[];
};

type Timeouts = typeof defaultTimeouts;
// In milliseconds. A slower client gets 408 or is disconnected.
const defaultTimeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkIntervalMs: 2_000,
  keepAliveMs: 65_000, // longer than the usual 60 s of a load balancer, so that the load balancer closes first
  sendMs: 30_000, // a response gets as long as its request
  lingerMs: 1_000,
};

/** For all headers of a request together. docs/integrate/api.md documents both limits. */
const MAX_HEADER_BYTES = 16_384;
const MAX_HEADERS = 100;
/** Refused connections that wait `lingerMs` at once; others are closed right after the response. */
const MAX_TURNED_AWAY = 200;
const RETRY_AFTER_SECONDS = '5';
/** RFC 3986, 3.2.2 and 3.2.3, without the comma, which joins two fields (RFC 9110, 7.2). */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]*)(?::\d{0,5})?$/;

/** Rejects with an error that names the variable. */
export async function listenHttp(api: Api, options: HttpListenOptions): Promise<HttpServer> {
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

/** What node:http refuses arrives as `clientError`. */
function serverOptions(timeouts: Timeouts): ServerOptions {
  return {
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkIntervalMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
    // refuses two Authorization fields, instead of using the first one
    joinDuplicateHeaders: true,
    // node would answer without our Error body; transportRefusal checks it
    requireHostHeader: false,
  };
}

/** Closes idle connections at once, the others after their response or at the deadline. */
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

/** Handles every event that node:http would otherwise answer on its own. */
function attach(server: Server, pipelines: Pipelines): void {
  // node drops further headers silently; one more shows that there were more
  server.maxHeadersCount = MAX_HEADERS + 1;
  server.on('request', (req, res) => accept(pipelines, req, res, false, transportRefusal(req)));
  server.on('checkContinue', (req, res) =>
    accept(pipelines, req, res, true, transportRefusal(req)),
  );
  server.on('checkExpectation', (req, res) =>
    accept(pipelines, req, res, false, refuse('expectation_failed')),
  );
  server.on('clientError', (error, socket) => onClientError(pipelines, error, socket));
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy()); // node:http no longer handles it
    answerRaw(pipelines, socket, refuse('bad_request', 'CONNECT is not supported.'));
  });
}

/** Null if the request can be read. */
function transportRefusal(req: IncomingMessage): Refusal | null {
  if (req.rawHeaders.length / 2 > MAX_HEADERS) return refuse('headers_too_large');
  const { host, 'transfer-encoding': coding } = req.headers;
  // RFC 9112, 2.5: a higher major version is not compatible.
  if (!req.httpVersion.startsWith('1.'))
    return refuse('bad_request', 'Only HTTP/1.x is supported.');
  // RFC 9112, 3.2: Host is missing in a 1.1 request, repeated (joined by a comma) or invalid.
  if (host === undefined ? req.httpVersion === '1.1' : !HOST.test(host)) {
    return refuse('bad_request', 'The Host header is missing or invalid.');
  }
  if (!isSupportedCoding(coding)) {
    return refuse('bad_request', 'The only supported transfer coding is chunked.');
  }
  return null;
}

/** Answers a connection above the limit with 503, before reading from it. */
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
    // Without its address: a flood of connections is neither counted nor logged.
    const answer = api.reject(refuse('too_many_connections', undefined, headers), undefined);
    turnAway(socket, answer, turnedAway <= MAX_TURNED_AWAY ? timeouts.lingerMs : 0);
  });
}
