/** A WebSocket client and server (RFC 6455) with large frames and without extensions. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { type EdgeFixture, startDeploy } from './fixture.ts';

const TEXT = 1;
export const CLOSE = 8;

type Frame = { readonly opcode: number; readonly payload: Buffer };

export type Peer = {
  readonly socket: Duplex;
  /** The request or response of the upgrade. */
  readonly handshake: IncomingMessage;
  send(payload: string | Buffer, opcode?: number): void;
  /** The next frame, unmasked; null at the end. Rejects if the connection breaks. */
  next(): Promise<Frame | null>;
};

export const SWITCHING = 'Upgrade: websocket\r\nConnection: Upgrade\r\n';

const acceptOf = (key: string) =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/** A deploy that passes every WebSocket to `accept` and answers 426 to anything else. */
export async function startWebSocketDeploy(accept: (peer: Peer) => unknown) {
  const deploy = await startDeploy((_request, response) => response.writeHead(426).end('upgrade!'));
  deploy.server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {});
    const accepted = acceptOf(request.headers['sec-websocket-key'] ?? '');
    const fields = `${SWITCHING}Sec-WebSocket-Accept: ${accepted}\r\n\r\n`;
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}`);
    // Rejects when the visitor has disconnected.
    Promise.resolve(accept(peerOn(socket, request, false))).catch(() => {});
  });
  return deploy;
}

/** The upgrade request, not sent yet. */
export function webSocketRequest(
  edge: EdgeFixture,
  hostname: string,
  headers: OutgoingHttpHeaders = {},
) {
  const key = randomBytes(16).toString('base64');
  const request = edge.openHttps({
    hostname,
    path: '/chat?room=1',
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': key,
      'sec-websocket-version': '13',
      ...headers,
    },
  });
  return { request, accepts: acceptOf(key) };
}

export async function openWebSocket(edge: EdgeFixture, hostname: string): Promise<Peer> {
  const { request, accepts } = webSocketRequest(edge, hostname);
  const [answer, socket, head] = await once(request.end(), 'upgrade');
  if (answer.headers['sec-websocket-accept'] !== accepts)
    throw new Error('wrong sec-websocket-accept');
  socket.on('error', () => {});
  socket.unshift(head);
  return peerOn(socket, answer, true);
}

function peerOn(socket: Duplex, handshake: IncomingMessage, isClient: boolean): Peer {
  let chunks: AsyncIterator<Buffer> | undefined;
  let pending: Buffer = Buffer.alloc(0);
  return {
    socket,
    handshake,
    send(payload, opcode = TEXT) {
      socket.write(encode(Buffer.from(payload), opcode, isClient));
    },
    async next() {
      // Destroying it at its end would close the other direction.
      chunks ??= socket.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
      for (;;) {
        const decoded = decode(pending);
        if (decoded !== null) {
          pending = decoded.rest;
          return decoded.frame;
        }
        const { value, done } = await chunks.next();
        if (done === true) return null;
        pending = Buffer.concat([pending, value]);
      }
    },
  };
}

/** RFC 6455, 5.2; a client masks its frames (5.3). */
function encode(payload: Buffer, opcode: number, isMasked: boolean): Buffer {
  const mask = isMasked ? randomBytes(4) : Buffer.alloc(0);
  const bit = isMasked ? 0x80 : 0;
  const head = Buffer.alloc(10);
  head[0] = 0x80 | opcode;
  let length = 2;
  if (payload.length < 126) {
    head[1] = bit | payload.length;
  } else if (payload.length < 65_536) {
    head[1] = bit | 126;
    length = head.writeUInt16BE(payload.length, 2);
  } else {
    head[1] = bit | 127;
    length = head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([head.subarray(0, length), mask, masked(payload, mask)]);
}

function decode(bytes: Buffer): { frame: Frame; rest: Buffer } | null {
  if (bytes.length < 2) return null;
  const short = bytes.readUInt8(1) & 0x7f;
  const lengthEnd = short < 126 ? 2 : short === 126 ? 4 : 10;
  const maskEnd = lengthEnd + (bytes.readUInt8(1) & 0x80 ? 4 : 0);
  if (bytes.length < maskEnd) return null;
  const long =
    lengthEnd === 4 ? () => bytes.readUInt16BE(2) : () => Number(bytes.readBigUInt64BE(2));
  const end = maskEnd + (lengthEnd === 2 ? short : long());
  if (bytes.length < end) return null;
  const payload = masked(bytes.subarray(maskEnd, end), bytes.subarray(lengthEnd, maskEnd));
  return { frame: { opcode: bytes.readUInt8(0) & 0x0f, payload }, rest: bytes.subarray(end) };
}

function masked(payload: Buffer, mask: Buffer): Buffer {
  if (mask.length === 0) return payload;
  return Buffer.from(payload.map((byte, index) => byte ^ mask.readUInt8(index % 4)));
}
