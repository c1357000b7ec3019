/** Checks tls-alpn-01 (RFC 8737) at the edge. */
import { spawn } from 'node:child_process';
import { createHash, type X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectPlain, createServer, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { type ConnectionOptions, connect } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { lacks } from '../support/programs.ts';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.acme.test';
const proof = 'token.thumbprint';
const digest = createHash('sha256').update(proof).digest();
const authority = { servername: hostname, ALPNProtocols: ['acme-tls/1'] };

let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;
beforeAll(async () => {
  edge = await startEdgeFixture();
  deploy = await startDeploy((_request, response) => response.end('hello'));
  await edge.publish(hostname, deploy.url);
  await edge.publish('idle.acme.test', deploy.url);
  await edge.publish('new.acme.test', deploy.url, { certificateId: null });
  edge.tlsChallenges.set('new.acme.test', proof);
  edge.tlsChallenges.set('unknown.test', proof);
});
beforeEach(() => edge.tlsChallenges.set(hostname, proof));
afterAll(async () => {
  await edge.close();
  await deploy.close();
});

async function shake(options: ConnectionOptions, port = edge.ports.httpsPort) {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
  await once(socket, 'secureConnect');
  const shown = socket.getPeerX509Certificate();
  if (shown === undefined) throw new Error('no certificate was shown');
  return { socket, shown, protocol: socket.alpnProtocol };
}

const isProof = (shown: X509Certificate) => shown.raw.includes(digest);

/** An ordinary visit, to prove that the edge still works. */
async function isServed() {
  expect((await edge.https({ hostname })).body).toBe('hello');
  expect(edge.warnings.splice(0)).toEqual([]);
}

describe('A CA that offers acme-tls/1 alone', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'gets the proof and nothing else, with %s',
    async (version) => {
      const only = { minVersion: version, maxVersion: version };
      const { socket, shown, protocol } = await shake({ ...authority, ...only });
      expect(protocol).toBe('acme-tls/1');
      expect(shown.subjectAltName).toBe(`DNS:${hostname}`);
      expect(isProof(shown)).toBe(true);
      expect(shown.verify(shown.publicKey)).toBe(true); // self-signed
      expect(await buffer(socket)).toHaveLength(0);
    },
  );

  it('gets the proof for a name with or without a certificate', async () => {
    const { socket, shown } = await shake({ ...authority, servername: 'new.acme.test' });
    expect(isProof(shown)).toBe(true);
    socket.destroy();
    await isServed();
  });

  it('gets no response to a request', async () => {
    const { socket } = await shake(authority);
    socket.on('error', () => {}).write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    const said: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => said.push(chunk));
    await once(socket, 'close');
    expect(said).toEqual([]);
    await isServed();
  });

  it.each([
    ['a name without a challenge', 'idle.acme.test'],
    ['an unknown name', 'unknown.test'],
    ['no name', ''],
    ['an invalid name', 'a..b'],
  ])('is refused for %s', async (_what, servername) => {
    await expect(shake({ ...authority, servername })).rejects.toThrow(/alert/i);
    await isServed();
  });

  it('is refused after the challenge', async () => {
    edge.tlsChallenges.delete(hostname);
    await expect(shake(authority)).rejects.toThrow(/no application protocol/i);
  });
});

describe('A visitor', () => {
  const lists: readonly (readonly [string[], string | false])[] = [
    [['h2', 'http/1.1', 'acme-tls/1'], 'http/1.1'],
    [['acme-tls/1', 'http/1.1'], 'http/1.1'],
    [['acme-tls/1', 'acme-tls/1', 'http/1.1'], 'http/1.1'],
    [['http/1.1'], 'http/1.1'],
  ];
  it.each(lists)('who offers %j gets the name’s own certificate', async (ALPNProtocols, agreed) => {
    const { socket, shown, protocol } = await shake({ servername: hostname, ALPNProtocols });
    expect(protocol).toBe(agreed);
    expect(isProof(shown)).toBe(false);
    socket.destroy();
  });

  it.each([[['acme-tls/1', 'h2']], [['acme-tls/2']], [['acme-tls/1', 'acme-tls/1']]])(
    'who offers %j is refused',
    async (ALPNProtocols) => {
      await expect(shake({ servername: hostname, ALPNProtocols })).rejects.toThrow(
        /no application protocol/i,
      );
    },
  );

  it('who requests a name that has only a challenge is refused', async () => {
    await expect(shake({ servername: 'new.acme.test' })).rejects.toThrow(/handshake failure/i);
  });
});

describe.skipIf(lacks('openssl', 'the acmeIdentifier extension as openssl sees it'))(
  'openssl',
  () => {
    async function openssl(args: readonly string[], input = '') {
      const child = spawn('openssl', args);
      child.stdin.on('error', () => {}).end(input);
      child.stderr.resume();
      return text(child.stdout);
    }

    it('reads the name and the digest in a critical extension', async () => {
      const to = ['-connect', `127.0.0.1:${edge.ports.httpsPort}`, '-servername', hostname];
      const seen = await openssl(['s_client', ...to, '-alpn', 'acme-tls/1']);
      expect(seen).toContain('ALPN protocol: acme-tls/1');
      const certificate = await openssl(['x509', '-noout', '-text'], seen);
      expect(certificate).toMatch(/1\.3\.6\.1\.5\.5\.7\.1\.31: critical/);
      expect(certificate).toContain(`DNS:${hostname}`);
      expect(certificate.match(/DNS:/g)).toHaveLength(1);
      const [pem = ''] = /-----BEGIN[\s\S]*END CERTIFICATE-----\n/.exec(seen) ?? [];
      const parsed = await openssl(['asn1parse'], pem);
      expect(parsed).toContain(`[HEX DUMP]:0420${digest.toString('hex').toUpperCase()}`);
    });
  },
);

/** A relay that forwards a client's bytes in pieces of `size` bytes. */
async function inPieces(size: number) {
  const sockets: Socket[] = [];
  const relay = createServer((client) => {
    const there = connectPlain({ port: edge.ports.httpsPort, host: '127.0.0.1', noDelay: true });
    sockets.push(client, there);
    there
      .on('error', () => {})
      .on('close', () => client.destroy())
      .pipe(client.on('error', () => {}));
    let queue = Promise.resolve();
    client.on('data', (said: Buffer) => {
      for (let at = 0; at < said.length; at += size) {
        const piece = said.subarray(at, at + size);
        // One event loop turn each, so that they are sent separately.
        queue = queue.then(
          () => new Promise((sent) => there.write(piece, () => setImmediate(sent))),
        );
      }
    });
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const address = relay.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => relay.close(done));
    },
  };
}

describe('A ClientHello', () => {
  it.each([1, 3, 100])('in pieces of %i bytes is understood', async (size) => {
    const relay = await inPieces(size);
    try {
      const challenge = await shake(authority, relay.port);
      expect(isProof(challenge.shown)).toBe(true);
      challenge.socket.destroy();
      const visit = await shake({ servername: hostname, ca: edge.root }, relay.port);
      expect(visit.socket.authorized).toBe(true);
      visit.socket.destroy();
    } finally {
      await relay.close();
    }
    await isServed();
  });

  const strange: readonly (readonly [string, Buffer])[] = [
    ['plain HTTP', Buffer.from(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)],
    ['random bytes', Buffer.alloc(5_000, 0xa5)],
    ['an empty message', Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0])],
    [
      'a message that is too long',
      Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff]), Buffer.alloc(20_000)]),
    ],
    ['records of one byte', Buffer.concat(Array(2_000).fill(Buffer.from([22, 3, 1, 0, 1, 1])))],
    [
      'a name whose length exceeds the message',
      helloWithName(Buffer.from([0, 9, 0, 0xff, 0xff, 97])),
    ],
  ];
  it.each(strange)('that is invalid ends its connection: %s', async (_what, bytes) => {
    const socket = connectPlain(edge.ports.httpsPort, '127.0.0.1').on('error', () => {});
    socket.write(bytes);
    await once(socket.resume(), 'close');
    await isServed();
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a partial record header', Buffer.from([22, 3])],
    ['a partial record', Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 0xfc])],
  ])('that stops after %s ends its connection', async (_what, bytes) => {
    // A short timeout here only: on a busy machine every handshake is slow.
    const impatient = await startEdgeFixture({ handshakeMs: 1_500 });
    onTestFinished(impatient.close);
    const socket = connectPlain(impatient.ports.httpsPort, '127.0.0.1').on('error', () => {});
    if (bytes.length > 0) socket.write(bytes);
    await once(socket.resume(), 'close');
    expect(impatient.warnings).toEqual([]);
    await isServed();
  });

  it('whose sender leaves halfway does not affect the edge', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from([22, 3, 1, 2, 0, 1])]) {
      const socket = connectPlain(edge.ports.httpsPort, '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      await new Promise((sent) => socket.write(bytes, sent));
      socket.resetAndDestroy();
      const other = connectPlain(edge.ports.httpsPort, '127.0.0.1').on('error', () => {});
      other.end(bytes);
      await once(other.resume(), 'close');
    }
    await isServed();
  });
});

/** A TLS 1.2 ClientHello with an arbitrary server_name extension. */
function helloWithName(data: Buffer): Buffer {
  const extension = Buffer.concat([Buffer.from([0, 0, 0, data.length]), data]);
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    Buffer.from([0, 0, 2, 0xc0, 0x2b, 1, 0, 0, extension.length]),
    extension,
  ]);
  const message = Buffer.concat([Buffer.from([1, 0, 0, body.length]), body]);
  return Buffer.concat([Buffer.from([22, 3, 1, 0, message.length]), message]);
}
