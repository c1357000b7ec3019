/**
 * A client's first message, read before TLS reads it (RFC 8446, 4.1.2 and 5.1; the same in RFC 5246): what it is asked
 * for there decides which certificate it may see, and node:tls tells the protocols of RFC 7301 too late for that.
 * What is no ClientHello, or one that nobody writes, is left to TLS to refuse.
 */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';

/** What is read of a ClientHello (RFC 8446, 4.1.2) before anybody answers it. */
export type ClientHello = {
  /** As it was written (RFC 6066, 3); null: no name. */
  readonly serverName: string | null;
  /** The application protocols offered (RFC 7301, 3.1), the preferred one first. */
  readonly protocols: readonly string[];
};

/** `bytes`: so many, counted from the start, must be there before parsing again can say more. */
export type HelloRead =
  | { readonly kind: 'hello'; readonly hello: ClientHello }
  | { readonly kind: 'needs'; readonly bytes: number }
  | { readonly kind: 'unreadable' };

const unreadable: HelloRead = { kind: 'unreadable' };

const RECORD_HEADER = 5;
const MESSAGE_HEADER = 4;
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
/** RFC 8446, 5.1: of a record. Our choice for the whole message, too: with post-quantum keys they have some 2 KiB. */
const BYTES_MAX = 16_384;
/** Our choice: some clients send two or three. */
const RECORDS_MAX = 16;
const SERVER_NAME = 0;
const ALPN = 16;

/** What a connection's first bytes say. Never throws. */
export function readClientHello(bytes: Buffer): HelloRead {
  const message = messageOf(bytes);
  if (!Buffer.isBuffer(message)) return message;
  try {
    return { kind: 'hello', hello: parse(message) };
  } catch (fault) {
    if (fault instanceof RangeError) return unreadable; // a length that leads out of the message
    throw fault;
  }
}

/** The handshake message within its records (RFC 8446, 5.1: it may be cut anywhere). */
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

/** What the record that begins there carries. */
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

/** Throws a RangeError where a length leads out of its place. */
function parse(body: Buffer): ClientHello {
  let at = 2 + 32; // version and random
  for (const prefix of [1, 2, 1]) at += prefix + vector(body, at, prefix).length; // session, suites, compression
  const extensions = at === body.length ? body.subarray(at) : vector(body, at, 2); // TLS 1.2 may have none
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

/** RFC 6066, 3: a list that nobody has ever put more than one host name (type 0) into. */
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

/** What follows a length of `prefix` bytes at `at` (RFC 8446, 3.4). */
function vector(data: Buffer, at: number, prefix: number): Buffer {
  const start = at + prefix;
  const end = start + data.readUIntBE(at, prefix);
  if (end > data.length) throw new RangeError('a vector leads out of its message');
  return data.subarray(start, end);
}

/** What becomes of a connection. It is TLS's to begin with, where nobody else takes it. */
export type Divert = (hello: ClientHello) => ((socket: Socket) => Promise<boolean>) | null;

/** The server that shakes hands for a name; null: none does. Must not reject. */
export type FindServer = (serverName: string) => Promise<TlsServer | null>;

/**
 * Reads what a connection asks for, and gives it to whoever is to shake hands: the server of the name, or `server` itself,
 * which has no certificate, and refuses. A ClientHello that is not there after `helloMs`, or not given away by then, ends its
 * connection; what is none goes to `server`, too. Whoever is diverted has the connection when the promise gives true;
 * where it gives false it is as if nothing had been. It must not reject.
 */
export function readBeforeHandshake(
  server: Server,
  helloMs: number,
  divert: Divert | null,
  findServer: FindServer,
): void {
  // Node's own listener begins the handshake (tls, event `connection`: connections may be injected by it).
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

/** Calls back once, null for what is no ClientHello; every byte is in the socket's buffer again by then. */
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

/** Before TLS has the connection, its errors end it, which is all that they can mean. */
function ignore(): void {}
