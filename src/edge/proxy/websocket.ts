/** WebSocket over HTTP/1.1 (RFC 6455, 4). The edge does not read frames. */
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Handshake fields for both directions. */
export const switching = { connection: 'Upgrade', upgrade: 'websocket' } as const;

/** Only honors upgrades to WebSocket; others can be ignored (RFC 9110, 7.8). */
export class EdgeRequest extends IncomingMessage {
  asksToUpgrade = false;

  /** Node.js reads this before `upgrade`, which accepts every protocol and would lose a body. */
  get upgrade(): boolean {
    return this.asksToUpgrade && asksForWebSocket(this);
  }
  set upgrade(asked: boolean | null) {
    this.asksToUpgrade = asked === true;
  }
}

/** A GET without a body that names only WebSocket (RFC 6455, 4.1). */
export function asksForWebSocket({ method, httpVersion, headers }: IncomingMessage): boolean {
  const isPlain =
    headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
  return method === 'GET' && httpVersion === '1.1' && isPlain && isWebSocket(headers);
}

/** Node.js joins repeated fields with commas. */
export function isWebSocket({ connection, upgrade }: IncomingMessage['headers']): boolean {
  const options = (connection ?? '').toLowerCase().split(',');
  return (
    options.some((option) => option.trim() === 'upgrade') && upgrade?.toLowerCase() === 'websocket'
  );
}

/** Node.js leaves upgrades to the application. `head`: bytes received after the request. */
export function upgradeResponse(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): ServerResponse {
  socket.on('error', () => {}); // `close` follows
  socket.unshift(head);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  const drained = () => response.emit('drain');
  socket.on('drain', drained);
  response.once('finish', () => {
    response.detachSocket(socket);
    socket.destroySoon(); // as Node.js does after a connection's last response
  });
  return response;
}

/**
 * A regular end is forwarded, so that data in the other direction still arrives. A broken
 * connection closes the other, and `silenceMs` without data closes both.
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
    client.resume(); // discards data, but waits for the end
  });
}
