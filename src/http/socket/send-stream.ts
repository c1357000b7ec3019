/** An answer that is sent as it is made, perhaps without an end, only as fast as its client takes it. */
import type { ServerResponse } from 'node:http';
import type { TextStream } from '../pipeline/errors.ts';
import type { RawResponse } from '../pipeline/render.ts';
import { type Exchange, finish, type SendTimeouts } from './exchange.ts';

const MAX_DROPPED_BYTES = 1_048_576; // our choice: what a client may send that has asked already

/** What a stream shares with others of its server. */
export type StreamOptions = {
  /** Whether the server is closing: then the stream ends before it begins. */
  readonly closing: boolean;
  /** The stream's end is in here while it is open, for the server to call when it closes. */
  readonly streams: Set<() => void>;
  readonly timeouts: SendTimeouts;
};

/**
 * Sends a stream and calls `ended` once, when it is over or its client has left. It is the connection's last answer, so that
 * a stream that ends is never taken for a whole answer that another one may follow. The stream is always either opened or
 * discarded.
 */
export function sendStream(
  exchange: Exchange,
  { status, headers }: RawResponse,
  stream: TextStream,
  { closing, streams, timeouts }: StreamOptions,
  ended: () => void,
): void {
  const { req, res, broken } = exchange;
  // The client has left, or sent what is no HTTP: nobody is going to read it.
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
  // Events are short, and each is to arrive at once.
  req.socket.setNoDelay(true);
  if (closing) end();
  void pump(res, stream, timeouts.sendMs, over);
}

/** Takes the next text once the client has taken the one before, so that a slow client costs no memory. Never rejects. */
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
    res.destroy(); // in the middle: so that nobody takes it for the end
  } finally {
    over.abort();
  }
}

/**
 * Settles once the client has taken what waits for it, or the stream is over; a client that takes longer than `sendMs` is
 * cut off.
 */
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

/**
 * Reads and drops what the client still sends, because its leaving would not be noticed otherwise; one that sends too much
 * is cut off.
 */
function dropRest({ req }: Exchange, end: () => void): void {
  let dropped = 0;
  req.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > MAX_DROPPED_BYTES) end();
  });
  req.on('error', () => {}); // the client went away; the answer's close says so
}
