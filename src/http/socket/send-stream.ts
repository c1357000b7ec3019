/** Sends a streamed response, only as fast as the client reads it. */
import type { ServerResponse } from 'node:http';
import type { TextStream } from '../pipeline/errors.ts';
import type { RawResponse } from '../pipeline/render.ts';
import { finish, type HttpExchange, type SendTimeouts } from './exchange.ts';

const MAX_DROPPED_BYTES = 1_048_576; // what a client can send after its request

export type StreamOptions = {
  /** If the server is closing, the stream ends before it starts. */
  readonly closing: boolean;
  /** End functions of open streams; the server calls them when it closes. */
  readonly streams: Set<() => void>;
  readonly timeouts: SendTimeouts;
};

/** Closes the connection, so a truncated stream never looks complete. Calls `ended` once. */
export function sendStream(
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
