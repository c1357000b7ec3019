import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bare, type EdgeFixture, startEdgeFixture } from './support/fixture.ts';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdgeFixture();
  await edge.publish('docs.acme.test', 'http://127.0.0.1:9');
  edge.routes.set('new.acme.test', {
    ...bare,
    hostname: 'new.acme.test',
    upstream: 'http://127.0.0.1:9',
  });
  for (const name of ['docs.acme.test', 'unknown.test']) {
    edge.challenges.set(`${name}/tok_en-1`, 'tok_en-1.thumbprint');
  }
});
afterAll(() => edge.close());

describe('A challenge of the CA', () => {
  const path = '/.well-known/acme-challenge/tok_en-1';

  it('is answered for its own domain', async () => {
    const { status, headers, body } = await edge.http({ hostname: 'docs.acme.test', path });
    expect([status, body]).toEqual([200, 'tok_en-1.thumbprint']);
    expect(headers['content-type']).toContain('text/plain');
  });

  it.each([
    ['with a port', 'docs.acme.test:80'],
    ['in capitals', 'DOCS.Acme.TEST'],
    ['with a final dot', 'docs.acme.test.'],
    ['with all of these', 'Docs.ACME.test.:8080'],
  ])('is answered when the CA writes the domain %s', async (_how, hostname) => {
    expect((await edge.http({ hostname, path })).body).toBe('tok_en-1.thumbprint');
  });

  it.each([
    ['of another domain', 'new.acme.test', path],
    ['of an unknown name', 'unknown.test', path],
    ['with another token', 'docs.acme.test', '/.well-known/acme-challenge/other'],
  ])('is not answered %s', async (_what, hostname, asked) => {
    expect((await edge.http({ hostname, path: asked })).status).toBe(404);
  });

  it.each([
    '/.well-known/acme-challenge/',
    '/.well-known/acme-challenge/..%2ftok_en-1',
    '/.well-known/acme-challenge/tok_en-1/more',
    `/.well-known/acme-challenge/${'a'.repeat(129)}`,
  ])('is never looked up for %s, which is not a token', async (asked) => {
    expect((await edge.http({ hostname: 'docs.acme.test', path: asked })).status).toBe(308);
  });
});

describe('A visitor without HTTPS', () => {
  it('is redirected permanently to HTTPS with path and query', async () => {
    const path = '/a%20b/c?d=e&f=%2F';
    const { status, headers } = await edge.http({ hostname: 'Docs.Acme.test:80', path });
    expect(status).toBe(308);
    expect(headers.location).toBe(`https://docs.acme.test:${edge.ports.httpsPort}${path}`);
  });

  it('cannot be redirected to another host by a path', async () => {
    const { headers } = await edge.http({ hostname: 'docs.acme.test', path: '//evil.test/' });
    const location = new URL(headers.location ?? '');
    expect(location.hostname).toBe('docs.acme.test');
  });

  it('sees a waiting page until the certificate is issued', async () => {
    const { status, headers, body } = await edge.http({ hostname: 'new.acme.test' });
    expect(status).toBe(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(body).toContain('The certificate for new.acme.test is being issued.');
    expect(headers['content-security-policy']).toBe("default-src 'none'");
  });

  it.each(['unknown.test', 'localhost', 'acme.test'])('gets 404 at %s', async (hostname) => {
    const { status, body } = await edge.http({ hostname });
    expect(status).toBe(404);
    expect(body).toContain(`${hostname} is not published here.`);
  });

  it.each(['127.0.0.1', '[::1]', '<script>', 'a..b', '', 'a b', `${'a'.repeat(64)}.test`])(
    'gets 400 with the host "%s"',
    async (hostname) => {
      const { status, body } = await edge.http({ hostname });
      expect(status).toBe(400);
      expect(body).not.toContain('<script>');
    },
  );
});

describe('An edge without its database', () => {
  const unvisited = 'unvisited.acme.test';
  beforeAll(async () => {
    await edge.publish(unvisited, 'http://127.0.0.1:9');
    await edge.https({ hostname: 'docs.acme.test' });
    edge.database.isUp = false;
  });

  it('serves the cached names', async () => {
    expect((await edge.http({ hostname: 'docs.acme.test' })).status).toBe(308);
    expect((await edge.https({ hostname: 'docs.acme.test' })).status).toBe(502); // it has no deploy
  });

  it('shows an error page without a stack trace for other names, and recovers', async () => {
    const { status, headers, body } = await edge.http({ hostname: unvisited });
    await expect(edge.https({ hostname: unvisited })).rejects.toThrow();
    edge.database.isUp = true;
    expect([status, headers['retry-after']]).toEqual([503, '10']);
    expect(body).not.toContain('database');
    expect((await edge.http({ hostname: unvisited })).status).toBe(308);
  });
});

describe('An edge whose port is taken', () => {
  it.each([
    ['EDGE_HTTP_PORT', 'httpPort'],
    ['EDGE_HTTPS_PORT', 'httpsPort'],
  ] as const)('does not start, names %s and opens neither port', async (variable, name) => {
    const second = await startEdgeFixture();
    await second.close();
    const taken = edge.ports[name];
    const ports = { ...second.ports, [name]: taken };
    const message = `${variable} ${taken} on 127.0.0.1 is in use (EADDRINUSE)`;
    await expect(second.edge.listen({ host: '127.0.0.1', ...ports })).rejects.toMatchObject({
      message,
      cause: { code: 'EADDRINUSE' },
    });
    await expect(second.https({ hostname: 'docs.acme.test' })).rejects.toThrow(/ECONNREFUSED/);
    await expect(second.http({ hostname: 'docs.acme.test' })).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe('A raw HTTP request', () => {
  async function send(lines: readonly string[]): Promise<string> {
    const socket = connect(edge.ports.httpPort, '127.0.0.1');
    socket.end(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`);
    return text(socket);
  }

  it('in absolute form uses its target instead of its Host', async () => {
    const lines = ['GET http://new.acme.test/x HTTP/1.1', 'Host: docs.acme.test'];
    expect(await send(lines)).toMatch(/^HTTP\/1\.1 503 /);
  });

  it('with two Host fields is refused', async () => {
    const lines = ['GET / HTTP/1.1', 'Host: docs.acme.test', 'Host: new.acme.test'];
    expect(await send(lines)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('without a Host field is refused', async () => {
    expect(await send(['GET / HTTP/1.1'])).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('that is not HTTP is refused', async () => {
    expect(await send(['\u0016\u0003\u0001 hello'])).toMatch(/^HTTP\/1\.1 400 /);
  });
});
