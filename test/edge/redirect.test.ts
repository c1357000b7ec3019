import { connect as connectPlain } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EdgeFixture, replyTo, startDeploy, startEdgeFixture } from './support/fixture.ts';
import { webSocketRequest } from './support/websocket.ts';

const hostname = 'old.acme.test';
const to = 'www.acme.test';
const path = '/a%20b//c/../d?e=f&g=%2F&h=a+b';
let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;
let origin: string;

beforeAll(async () => {
  edge = await startEdgeFixture();
  deploy = await startDeploy((_request, response) => response.end('the deploy'));
  origin = `https://${to}:${edge.ports.httpsPort}`;
  edge.challenges.set(`${hostname}/tok_en-1`, 'tok_en-1.thumbprint');
});
beforeEach(() => edge.publish(hostname, deploy.url, { redirect: { to, status: 301 } }));
afterAll(async () => {
  await edge.close();
  await deploy.close();
});

describe.each(['https', 'http'] as const)('A domain that redirects, over %s', (scheme) => {
  const visit = (visited: Parameters<EdgeFixture['http']>[0]) => edge[scheme](visited);

  it.each([301, 302, 307, 308])('answers %s with the path and query unchanged', async (status) => {
    await edge.publish(hostname, deploy.url, { redirect: { to, status } });
    const reply = await visit({ hostname, path });
    expect([reply.status, reply.headers.location, reply.body]).toEqual([status, origin + path, '']);
  });

  it.each(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])(
    'redirects %s',
    async (method) => {
      const reply = await visit({ hostname, path, method });
      expect([reply.status, reply.headers.location]).toEqual([301, origin + path]);
    },
  );

  it('redirects without a deploy', async () => {
    await edge.publish(hostname, null, { redirect: { to, status: 308 } });
    expect((await visit({ hostname })).status).toBe(308);
  });

  it('stops redirecting with the next request after a settings change', async () => {
    const first = await visit({ hostname });
    expect(first.headers['cache-control']).toBe('no-cache'); // a browser revalidates, too
    await edge.publish(hostname, deploy.url, { redirect: { to: 'new.acme.test', status: 302 } });
    const { headers } = await visit({ hostname });
    expect(headers.location).toBe(`https://new.acme.test:${edge.ports.httpsPort}/`);
    await edge.publish(hostname, deploy.url);
    const last = await visit({ hostname });
    expect(last.headers.location ?? last.body).toBe(
      scheme === 'https' ? 'the deploy' : `https://${hostname}:${edge.ports.httpsPort}/`,
    );
  });

  it.each([
    ['//evil.test/', '//evil.test/'],
    ['/\\evil.test', '/\\evil.test'],
    ['/@evil.test', '/@evil.test'],
    [`http://${hostname}//evil.test/`, '//evil.test/'],
    [`https://${hostname}?to=https://evil.test`, '/?to=https://evil.test'],
    [`http://${hostname}:80@evil.test/`, null],
    [`http://${hostname}`, '/'],
    ['*', '/'],
  ])('leads to no other host for the target %s', async (target, location) => {
    const answer = await ask(`OPTIONS ${target} HTTP/1.1`, `Host: ${hostname}`);
    if (location === null) {
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      return;
    }
    expect(answer).toMatch(/^HTTP\/1\.1 301 /);
    expect(/^location: (.*)\r$/im.exec(answer)?.[1]).toBe(origin + location);
  });

  async function ask(...lines: readonly string[]): Promise<string> {
    const host = '127.0.0.1';
    const socket =
      scheme === 'http'
        ? connectPlain({ host, port: edge.ports.httpPort })
        : connect({ host, port: edge.ports.httpsPort, ca: edge.root, servername: hostname });
    socket.write(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`);
    return text(socket);
  }
});

describe('A domain that redirects', () => {
  it('still answers a challenge of the CA', async () => {
    const challenge = '/.well-known/acme-challenge/tok_en-1';
    expect((await edge.http({ hostname, path: challenge })).body).toBe('tok_en-1.thumbprint');
  });

  it('redirects over plain HTTP before its certificate is issued', async () => {
    await edge.publish(hostname, null, { certificateId: null, redirect: { to, status: 307 } });
    const { status, headers } = await edge.http({ hostname, path });
    expect([status, headers.location]).toEqual([307, origin + path]);
  });

  it('opens no WebSocket', async () => {
    const { status, headers } = await replyTo(webSocketRequest(edge, hostname).request);
    expect([status, headers.location]).toEqual([301, `${origin}/chat?room=1`]);
  });
});

describe('An edge behind a load balancer', () => {
  it.each([
    [443, ''],
    [4443, ':4443'],
  ])('redirects to the public port %s', async (publicPort, written) => {
    const behind = await startEdgeFixture({}, { publicHttpsPort: publicPort });
    await behind.publish(hostname, deploy.url);
    await behind.publish('gone.acme.test', null, { redirect: { to, status: 301 } });
    const locations = [
      await behind.http({ hostname, path }),
      await behind.http({ hostname: 'gone.acme.test', path }),
      await behind.https({ hostname: 'gone.acme.test', path }),
    ].map(({ headers }) => headers.location);
    await behind.close();
    expect(locations).toEqual([hostname, to, to].map((name) => `https://${name}${written}${path}`));
  });
});

describe('A primary domain', () => {
  const field = 'signpost-primary-domain';
  // Visitors cannot set it.
  const visit = () => edge.https({ hostname, headers: { [field]: 'evil.test' } });

  it('is reported to the deploy and redirects no visitor', async () => {
    const received: unknown[] = [];
    deploy.server.on('request', ({ headers }) => received.push(headers[field]));
    await edge.publish(hostname, deploy.url);
    await visit();
    await edge.publish(hostname, deploy.url, { primary: to });
    expect(await visit()).toMatchObject({ status: 200, body: 'the deploy' });
    expect(received).toEqual([undefined, to]);
  });
});
