/** node:http in front of the API, with every limit explicit. */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Api } from './api.ts';
import { type Refusal, refuse } from './errors.ts';
import { type BrokenCode, type Exchange, readBody, send, writeRaw } from './exchange.ts';

export type HttpServer = {
  readonly address: AddressInfo;
  /** Stops accepting, lets what runs finish, and cuts what still runs after `deadlineMs`. */
  readonly close: (deadlineMs: number) => Promise<void>;
};

export type ListenOptions = {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly timeouts?: Partial<Timeouts>;
};

type Timeouts = typeof defaultTimeouts;
const defaultTimeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkIntervalMs: 2_000,
  keepAliveMs: 65_000, // longer than the usual 60 s of a load balancer, so that it closes first
  lingerMs: 1_000,
};

const MAX_HEADER_BYTES = 16_384;
const MAX_HEADERS = 100;

/** `last` settles when the newest exchange has ended; `receiving` is that exchange; `failed`: nothing more is read. */
type Connection = { last: Promise<void>; receiving: Exchange | null; failed: boolean };
type Context = {
  readonly api: Api;
  readonly timeouts: Timeouts;
  readonly connections: WeakMap<Duplex, Connection>;
  closing: boolean;
};

/** Listens, and settles once the address is bound. Where it cannot be, it rejects and names the variable that chose it. */
export async function listen(api: Api, options: ListenOptions): Promise<HttpServer> {
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const context: Context = { api, timeouts, connections: new WeakMap(), closing: false };
  const server = createServer(serverOptions(timeouts));
  attach(server, context);
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: NodeJS.ErrnoException) => reject(listenFault(options, cause));
    server.once('error', fail);
    server.listen(options.port, options.host, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return {
    address: server.address() as AddressInfo, // a server that listens on a host has one
    close: (deadlineMs) => {
      context.closing = true;
      return closeServer(server, deadlineMs);
    },
  };
}

const listenReasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'needs a permission that this user does not have',
  EADDRNOTAVAIL: 'cannot be opened: HOST is no address of this machine',
  ENOTFOUND: 'cannot be opened: HOST is no address and no known name',
};

function listenFault({ host, port }: ListenOptions, cause: NodeJS.ErrnoException): Error {
  const reason = listenReasons[cause.code ?? ''] ?? 'cannot be opened';
  return new Error(`PORT ${port} on ${host} ${reason} (${cause.code})`, { cause });
}

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

function attach(server: Server, context: Context): void {
  server.maxHeadersCount = MAX_HEADERS + 1; // node drops the rest in silence; one more shows that there was a rest
  server.on('request', (req, res) => accept(context, req, res, false, transportRefusal(req)));
  server.on('checkContinue', (req, res) => accept(context, req, res, true, transportRefusal(req)));
  server.on('checkExpectation', (req, res) =>
    accept(context, req, res, false, refuse('expectation_failed')),
  );
  server.on('clientError', (error, socket) => onClientError(context, error, socket));
  server.on('connect', (_req, socket) =>
    answerRaw(context, socket, refuse('bad_request', 'CONNECT is not served here.')),
  );
}

function transportRefusal(req: IncomingMessage): Refusal | null {
  if (req.rawHeaders.length / 2 > MAX_HEADERS) return refuse('headers_too_large');
  // RFC 9112, 3.2: a 1.1 request without Host is answered 400.
  if (req.httpVersion === '1.1' && req.headers.host === undefined) {
    return refuse('bad_request', 'The request has no Host header.');
  }
  return null;
}

function connectionOf({ connections }: Context, socket: Duplex): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection = { last: Promise.resolve(), receiving: null, failed: false };
  connections.set(socket, connection);
  return connection;
}

/** Exchanges of one connection run one after the other: RFC 9112, 9.3.2 lets only safe ones overlap. */
function accept(
  context: Context,
  req: IncomingMessage,
  res: ServerResponse,
  expectsContinue: boolean,
  refusal: Refusal | null,
): void {
  const connection = connectionOf(context, req.socket);
  const exchange = { req, res, expectsContinue, refusal, broken: null, onBroken: () => {} };
  connection.receiving = exchange;
  connection.last = connection.last
    .then(() => serve(context, exchange))
    .catch(() => void req.socket.destroy());
}

async function serve(context: Context, exchange: Exchange): Promise<void> {
  const { api, timeouts } = context;
  const { req, refusal } = exchange;
  if (req.socket.destroyed) return;
  const response =
    refusal !== null
      ? api.reject(refusal)
      : await api.handle({
          method: req.method ?? '',
          target: req.url ?? '',
          // Duplicates are joined, so only set-cookie, which no request has, could be a list.
          headers: req.headers as Readonly<Record<string, string | undefined>>,
          readBody: () => readBody(exchange),
          remoteAddress: req.socket.remoteAddress,
        });
  await send(exchange, response, { close: context.closing, lingerMs: timeouts.lingerMs });
}

/** The parser's codes (llhttp's HPE_… among them); every other one is bad_request. */
const parserCodes: Readonly<Record<string, BrokenCode | 'headers_too_large'>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** What the parser refuses: it ends the request that it broke, or gets an answer of its own. */
function onClientError(context: Context, error: NodeJS.ErrnoException, socket: Duplex): void {
  const connection = connectionOf(context, socket);
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (connection.failed) return;
  connection.failed = true;
  const code = parserCodes[error.code ?? ''] ?? 'bad_request';
  const { receiving } = connection;
  if (receiving === null || receiving.req.complete) answerRaw(context, socket, refuse(code));
  else breakOff(receiving, code, socket);
}

function breakOff(
  exchange: Exchange,
  code: BrokenCode | 'headers_too_large',
  socket: Duplex,
): void {
  // The headers were fine, so what was too large are its trailers.
  exchange.broken = code === 'headers_too_large' ? 'bad_request' : code;
  exchange.onBroken(exchange.broken);
  // Answered already, and never to be complete.
  if (exchange.res.writableEnded) socket.end(() => void socket.destroy());
}

/** Answers what never became a request, after the requests that came before it. */
function answerRaw(context: Context, socket: Duplex, refusal: Refusal): void {
  void connectionOf(context, socket).last.then(() =>
    writeRaw(socket, context.api.reject(refusal), context.timeouts.lingerMs),
  );
}
