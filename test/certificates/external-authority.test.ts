import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  createExternalAuthority,
  type ExternalAuthorityDeps,
} from '../../src/certificates/authorities/external.ts';
import { signLeaf, signRoot } from '../../src/certificates/authorities/sign.ts';
import { generatePrivateKey, privateKeyToPem } from '../../src/certificates/vault/keys.ts';
import { DAY } from '../../src/core/time.ts';

const hostname = 'docs.shop.test';
/** Certificates have whole seconds. */
const start = Math.floor(Date.now() / 1_000) * 1_000;
const inDays = (days: number) => new Date(start + days * DAY);

type Root = { readonly certificate: string; readonly key: KeyObject };
let trusted: Root;
let foreign: Root;
const servers: Server[] = [];

beforeAll(async () => {
  [trusted, foreign] = await Promise.all([aRoot('Trusted CA'), aRoot('Foreign CA')]);
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.close();
    await once(server, 'close');
  }
});

async function aRoot(commonName: string): Promise<Root> {
  const key = generatePrivateKey();
  const validity = { notBefore: inDays(-100), notAfter: inDays(900) };
  return { certificate: await signRoot({ commonName, key, ...validity }), key };
}

async function aCertificate(
  { name = hostname, from = -1, to = 89 }: { name?: string; from?: number; to?: number },
  root = trusted,
): Promise<TlsOptions> {
  const key = generatePrivateKey();
  const content = { hostname: name, key, notBefore: inDays(from), notAfter: inDays(to) };
  return { cert: await signLeaf(content, root), key: privateKeyToPem(key) };
}

/** All servers listen at the port of the first. */
async function serve(address: string, server: Server): Promise<number> {
  const [first] = servers;
  const port = first === undefined ? 0 : (first.address() as AddressInfo).port; // it listens on TCP
  servers.push(server);
  server.listen(port, address);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const tls = (options: TlsOptions) => {
  const server = createServer(options);
  server.on('tlsClientError', () => undefined);
  return server;
};

function check(
  port: number,
  addresses: readonly string[],
  more: Partial<ExternalAuthorityDeps> = {},
) {
  return createExternalAuthority({
    lookupAddresses: async () => addresses,
    port,
    trust: trusted.certificate,
    allowPrivate: true,
    ...more,
  }).check(hostname);
}

describe('an external edge', () => {
  it('with a good certificate is reported with its issuer and its dates', async () => {
    const port = await serve('127.0.0.1', tls(await aCertificate({})));
    expect(await check(port, ['127.0.0.1'])).toMatchObject({
      kind: 'issued',
      issuer: 'Trusted CA',
      notBefore: inDays(-1),
      notAfter: inDays(89),
      chain: expect.stringMatching(/^-----BEGIN CERTIFICATE-----/),
    });
  });

  it('receives the name as SNI, which makes it request a certificate', async () => {
    const asked: string[] = [];
    const SNICallback: TlsOptions['SNICallback'] = (name, answer) => {
      asked.push(name);
      answer(new Error('no certificate'));
    };
    const port = await serve('127.0.0.1', tls({ SNICallback }));
    expect(await check(port, ['127.0.0.1'])).toMatchObject({
      kind: 'unavailable',
      detail: `on port ${port}, 127.0.0.1 ends the handshake without a certificate`,
    });
    expect(asked).toEqual([hostname]);
  });

  const bad: readonly (readonly [string, Parameters<typeof aCertificate>[0], boolean])[] = [
    ['an expired certificate', { from: -90, to: -1 }, true],
    ['a certificate that is not valid yet', { from: 1, to: 90 }, true],
    ['a certificate for another name', { name: 'other.shop.test' }, true],
    ['a certificate that browsers do not trust', {}, false],
  ];
  it.each(bad)('has no certificate when it serves %s', async (words, of, known) => {
    const certificate = await aCertificate(of, known ? trusted : foreign);
    const port = await serve('127.0.0.1', tls(certificate));
    const { kind, detail } = { detail: '', ...(await check(port, ['127.0.0.1'])) };
    expect(kind).toBe('unavailable');
    expect(detail).toMatch(new RegExp(`^on port ${port}, 127\\.0\\.0\\.1 serves ${words}$`));
  });

  it("is verified against the system's trust store by default", async () => {
    const port = await serve('127.0.0.1', tls(await aCertificate({})));
    expect(await check(port, ['127.0.0.1'], { trust: null })).toMatchObject({
      kind: 'unavailable',
    });
  });

  it('is reported with its address when it refuses the connection or speaks no TLS', async () => {
    const port = await serve(
      '127.0.0.1',
      createTcpServer((socket) => void socket.resume().end('HTTP/1.1 400\r\n\r\n')),
    );
    expect(await check(port, ['127.0.0.1', '127.0.0.9'])).toMatchObject({
      detail: `on port ${port}, 127.0.0.1 ends the handshake without a certificate; 127.0.0.9 refuses the connection`,
    });
  });

  it('has to serve the certificate at every address', async () => {
    const port = await serve('127.0.0.1', tls(await aCertificate({})));
    await serve('127.0.0.2', tls(await aCertificate({ from: -90, to: -1 })));
    expect(await check(port, ['127.0.0.1', '127.0.0.2'])).toMatchObject({
      kind: 'unavailable',
      detail: `on port ${port}, 127.0.0.2 serves an expired certificate`,
    });
  });

  it('is reported with the certificate that expires first', async () => {
    const port = await serve('127.0.0.1', tls(await aCertificate({ to: 60 })));
    await serve('127.0.0.2', tls(await aCertificate({ to: 30 })));
    expect(await check(port, ['127.0.0.1', '127.0.0.2'])).toMatchObject({ notAfter: inDays(30) });
  });

  it('is not probed at private addresses', async () => {
    const port = await serve('127.0.0.1', tls(await aCertificate({})));
    expect(await check(port, ['127.0.0.1'], { allowPrivate: false })).toMatchObject({
      detail: '127.0.0.1 is not a public address',
    });
  });

  it('has no certificate for a name without an address', async () => {
    expect(await check(1, [])).toMatchObject({ detail: 'the name has no address' });
  });
});
