/** A loopback address with the same port open for UDP and TCP. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Socket as TcpSocket } from 'node:net';

export type DnsTransport = 'udp' | 'tcp';

/** `wrong_source`: from another port; `hang_up`: closes the connection instead. */
export type Delivery = {
  /** Without a length prefix. Undefined: sends nothing, but may close a connection. */
  readonly bytes: Buffer | undefined;
  /** `wrong_source` applies to UDP only, `hang_up` to TCP only. */
  readonly way: 'straight' | 'wrong_source' | 'hang_up';
  /** Waits for this before sending or closing. */
  readonly after: Promise<unknown> | undefined;
};

/** Undefined sends nothing. Called in the order of arrival on a socket. */
export type Handler = (query: Buffer, transport: DnsTransport) => Delivery | undefined;

export type DnsListener = { readonly port: number; readonly close: () => Promise<void> };

/** `tcp: false`: only UDP is opened, and connections are refused. */
export type DnsListenOptions = { readonly tcp?: boolean };

/** Retries with another port if the system's choice for UDP is in use for TCP. */
const PORT_TRIES = 20;

/** Port 0: free for both. Rejects, with nothing open, if the address or port is in use. */
export async function listenDns(
  address: string,
  port: number,
  handler: Handler,
  { tcp = true }: DnsListenOptions = {},
): Promise<DnsListener> {
  for (let tries = 1; ; tries++) {
    const udp = await openUdp(address, port, handler);
    if (!tcp) return udp;
    try {
      const { close } = await openTcp(address, udp.port, handler);
      return { port: udp.port, close: () => Promise.all([udp.close(), close()]).then(() => {}) };
    } catch (error) {
      // In use for TCP: tries another one if the port was chosen here.
      await udp.close();
      if (port !== 0 || tries === PORT_TRIES) throw error;
    }
  }
}

async function openUdp(address: string, port: number, handler: Handler): Promise<DnsListener> {
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
  const listening = once(udp, 'listening'); // may be emitted at once
  udp.bind({ address, port, exclusive: true });
  await listening;
  const close = async () => {
    closed = true; // held responses must not be sent anymore
    await closeSocket(udp);
  };
  return { port: udp.address().port, close };
}

type Sender = { readonly address: string; readonly port: number };

/** From the same address, but another port. */
function sendFromElsewhere(address: string, bytes: Buffer, source: Sender): void {
  const other = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  other.bind({ address, exclusive: true }, () => {
    other.send(bytes, source.port, source.address, () => other.close());
  });
}

/** Tracks its connections, since closing must not wait for clients. */
async function openTcp(address: string, port: number, handler: Handler): Promise<DnsListener> {
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

/** TCP messages have a length prefix (RFC 1035, 4.2.2). */
function answerStream(socket: TcpSocket, handler: Handler): void {
  // A chunk may end within a message, or contain several.
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
