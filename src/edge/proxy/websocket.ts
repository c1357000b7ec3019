/**
 * WebSocket over HTTP/1.1 (RFC 6455, 4): which requests ask for it, and the two connections joined once both sides agree.
 * What is said on it is between the visitor and the deploy; the edge reads no frames.
 */
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What a handshake says of its one connection, each way. */
export const switching = { connection: 'Upgrade', upgrade: 'websocket' } as const;

/** A request whose wish to upgrade is heard where it is for WebSocket; any other may be ignored (RFC 9110, 7.8). */
export class EdgeRequest extends IncomingMessage {
  asksToUpgrade = false;

  /** Node asks this before its event `upgrade`, for which every protocol would do, and a body would be lost. */
  get upgrade(): boolean {
    return this.asksToUpgrade && asksForWebSocket(this);
  }
  set upgrade(asked: boolean | null) {
    this.asksToUpgrade = asked === true;
  }
}

/** Whether a request opens a WebSocket: a GET without a body that names it, and nothing beside it (RFC 6455, 4.1). */
export function asksForWebSocket({ method, httpVersion, headers }: IncomingMessage): boolean {
  const isPlain =
    headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
  return method === 'GET' && httpVersion === '1.1' && isPlain && isWebSocket(headers);
}

/** Whether both fields of a handshake or its answer say so; Node joins several of one name with commas. */
export function isWebSocket({ connection, upgrade }: IncomingMessage['headers']): boolean {
  const options = (connection ?? '').toLowerCase().split(',');
  return (
    options.some((option) => option.trim() === 'upgrade') && upgrade?.toLowerCase() === 'websocket'
  );
}

/**
 * What Node leaves to us where a request upgrades: a response on its connection, the last of it unless the deploy agrees.
 * `head`: what has come after the request.
 */
export function responseTo(request: IncomingMessage, socket: Socket, head: Buffer): ServerResponse {
  socket.on('error', () => {}); // `close` follows
  socket.unshift(head);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  const drained = () => response.emit('drain');
  socket.on('drain', drained);
  response.once('finish', () => {
    response.detachSocket(socket);
    socket.destroySoon(); // as Node does after a connection's last answer
  });
  return response;
}

/**
 * Joins two connections until both have ended; each waits for the slower (backpressure), and an end is passed on as an
 * end, so that what is under way the other way arrives. One that breaks off breaks off the other, and `silenceMs` without
 * a byte breaks off both.
 */
export function tunnel(client: Socket, upstream: Socket, silenceMs: number): void {
  client.setTimeout(silenceMs).once('timeout', () => client.destroy());
  for (const socket of [client, upstream]) {
    socket.setNoDelay();
    socket.allowHalfOpen = true;
  }
  client.once('close', () => upstream.destroy());
  client.pipe(upstream);
  upstream.pipe(client);
  upstream.once('close', () => {
    if (!upstream.readableEnded) client.destroy();
    client.resume(); // what it still says is heard by nobody, but its end is waited for
  });
}
