import { once } from 'node:events';
import { connect as connectPlain } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bare, type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;
beforeAll(async () => {
  edge = await startEdgeFixture();
  deploy = await startDeploy((_request, response) => response.end('hello'));
  await edge.publish('docs.acme.test', deploy.url);
  await edge.publish('shop.acme.test', deploy.url);
  edge.routes.set('new.acme.test', {
    ...bare,
    hostname: 'new.acme.test',
    upstream: deploy.url,
  });
});
afterAll(async () => {
  await edge.close();
  await deploy.close();
});

async function shakeHands(
  servername: string,
  options: object = {},
  { ports, root }: EdgeFixture = edge,
): Promise<TLSSocket> {
  const port = ports.httpsPort;
  const socket = connect({ host: '127.0.0.1', port, ca: root, servername, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

describe('A handshake', () => {
  it.each(['docs.acme.test', 'shop.acme.test', 'DOCS.acme.test'])(
    'for %s presents its own certificate, signed by the root',
    async (servername) => {
      const socket = await shakeHands(servername);
      expect(socket.authorized).toBe(true);
      const { subjectaltname } = socket.getPeerCertificate();
      expect(subjectaltname).toBe(`DNS:${servername.toLowerCase()}`);
      socket.destroy();
    },
  );

  it.each([
    ['an unknown name', 'unknown.test'],
    ['a name whose certificate is not issued yet', 'new.acme.test'],
    ['no name', ''],
  ])('for %s is refused', async (_what, servername) => {
    await expect(shakeHands(servername)).rejects.toThrow(/handshake failure|ECONNRESET/i);
  });

  it('is refused as soon as the domain is removed', async () => {
    await edge.publish('gone.acme.test', deploy.url);
    (await shakeHands('gone.acme.test')).destroy();
    edge.routes.delete('gone.acme.test');
    await expect(shakeHands('gone.acme.test')).rejects.toThrow();
  });

  it('is refused while the certificate cannot be loaded, and succeeds afterwards', async () => {
    await edge.publish('broken.acme.test', deploy.url);
    const certificate = edge.certificates.get('broken.acme.test');
    edge.certificates.delete('broken.acme.test');
    await expect(shakeHands('broken.acme.test')).rejects.toThrow();
    if (certificate !== undefined) edge.certificates.set('broken.acme.test', certificate);
    (await shakeHands('broken.acme.test')).destroy();
  });

  it('is refused if the certificate cannot be parsed', async () => {
    await edge.publish('unreadable.acme.test', deploy.url);
    edge.certificates.set('unreadable.acme.test', { chain: 'no PEM', key: 'no PEM' });
    await expect(shakeHands('unreadable.acme.test')).rejects.toThrow();
  });

  it('needs TLS 1.2', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    await expect(shakeHands('docs.acme.test', old)).rejects.toThrow();
    const newer = await shakeHands('docs.acme.test', { maxVersion: 'TLSv1.2' });
    expect(newer.getProtocol()).toBe('TLSv1.2');
    newer.destroy();
  });

  it('negotiates HTTP/1.1', async () => {
    const socket = await shakeHands('docs.acme.test', { ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket.alpnProtocol).toBe('http/1.1');
    socket.destroy();
  });

  it('that fails does not affect the edge', async () => {
    const socket = connectPlain(edge.ports.httpsPort, '127.0.0.1').on('error', () => {});
    socket.end('GET / HTTP/1.1\r\nHost: docs.acme.test\r\n\r\n');
    await once(socket.resume(), 'close');
    expect((await edge.https({ hostname: 'docs.acme.test' })).body).toBe('hello');
  });
});

describe('A silent visitor', () => {
  it('times out before the handshake', async () => {
    const impatient = await startEdgeFixture({ handshakeMs: 200 });
    onTestFinished(impatient.close);
    const socket = connectPlain(impatient.ports.httpsPort, '127.0.0.1').on('error', () => {});
    await once(socket.resume(), 'close');
  });

  it('times out after the handshake', async () => {
    const impatient = await startEdgeFixture({ headersMs: 200 });
    onTestFinished(impatient.close);
    await impatient.publish('docs.acme.test', deploy.url);
    const socket = await shakeHands('docs.acme.test', {}, impatient);
    await once(socket.resume(), 'close');
  });
});

describe('A request on an open connection', () => {
  it('for another domain is misdirected', async () => {
    const visit = { hostname: 'shop.acme.test', servername: 'docs.acme.test' };
    expect((await edge.https(visit)).status).toBe(421);
  });

  it('can spell its domain in capitals, with port and final dot', async () => {
    const visit = { hostname: 'Docs.ACME.test.:443', servername: 'docs.acme.test' };
    expect((await edge.https(visit)).body).toBe('hello');
  });
});
