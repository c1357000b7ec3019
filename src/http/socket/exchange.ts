/** One request and its response. Only this folder touches requests and responses of node:http. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type BodyRead, MAX_BODY_BYTES } from '../pipeline/body.ts';
import type { Refusal } from '../pipeline/errors.ts';
import type { RawResponse } from '../pipeline/render.ts';

// what a refused upload can still send while the client reads the response
const MAX_LINGER_BYTES = 1_048_576;

/** Why a request ended before its body was complete. */
export type BrokenCode = Extract<BodyRead, { kind: 'broken' }>['code'];

export type HttpExchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Whether the client waits for 100 before it sends its body (RFC 9110, 10.1.1). */
  readonly expectsContinue: boolean;
  readonly refusal: Refusal | null;
  /** Set if the parser aborted the request in the middle. */
  broken: BrokenCode | null;
  /** Called when `broken` is set. Reading the body and streaming replace it. */
  onBroken: (code: BrokenCode) => void;
};

/** Reads at most MAX_BODY_BYTES. Sends 100 if the client waits for it. Call it once. */
export function readBody(exchange: HttpExchange): Promise<BodyRead> {
  const { req, res } = exchange;
  if (exchange.broken !== null) return Promise.resolve({ kind: 'broken', code: exchange.broken });
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) {
    return Promise.resolve({ kind: 'too_large' });
  }
  if (exchange.expectsContinue) res.writeContinue();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    req.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_BODY_BYTES) return void chunks.push(chunk);
      // `send` drains the rest for a bounded time.
      req.pause();
      resolve({ kind: 'too_large' });
    });
    req.once('end', () => resolve({ kind: 'bytes', bytes: Buffer.concat(chunks) }));
    // the client disconnected
    req.once('error', () => resolve({ kind: 'broken', code: 'bad_request' }));
    exchange.onBroken = (code) => resolve({ kind: 'broken', code });
  });
}

export type SendTimeouts = {
  /** How long a client can keep sending while it reads an error response. */
  readonly lingerMs: number;
  /** How long a client can take to read its response. */
  readonly sendMs: number;
};

export type SendOptions = {
  readonly close: boolean;
  readonly timeouts: SendTimeouts;
};

/** Calls `ended` once: sent, or the client is gone. Throws for headers that HTTP does not allow. */
export function sendResponse(
  { req, res, broken }: HttpExchange,
  { status, headers, body }: RawResponse,
  { close, timeouts: { lingerMs, sendMs } }: SendOptions,
  ended: () => void,
): void {
  if (res.destroyed) {
    ended();
    return;
  }
  res.once('close', ended);
  // An unread body precedes the next request, so it must be read or the connection closed.
  const unread = !req.complete && !isSmall(req);
  if (close || unread || broken !== null) res.setHeader('connection', 'close');
  res.writeHead(status, headers);
  if (unread && broken === null) {
    if (body === null) res.flushHeaders();
    else res.write(body);
    linger(req, lingerMs, () => finish(res, null, sendMs));
  } else {
    finish(res, body, sendMs);
  }
}

/** Does nothing if the response has ended. Destroys connections not read within `sendMs`. */
export function finish(res: ServerResponse, rest: string | null, sendMs: number): void {
  const { socket, writableEnded } = res;
  if (writableEnded) return;
  res.end(rest ?? undefined);
  if (socket === null || socket.writableLength === 0) return;
  const timer = setTimeout(() => socket.destroy(), sendMs);
  res.once('close', () => clearTimeout(timer));
}

/** Whether node:http can read the rest of the body and keep the connection. */
function isSmall(req: IncomingMessage): boolean {
  return Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= MAX_BODY_BYTES;
}

/** Closing at once would reset the connection before a sending client reads its response. */
function linger(req: IncomingMessage, lingerMs: number, end: () => void): void {
  const timer = setTimeout(end, lingerMs);
  let dropped = 0;
  req.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > MAX_LINGER_BYTES) end();
  });
  req.once('close', () => {
    clearTimeout(timer);
    end();
  });
  req.resume();
}

/** Closes the socket after at most `lingerMs`. Client errors do not throw. */
export function writeRaw(
  socket: Duplex,
  { status, headers, body }: RawResponse,
  lingerMs: number,
): void {
  const lines = Object.entries({ ...headers, date: new Date().toUTCString(), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body ?? ''}`);
}

/** Answers a connection before reading from it, and closes it. */
export function turnAway(socket: Socket, response: RawResponse, lingerMs: number): void {
  socket.removeAllListeners('data'); // the parser of node:http
  socket.on('data', () => {}); // takes the socket back from the parser
  writeRaw(socket, response, lingerMs);
}
