/** The exchanges of one connection, one after the other, and the end of it where the parser gives up. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createTurns, type Turns } from '../../net/turns.ts';
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

/** What the connections of one server share. */
export type Pipelines = {
  readonly api: Api;
  readonly timeouts: SendTimeouts;
  readonly turns: Turns<Exchange>;
  /** The newest exchange of each connection, which the parser may still be reading. */
  readonly receiving: WeakMap<Duplex, Exchange>;
  /** Set when the server closes: from then on, each answer is its connection's last. */
  closing: boolean;
  /** Calling one ends a stream at once; a stream takes its own out when it is over. */
  readonly streams: Set<() => void>;
};

/**
 * The state of one server without any connection. At most MAX_WAITING requests of a connection wait, beside the one that
 * runs.
 */
export function createPipelines(api: Api, timeouts: SendTimeouts): Pipelines {
  const pipelines: Pipelines = {
    api,
    timeouts,
    turns: createTurns(MAX_WAITING, (exchange) => void serve(pipelines, exchange)),
    receiving: new WeakMap(),
    closing: false,
    streams: new Set(),
  };
  return pipelines;
}

/**
 * Takes a request of a connection in its turn; they are answered in the order in which they came. `refusal`: what is wrong
 * with it before the API sees it. Never throws.
 */
export function accept(
  { turns, receiving }: Pipelines,
  req: IncomingMessage,
  res: ServerResponse,
  expectsContinue: boolean,
  refusal: Refusal | null,
): void {
  const exchange = { req, res, expectsContinue, refusal, broken: null, onBroken: () => {} };
  receiving.set(req.socket, exchange);
  turns.take(req.socket, exchange);
}

/** Runs one exchange. What cannot be sent ends the connection. Never rejects. */
async function serve(pipelines: Pipelines, exchange: Exchange): Promise<void> {
  const { api, timeouts, streams, turns } = pipelines;
  const { req } = exchange;
  try {
    const response = await api.handle(rawRequest(exchange));
    // RFC 9112, 6.3: where its framing is in doubt, what follows a request cannot be told from it.
    const close = pipelines.closing || exchange.refusal?.body.code === 'bad_request';
    const ended = () => turns.ended(req.socket); // it has left, or its client has
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

/** The request as the API takes it. Its body is read only when the API asks for it. */
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

/** The parser's codes (llhttp's HPE_… among them); every other one is bad_request. */
const parserCodes: Readonly<Record<string, BrokenCode | 'headers_too_large'>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * Ends what the parser refuses: a request that it broke in the middle is answered by its own exchange, anything else gets an
 * answer after those before it. Nothing more of the connection is taken.
 */
export function onClientError(
  pipelines: Pipelines,
  error: NodeJS.ErrnoException,
  socket: Duplex,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (!pipelines.turns.refuseMore(socket)) return;
  const code = parserCodes[error.code ?? ''] ?? 'bad_request';
  const receiving = pipelines.receiving.get(socket);
  if (receiving === undefined || receiving.req.complete) answerRaw(pipelines, socket, refuse(code));
  else breakOff(receiving, code, socket);
}

/** Has whoever reads the request's body learn that no more of it comes. */
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

/** Answers what never became a request, after the requests that came before it, and closes the connection. */
export function answerRaw(
  { api, timeouts, turns }: Pipelines,
  socket: Duplex,
  refusal: Refusal,
): void {
  turns.whenIdle(socket, () => {
    writeRaw(socket, api.reject(refusal, addressOf(socket)), timeouts.lingerMs);
  });
}

/** Undefined where the socket is gone, or is none of TCP. */
function addressOf(socket: Duplex): string | undefined {
  return socket instanceof Socket ? socket.remoteAddress : undefined;
}
