/** Runs the exchanges of a connection in order, and ends it when the parser fails. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createRequestQueue, type RequestQueue } from '../../net/request-queue.ts';
import type { Api, RawRequest } from '../pipeline/api.ts';
import { type Refusal, refuse, type TextStream } from '../pipeline/errors.ts';
import type { RawResponse } from '../pipeline/render.ts';
import {
  type BrokenCode,
  finish,
  type HttpExchange,
  readBody,
  type SendTimeouts,
  sendResponse,
  writeRaw,
} from './exchange.ts';

/** A waiting request takes about 1.5 KB, and few clients use HTTP pipelining. */
const MAX_WAITING = 100;

export type Pipelines = {
  readonly api: Api;
  readonly timeouts: SendTimeouts;
  readonly requests: RequestQueue<HttpExchange>;
  /** Per connection; the parser can still be reading it. */
  readonly receiving: WeakMap<Duplex, HttpExchange>;
  /** Set when the server closes: then each response is its connection's last. */
  closing: boolean;
  /** Calling a function ends its stream at once. A stream removes its own when it ends. */
  readonly streams: Set<() => void>;
};

export function createPipelines(api: Api, timeouts: SendTimeouts): Pipelines {
  const pipelines: Pipelines = {
    api,
    timeouts,
    requests: createRequestQueue(MAX_WAITING, (exchange) => void serve(pipelines, exchange)),
    receiving: new WeakMap(),
    closing: false,
    streams: new Set(),
  };
  return pipelines;
}

/** Answers a connection's requests in order. `refusal`: an error so far. Never throws. */
export function accept(
  { requests, receiving }: Pipelines,
  req: IncomingMessage,
  res: ServerResponse,
  expectsContinue: boolean,
  refusal: Refusal | null,
): void {
  const exchange = { req, res, expectsContinue, refusal, broken: null, onBroken: () => {} };
  receiving.set(req.socket, exchange);
  requests.take(req.socket, exchange);
}

/** A response that cannot be sent ends the connection. Never rejects. */
async function serve(pipelines: Pipelines, exchange: HttpExchange): Promise<void> {
  const { api, timeouts, streams, requests } = pipelines;
  const { req } = exchange;
  try {
    const response = await api.handle(rawRequest(exchange));
    // RFC 9112, 6.3: after a framing error, the next request cannot be found reliably.
    const close = pipelines.closing || exchange.refusal?.body.code === 'bad_request';
    const ended = () => requests.ended(req.socket); // the response is sent, or the client is gone
    if (response.stream === undefined) sendResponse(exchange, response, { close, timeouts }, ended);
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

/** The body is read only when the API asks for it. */
function rawRequest(exchange: HttpExchange): RawRequest {
  const { req } = exchange;
  return {
    method: req.method ?? '',
    target: req.url ?? '',
    // Duplicates are joined. Only set-cookie, which requests do not have, could be a list.
    headers: req.headers as RawRequest['headers'],
    readBody: () => readBody(exchange),
    remoteAddress: req.socket.remoteAddress,
    refusal: exchange.refusal,
  };
}

/** llhttp's codes; all others are bad_request. */
const parserCodes: Readonly<Record<string, BrokenCode | 'headers_too_large'>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** A request that broke in the middle is answered by its own exchange. */
export function onClientError(
  pipelines: Pipelines,
  error: NodeJS.ErrnoException,
  socket: Duplex,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (!pipelines.requests.refuseMore(socket)) return;
  const code = parserCodes[error.code ?? ''] ?? 'bad_request';
  const receiving = pipelines.receiving.get(socket);
  if (receiving === undefined || receiving.req.complete) answerRaw(pipelines, socket, refuse(code));
  else breakOff(receiving, code, socket);
}

/** Tells the body reader that the request was cut off. */
function breakOff(
  exchange: HttpExchange,
  code: BrokenCode | 'headers_too_large',
  socket: Duplex,
): void {
  // The headers were complete, so its trailers were too large.
  exchange.broken = code === 'headers_too_large' ? 'bad_request' : code;
  exchange.onBroken(exchange.broken);
  // Already answered, and the request will never be complete.
  if (exchange.res.writableEnded) socket.end(() => void socket.destroy());
}

/** For bytes that never became a request; after the previous requests. Closes the connection. */
export function answerRaw(
  { api, timeouts, requests }: Pipelines,
  socket: Duplex,
  refusal: Refusal,
): void {
  requests.whenIdle(socket, () => {
    writeRaw(socket, api.reject(refusal, addressOf(socket)), timeouts.lingerMs);
  });
}

function addressOf(socket: Duplex): string | undefined {
  return socket instanceof Socket ? socket.remoteAddress : undefined;
}

// Sends a streamed response, only as fast as the client reads it.

const MAX_DROPPED_BYTES = 1_048_576; // what a client can send after its request

type StreamOptions = {
  /** If the server is closing, the stream ends before it starts. */
  readonly closing: boolean;
  /** End functions of open streams; the server calls them when it closes. */
  readonly streams: Set<() => void>;
  readonly timeouts: SendTimeouts;
};

/** Closes the connection, so a truncated stream never looks complete. Calls `ended` once. */
function sendStream(
  exchange: HttpExchange,
  { status, headers }: RawResponse,
  stream: TextStream,
  { closing, streams, timeouts }: StreamOptions,
  ended: () => void,
): void {
  const { req, res, broken } = exchange;
  if (res.destroyed || broken !== null) {
    stream.discard();
    if (!res.destroyed) res.destroy();
    ended();
    return;
  }
  const over = new AbortController();
  const end = () => {
    over.abort();
    finish(res, null, timeouts.lingerMs);
  };
  streams.add(end);
  exchange.onBroken = end;
  res.once('close', () => {
    streams.delete(end);
    over.abort();
    ended();
  });
  res.setHeader('connection', 'close');
  res.writeHead(status, headers);
  res.flushHeaders();
  dropRest(exchange, end);
  // Events are short and must arrive at once.
  req.socket.setNoDelay(true);
  if (closing) end();
  void pump(res, stream, timeouts.sendMs, over);
}

/** Waits until the previous text is read, so slow clients use no memory. Never rejects. */
async function pump(
  res: ServerResponse,
  stream: TextStream,
  sendMs: number,
  over: AbortController,
): Promise<void> {
  const { signal } = over;
  try {
    for await (const text of stream.open(signal)) {
      if (signal.aborted) break;
      if (!res.write(text)) await drained(res, sendMs, signal);
    }
    finish(res, null, sendMs);
  } catch {
    res.destroy(); // aborts, so that it does not look like a regular end
  } finally {
    over.abort();
  }
}

/** Disconnects clients that take longer than `sendMs`. */
function drained(res: ServerResponse, sendMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => res.destroy(), sendMs);
    const done = () => {
      clearTimeout(timer);
      res.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    res.once('drain', done);
    signal.addEventListener('abort', done);
  });
}

/** Reads and drops what the client still sends; otherwise its disconnect would go unnoticed. */
function dropRest({ req }: HttpExchange, end: () => void): void {
  let dropped = 0;
  req.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > MAX_DROPPED_BYTES) end();
  });
  req.on('error', () => {}); // the response's close event handles it
}
