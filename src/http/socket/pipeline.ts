/** The exchanges of one connection, one after the other, and the end of it where the parser gives up. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Api, RawRequest } from '../pipeline/api.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import {
  type BrokenCode,
  type Exchange,
  readBody,
  type SendTimeouts,
  send,
  writeRaw,
} from './exchange.ts';
import { sendStream } from './send-stream.ts';

/** Our choice: a request that waits takes about 1.5 KB, whatever it asks for, and hardly any client pipelines at all. */
const MAX_WAITING = 100;

/** Exchanges of one connection run one after the other: RFC 9112, 9.3.2 lets only safe ones overlap. */
export type Connection = {
  running: Exchange | null;
  readonly waiting: Exchange[];
  /** The newest exchange, which the parser may still be reading. */
  receiving: Exchange | null;
  /** Nothing more is read. */
  failed: boolean;
  /** The answer to what never became a request, once all others have left. */
  lastAnswer: Refusal | null;
};

/** What the connections of one server share. */
export type Pipelines = {
  readonly api: Api;
  readonly timeouts: SendTimeouts;
  readonly connections: WeakMap<Duplex, Connection>;
  /** From then on, each answer is its connection's last. */
  closing: boolean;
  /** Ends what has no end of its own, each at once. */
  readonly streams: Set<() => void>;
};

function connectionOf({ connections }: Pipelines, socket: Duplex): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection: Connection = {
    running: null,
    waiting: [],
    receiving: null,
    failed: false,
    lastAnswer: null,
  };
  connections.set(socket, connection);
  return connection;
}

/** Takes a request in its turn. `refusal`: what is wrong with it before the API sees it. */
export function accept(
  pipelines: Pipelines,
  req: IncomingMessage,
  res: ServerResponse,
  expectsContinue: boolean,
  refusal: Refusal | null,
): void {
  const connection = connectionOf(pipelines, req.socket);
  // It came in the same read as what broke the connection, or behind an answer that closes it.
  if (connection.failed || !req.socket.writable) return;
  const exchange = { req, res, expectsContinue, refusal, broken: null, onBroken: () => {} };
  connection.receiving = exchange;
  if (connection.running === null) return void serve(pipelines, connection, exchange);
  if (connection.waiting.push(exchange) <= MAX_WAITING) return;
  // Reading cannot be stopped in the middle of what has arrived, and each request in it would take memory.
  connection.failed = true;
  connection.waiting.length = 0;
  req.socket.destroy();
}

async function serve(
  pipelines: Pipelines,
  connection: Connection,
  exchange: Exchange,
): Promise<void> {
  const { api, timeouts, streams } = pipelines;
  const { req } = exchange;
  connection.running = exchange;
  try {
    const response = await api.handle(rawRequest(exchange));
    // RFC 9112, 6.3: where its framing is in doubt, what follows a request cannot be told from it.
    const close = pipelines.closing || exchange.refusal?.body.code === 'bad_request';
    const ended = () => next(pipelines, connection, req.socket);
    if (response.stream === undefined) send(exchange, response, { close, timeouts }, ended);
    else
      sendStream(
        exchange,
        response,
        response.stream,
        { closing: pipelines.closing, streams, timeouts },
        ended,
      );
  } catch {
    req.socket.destroy();
  }
}

function rawRequest(exchange: Exchange): RawRequest {
  const { req } = exchange;
  return {
    method: req.method ?? '',
    target: req.url ?? '',
    // Duplicates are joined, so only set-cookie, which no request has, could be a list.
    headers: req.headers as RawRequest['headers'],
    readBody: () => readBody(exchange),
    remoteAddress: req.socket.remoteAddress,
    refusal: exchange.refusal,
  };
}

/** An answer has left, or its client has. */
function next(pipelines: Pipelines, connection: Connection, socket: Duplex): void {
  connection.running = null;
  // Closed, or closing behind that answer: what is not answered must have no effect, and node:http must never be
  // given an answer out of its turn.
  if (!socket.writable) {
    connection.failed = true;
    connection.waiting.length = 0;
    return;
  }
  const exchange = connection.waiting.shift();
  if (exchange !== undefined) void serve(pipelines, connection, exchange);
  else if (connection.lastAnswer !== null) answerRaw(pipelines, socket, connection.lastAnswer);
}

/** The parser's codes (llhttp's HPE_… among them); every other one is bad_request. */
const parserCodes: Readonly<Record<string, BrokenCode | 'headers_too_large'>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** What the parser refuses: it ends the request that it broke, or gets an answer of its own. */
export function onClientError(
  pipelines: Pipelines,
  error: NodeJS.ErrnoException,
  socket: Duplex,
): void {
  const connection = connectionOf(pipelines, socket);
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (connection.failed) return;
  connection.failed = true;
  const code = parserCodes[error.code ?? ''] ?? 'bad_request';
  const { receiving } = connection;
  if (receiving === null || receiving.req.complete) answerRaw(pipelines, socket, refuse(code));
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
export function answerRaw(pipelines: Pipelines, socket: Duplex, refusal: Refusal): void {
  const connection = connectionOf(pipelines, socket);
  connection.lastAnswer = refusal;
  if (connection.running !== null) return;
  const answer = pipelines.api.reject(refusal, addressOf(socket));
  writeRaw(socket, answer, pipelines.timeouts.lingerMs);
}

function addressOf(socket: Duplex): string | undefined {
  return socket instanceof Socket ? socket.remoteAddress : undefined;
}
