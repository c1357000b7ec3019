/** A loopback address on which the same port is open for UDP and TCP. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket as TcpSocket } from 'node:net';

/** How a query arrived. */
export type Transport = 'udp' | 'tcp';

/** Gives the answer to a query, or none; called for each message that arrives. */
export type Handler = (query: Buffer, transport: Transport) => Buffer | undefined;

/** `close` resolves when both sockets are closed and every connection is cut. */
export type Listener = { readonly port: number; readonly close: () => Promise<void> };

/** How often another port is tried when the one the system chose for UDP is taken for TCP. */
const PORT_TRIES = 20;

/** Opens the port on both; port 0 lets the system choose one. Rejects where the address or port is not free. */
export async function listen(address: string, port: number, handler: Handler): Promise<Listener> {
  for (let tries = 1; ; tries++) {
    const udp = await openUdp(address, port, handler);
    const chosen = udp.address().port;
    try {
      const { server, connections } = await openTcp(address, chosen, handler);
      return { port: chosen, close: () => close(udp, server, connections) };
    } catch (error) {
      // Taken for TCP: another one, if the choice was ours.
      udp.close();
      if (port !== 0 || tries === PORT_TRIES) throw error;
    }
  }
}

/** Sends nothing where the handler is silent. */
async function openUdp(address: string, port: number, handler: Handler): Promise<Socket> {
  const udp = createSocket({
    type: 'udp4',
    recvBufferSize: 1 << 20,
    lookup: (host, _options, done) => done(null, host, 4),
  });
  udp.on('message', (query, source) => {
    const answer = handler(query, 'udp');
    if (answer !== undefined) udp.send(answer, source.port, source.address);
  });
  const listening = once(udp, 'listening'); // which may come at once
  udp.bind({ address, port, exclusive: true });
  await listening;
  return udp;
}

/** Keeps its connections, as closing must not wait for clients that stay. */
async function openTcp(address: string, port: number, handler: Handler) {
  const connections = new Set<TcpSocket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    answerStream(socket, handler);
  });
  server.listen({ host: address, port });
  await once(server, 'listening');
  return { server, connections };
}

/** Messages over TCP come with their length before them (RFC 1035, 4.2.2). */
function answerStream(socket: TcpSocket, handler: Handler): void {
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      const answer = handler(received.subarray(2, end), 'tcp');
      if (answer !== undefined) socket.write(Buffer.concat([lengthOf(answer), answer]));
      received = received.subarray(end);
    }
  });
}

function lengthOf(answer: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(answer.length);
  return length;
}

async function close(udp: Socket, server: Server, connections: Set<TcpSocket>): Promise<void> {
  const closed = Promise.all([once(udp, 'close'), once(server, 'close')]);
  udp.close();
  server.close();
  for (const socket of connections) socket.destroy();
  await closed;
}
