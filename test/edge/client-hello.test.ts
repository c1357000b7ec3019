import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readClientHello } from '../../src/edge/tls/client-hello.ts';

let server: Server;
beforeAll(async () => {
  server = createServer((socket) => socket.on('error', () => {}));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.close();
});

/** The ClientHello that Node.js sends. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const visitor = connect({ host: '127.0.0.1', port, ...options }).on('error', () => {});
  const [socket] = await accepted;
  const [said] = await once(socket, 'data');
  visitor.destroy();
  return said;
}

/** The same message in records of `size` bytes (RFC 8446, 5.1). */
function cut(hello: Buffer, size: number): Buffer {
  const body = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

const name = 'docs.acme.test';
const offers = { servername: name, ALPNProtocols: ['acme-tls/1', 'h2'] };

describe('A ClientHello', () => {
  it.each([
    ['TLS 1.3', { ...offers }, name, ['acme-tls/1', 'h2']],
    ['TLS 1.2', { ...offers, maxVersion: 'TLSv1.2' }, name, ['acme-tls/1', 'h2']],
    ['a name only', { servername: name }, name, []],
    ['protocols only', { ALPNProtocols: ['http/1.1'] }, null, ['http/1.1']],
    ['neither', {}, null, []],
  ] as const)('of %s has name and protocols', async (_what, options, serverName, protocols) => {
    const bytes = await helloOf(options as ConnectionOptions);
    expect(readClientHello(bytes)).toEqual({ kind: 'hello', hello: { serverName, protocols } });
    // Bytes behind it are not checked.
    const more = Buffer.concat([bytes, Buffer.from([20, 3, 3, 0, 1, 1])]);
    expect(readClientHello(more).kind).toBe('hello');
  });

  it('that is incomplete needs more bytes', async () => {
    const bytes = await helloOf(offers);
    let needs = 0;
    for (let length = 0; length < bytes.length; length += 1) {
      const read = readClientHello(bytes.subarray(0, length));
      if (read.kind !== 'needs') throw new Error(`${length} bytes are ${read.kind}`);
      expect(read.bytes).toBeGreaterThan(length);
      expect(read.bytes).toBeGreaterThanOrEqual(needs);
      needs = read.bytes;
    }
    expect(needs).toBe(bytes.length);
  });

  it('is read from several records, but not from many', async () => {
    const bytes = await helloOf(offers);
    const whole = readClientHello(bytes);
    // A hello with a post-quantum key share is four times as long.
    const tenth = Math.ceil(bytes.length / 10);
    expect(readClientHello(cut(bytes, tenth))).toEqual(whole);
    // The first record is shorter than the message header.
    expect(
      readClientHello(Buffer.concat([cut(bytes.subarray(0, 8), 2), cut(cutHead(bytes), tenth)])),
    ).toEqual(whole);
    expect(readClientHello(cut(bytes, 1)).kind).toBe('unreadable');
  });

  it.each([
    ['a request in plain HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: docs.acme.test\r\n\r\n')],
    ['SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 1, 0, 0])],
    ['an alert', Buffer.from([21, 3, 1, 0, 2, 2, 40])],
    ['another handshake message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['an empty record', Buffer.from([22, 3, 1, 0, 0])],
    ['a record that is too long', Buffer.from([22, 3, 1, 0xff, 0xff])],
    ['a message that is too long', Buffer.from([22, 3, 1, 0, 4, 1, 1, 0, 0])],
    ['an empty message', Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0])],
  ])('is distinguished from %s', (_what, bytes) => {
    expect(readClientHello(bytes)).toEqual({ kind: 'unreadable' });
  });

  it('with any byte changed or cut off at any place is read without a fault', async () => {
    const bytes = await helloOf(offers);
    for (let at = 0; at < bytes.length; at += 1) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[at] = value;
        expect(['hello', 'needs', 'unreadable']).toContain(readClientHello(changed).kind);
      }
      // As if it ended there: every longer length points outside.
      const ended = cut(bytes.subarray(0, at), 16_384);
      if (ended.length >= 9) ended.writeUIntBE(ended.length - 9, 6, 3);
      expect(['hello', 'needs', 'unreadable']).toContain(readClientHello(ended).kind);
    }
  });
});

function cutHead(hello: Buffer): Buffer {
  return Buffer.concat([hello.subarray(0, 5), hello.subarray(8)]);
}
