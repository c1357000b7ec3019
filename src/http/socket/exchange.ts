/** One request and its answer on the wire. Only this file and its neighbors touch requests and responses of node:http. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type BodyRead, MAX_BODY_BYTES } from '../pipeline/body.ts';
import type { Refusal } from '../pipeline/errors.ts';
import type { RawResponse } from '../pipeline/render.ts';

const MAX_LINGER_BYTES = 1_048_576; // our choice: what a refused upload may still send while it reads the answer

/** Why the parser, or the client's silence, ended a request before its body was complete. */
export type BrokenCode = Extract<BodyRead, { kind: 'broken' }>['code'];

/** A request and its answer, from the end of its headers until the answer has left. */
export type Exchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Whether the client waits for 100 before it sends its body (RFC 9110, 10.1.1). */
  readonly expectsContinue: boolean;
  /** What is wrong with the request before the API sees it; null where nothing is. */
  readonly refusal: Refusal | null;
  /** Set where the parser gave the request up in the middle; null before. */
  broken: BrokenCode | null;
  /** Called then, by whoever set `broken`. Reading the body, and streaming, replace it. */
  onBroken: (code: BrokenCode) => void;
};

/**
 * Reads at most MAX_BODY_BYTES and never keeps more; a body announced as larger is not read at all. Answers 100 first where
 * the client waits for it. Never rejects. Call it once.
 */
export function readBody(exchange: Exchange): Promise<BodyRead> {
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
      // The rest is left to `send`, which drops it for a bounded time.
      req.pause();
      resolve({ kind: 'too_large' });
    });
    req.once('end', () => resolve({ kind: 'bytes', bytes: Buffer.concat(chunks) }));
    req.once('error', () => resolve({ kind: 'broken', code: 'bad_request' })); // the client went away
    exchange.onBroken = (code) => resolve({ kind: 'broken', code });
  });
}

/** In milliseconds. */
export type SendTimeouts = {
  /** How long a client may go on sending while it reads a refusal. */
  readonly lingerMs: number;
  /** How long a client may take to read its answer before it is cut off. */
  readonly sendMs: number;
};

/** What depends on the connection rather than on the answer. */
export type SendOptions = {
  /** Whether this is the connection's last answer. */
  readonly close: boolean;
  readonly timeouts: SendTimeouts;
};

/**
 * Sends an answer and calls `ended` once, when it has left or its client has. Throws where the answer is none, as with a
 * header that HTTP does not allow.
 */
export function send(
  { req, res, broken }: Exchange,
  { status, headers, body }: RawResponse,
  { close, timeouts: { lingerMs, sendMs } }: SendOptions,
  ended: () => void,
): void {
  if (res.destroyed) {
    ended();
    return;
  }
  res.once('close', ended);
  // What is left of the body stands before the next request, so it must be read, or the connection closed.
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

/**
 * Ends an answer; an answer that has ended already stays as it is. The connection is destroyed after `sendMs` where the
 * client has not taken all of it by then.
 */
export function finish(res: ServerResponse, rest: string | null, sendMs: number): void {
  const { socket, writableEnded } = res;
  if (writableEnded) return;
  res.end(rest ?? undefined);
  if (socket === null || socket.writableLength === 0) return;
  const timer = setTimeout(() => socket.destroy(), sendMs);
  res.once('close', () => clearTimeout(timer));
}

/** Whether the rest of a body that nobody wanted is short, so that node:http can read it and keep the connection. */
function isSmall(req: IncomingMessage): boolean {
  return Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= MAX_BODY_BYTES;
}

/**
 * Lets a client that is still sending read its answer first: closing at once would reset the connection and
 * lose it. What still comes is dropped unseen, for a bounded time and a bounded number of bytes.
 */
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

/**
 * Writes a whole answer to a socket that has no request, and closes it: after `lingerMs` at the latest. Never throws for
 * what the client does.
 */
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

/** Answers a connection from which nothing has been read, and closes it; what it sends meanwhile is dropped unread. */
export function turnAway(socket: Socket, response: RawResponse, lingerMs: number): void {
  socket.removeAllListeners('data'); // the parser of node:http
  socket.on('data', () => {}); // and takes the socket back from it
  writeRaw(socket, response, lingerMs);
}
