/** Parses the ClientHello (RFC 8446, 4.1.2 and 5.1; RFC 5246): node:tls reports names too late. */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';

type ClientHello = {
  /** As sent (RFC 6066, 3); null: no name. */
  readonly serverName: string | null;
  /** Application protocols (RFC 7301, 3.1), preferred first. */
  readonly protocols: readonly string[];
};

/** `bytes`: how many bytes from the start are needed before parsing again. */
export type HelloRead =
  | { readonly kind: 'hello'; readonly hello: ClientHello }
  | { readonly kind: 'needs'; readonly bytes: number }
  | { readonly kind: 'unreadable' };

const unreadable: HelloRead = { kind: 'unreadable' };

const RECORD_HEADER = 5;
const MESSAGE_HEADER = 4;
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
/** RFC 8446, 5.1: the limit of a record, also used for the whole message. */
const BYTES_MAX = 16_384;
/** Some clients send two or three. */
const RECORDS_MAX = 16;
const SERVER_NAME = 0;
const ALPN = 16;

/** Never throws. */
export function readClientHello(bytes: Buffer): HelloRead {
  const message = messageOf(bytes);
  if (!Buffer.isBuffer(message)) return message;
  try {
    return { kind: 'hello', hello: parse(message) };
  } catch (fault) {
    if (fault instanceof RangeError) return unreadable; // a length that exceeds the message
    throw fault;
  }
}

/** RFC 8446, 5.1: a message can be split anywhere. */
function messageOf(bytes: Buffer): Buffer | HelloRead {
  let message: Buffer = Buffer.alloc(0);
  let at = 0;
  for (let records = 0; records < RECORDS_MAX; records += 1) {
    const part = recordAt(bytes, at);
    if (!Buffer.isBuffer(part)) return part;
    at += RECORD_HEADER + part.length;
    message = records === 0 ? part : Buffer.concat([message, part]);
    if (message.length < MESSAGE_HEADER) continue;
    const end = MESSAGE_HEADER + message.readUIntBE(1, 3);
    if (message[0] !== CLIENT_HELLO || end > BYTES_MAX) return unreadable;
    if (message.length >= end) return message.subarray(MESSAGE_HEADER, end);
  }
  return unreadable;
}

function recordAt(bytes: Buffer, at: number): Buffer | HelloRead {
  if (bytes.length < at + RECORD_HEADER) return { kind: 'needs', bytes: at + RECORD_HEADER };
  const length = bytes.readUInt16BE(at + 3);
  const isHandshake = bytes[at] === HANDSHAKE && bytes[at + 1] === 3;
  if (!isHandshake || length === 0 || length > BYTES_MAX) return unreadable;
  const end = at + RECORD_HEADER + length;
  return bytes.length < end
    ? { kind: 'needs', bytes: end }
    : bytes.subarray(at + RECORD_HEADER, end);
}

/** Throws a RangeError if a length exceeds its container. */
function parse(body: Buffer): ClientHello {
  let at = 2 + 32; // version and random
  for (const prefix of [1, 2, 1]) at += prefix + vector(body, at, prefix).length; // session, suites, compression
  // TLS 1.2 can have none
  const extensions = at === body.length ? body.subarray(at) : vector(body, at, 2);
  let serverName: string | null = null;
  let protocols: readonly string[] = [];
  for (at = 0; at < extensions.length; ) {
    const type = extensions.readUInt16BE(at);
    const data = vector(extensions, at + 2, 2);
    at += 4 + data.length;
    if (type === SERVER_NAME) serverName = serverNameIn(data);
    if (type === ALPN) protocols = protocolsIn(data);
  }
  return { serverName, protocols };
}

/** RFC 6066, 3: in practice, the list has one host name (type 0). */
function serverNameIn(data: Buffer): string | null {
  const names = vector(data, 0, 2);
  return names[0] === 0 ? vector(names, 1, 2).toString('latin1') : null;
}

function protocolsIn(data: Buffer): string[] {
  const list = vector(data, 0, 2);
  const protocols: string[] = [];
  for (let at = 0; at < list.length; ) {
    const name = vector(list, at, 1);
    at += 1 + name.length;
    protocols.push(name.toString('latin1'));
  }
  return protocols;
}

/** The vector at `at` with a length of `prefix` bytes (RFC 8446, 3.4). */
function vector(data: Buffer, at: number, prefix: number): Buffer {
  const start = at + prefix;
  const end = start + data.readUIntBE(at, prefix);
  if (end > data.length) throw new RangeError('a vector exceeds its message');
  return data.subarray(start, end);
}

/** Takes over a connection, or returns null to leave it to TLS. */
export type Divert = (hello: ClientHello) => ((socket: Socket) => Promise<boolean>) | null;

/** Null for an unknown name. Must not reject. */
export type FindServer = (serverName: string) => Promise<TlsServer | null>;

/**
 * Passes connections to the server of the name, or to `server`, which refuses them. Closes those
 * not passed on within `helloMs`. A diverted connection is taken if the promise resolves to true;
 * it must not reject.
 */
export function readBeforeHandshake(
  server: Server,
  helloMs: number,
  divert: Divert | null,
  findServer: FindServer,
): void {
  // Node's own listener starts the handshake (tls, event `connection`).
  const own = server.listeners('connection');
  server.removeAllListeners('connection');

  async function begin(socket: Socket, hello: ClientHello | null): Promise<void> {
    const { serverName = null } = hello ?? {};
    const named = serverName === null ? null : await findServer(serverName);
    if (socket.destroyed) return;
    if (named !== null) named.emit('connection', socket);
    else for (const listener of own) listener.call(server, socket);
  }

  server.on('connection', (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), helloMs);
    socket.on('error', ignore).once('close', () => clearTimeout(timer));
    onHello(socket, async (hello) => {
      const take = hello === null ? null : (divert?.(hello) ?? null);
      const isTaken = take !== null && (await take(socket));
      if (!isTaken) await begin(socket, hello);
      clearTimeout(timer);
    });
  });
}

/** Calls back once, null for an invalid ClientHello. All bytes are back in the socket by then. */
function onHello(socket: Socket, found: (hello: ClientHello | null) => Promise<void>): void {
  let held: Buffer | null = null;
  let needs = 0;
  socket.on('data', function onData(chunk: Buffer) {
    held = held === null ? chunk : Buffer.concat([held, chunk]);
    if (held.length < needs) return;
    const read = readClientHello(held);
    if (read.kind === 'needs') {
      needs = read.bytes;
      return;
    }
    socket.off('data', onData).pause().unshift(held);
    void found(read.kind === 'hello' ? read.hello : null);
  });
}

/** Before TLS takes over, an error just ends the connection. */
function ignore(): void {}
