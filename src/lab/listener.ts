/** A loopback address on which the same port is open for UDP and TCP. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Socket as TcpSocket } from 'node:net';

/** How a query arrived. */
export type Transport = 'udp' | 'tcp';

/** An answer and how it is sent. `wrong_source`: from another port; `hang_up`: the connection is cut instead. */
export type Delivery = {
  /** The whole message, without a length before it. Undefined: nothing is sent, though a connection may be cut. */
  readonly bytes: Buffer | undefined;
  /** `wrong_source` counts over UDP only, `hang_up` over TCP only. */
  readonly way: 'straight' | 'wrong_source' | 'hang_up';
  /** Nothing is sent or cut before this resolves; undefined: at once. */
  readonly after: Promise<unknown> | undefined;
};

/**
 * Gives the answer to a message, or undefined for none. Called for each message, in the order of their arrival on a
 * socket.
 */
export type Handler = (query: Buffer, transport: Transport) => Delivery | undefined;

/** `close` resolves when the sockets are closed and every connection is cut. */
export type Listener = { readonly port: number; readonly close: () => Promise<void> };

/** `tcp: false`: only UDP is opened, and connections are refused. */
export type ListenOptions = { readonly tcp?: boolean };

/** How often another port is tried when the one the system chose for UDP is taken for TCP. */
const PORT_TRIES = 20;

/**
 * Opens the port for UDP and TCP; port 0 lets the system choose one that is free for both. Rejects where the address
 * or port is not free, and leaves nothing open then.
 */
export async function listen(
  address: string,
  port: number,
  handler: Handler,
  { tcp = true }: ListenOptions = {},
): Promise<Listener> {
  for (let tries = 1; ; tries++) {
    const udp = await openUdp(address, port, handler);
    if (!tcp) return udp;
    try {
      const { close } = await openTcp(address, udp.port, handler);
      return { port: udp.port, close: () => Promise.all([udp.close(), close()]).then(() => {}) };
    } catch (error) {
      // Taken for TCP: another one, if the choice was ours.
      await udp.close();
      if (port !== 0 || tries === PORT_TRIES) throw error;
    }
  }
}

/** Sends nothing where the handler is silent. */
async function openUdp(address: string, port: number, handler: Handler): Promise<Listener> {
  const family = isIPv6(address) ? 6 : 4;
  const udp = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    recvBufferSize: 1 << 20,
    lookup: (host, _options, done) => done(null, host, family),
  });
  let closed = false;
  udp.on('message', (query, source) => {
    const delivery = handler(query, 'udp');
    if (delivery?.bytes === undefined) return;
    const { bytes, way, after } = delivery;
    const send = () => {
      if (closed) return;
      if (way === 'wrong_source') sendFromElsewhere(address, bytes, source);
      else udp.send(bytes, source.port, source.address);
    };
    if (after === undefined) send();
    else void after.then(send);
  });
  const listening = once(udp, 'listening'); // which may come at once
  udp.bind({ address, port, exclusive: true });
  await listening;
  const close = async () => {
    closed = true; // what is still held must not be sent any more
    await closeSocket(udp);
  };
  return { port: udp.address().port, close };
}

type Source = { readonly address: string; readonly port: number };

/** From the same address, and a port that nobody asked. */
function sendFromElsewhere(address: string, bytes: Buffer, source: Source): void {
  const other = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  other.bind({ address, exclusive: true }, () => {
    other.send(bytes, source.port, source.address, () => other.close());
  });
}

/** Keeps its connections, as closing must not wait for clients that stay. */
async function openTcp(address: string, port: number, handler: Handler): Promise<Listener> {
  const connections = new Set<TcpSocket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    answerStream(socket, handler);
  });
  server.listen({ host: address, port });
  await once(server, 'listening');
  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of connections) socket.destroy();
    await closed;
  };
  return { port, close };
}

/** Messages over TCP come with their length before them (RFC 1035, 4.2.2). */
function answerStream(socket: TcpSocket, handler: Handler): void {
  // A chunk may end within a message, or hold several.
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      const delivery = handler(received.subarray(2, end), 'tcp');
      if (delivery !== undefined) answerOverTcp(socket, delivery);
      received = received.subarray(end);
    }
  });
}

function answerOverTcp(socket: TcpSocket, { bytes, way, after }: Delivery): void {
  const send = () => {
    if (way === 'hang_up') socket.destroy();
    else if (bytes !== undefined && socket.writable) {
      socket.write(Buffer.concat([lengthOf(bytes), bytes]));
    }
  };
  if (after === undefined) send();
  else void after.then(send);
}

function lengthOf(answer: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(answer.length);
  return length;
}

async function closeSocket(udp: Socket): Promise<void> {
  const closed = once(udp, 'close');
  udp.close();
  await closed;
}
