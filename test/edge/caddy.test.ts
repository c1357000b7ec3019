/** A real Caddy in front of the edge, configured by `signpost edge caddyfile`. */
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  type Settings,
} from 'node:http2';
import { Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { until } from '../support/world.ts';
import {
  anybody,
  type EdgeFixture,
  replyTo,
  startDeploy,
  startEdgeFixture,
} from './support/fixture.ts';

const hostname = 'docs.acme.test';
const closings = closeAfterEach();
const without = lacks('caddy', 'Caddy in front of the edge');

let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;

/** Echoes the request. */
beforeAll(async () => {
  if (without) return;
  deploy = await startDeploy(async (request, response) => {
    const body = await text(request);
    const { method, url, headers } = request;
    response.setHeader('Alt-Svc', 'h3=":9999"');
    response.end(JSON.stringify({ method, url, headers, body }));
  });
  edge = await startEdgeFixture({}, { front: 'caddy' });
  await edge.publish(hostname, deploy.url);
});
afterAll(async () => {
  await edge?.close();
  await deploy?.close();
});

type Asked = { method: string; url: string; headers: Record<string, string>; body: string };
const asked = (body: string): Asked => JSON.parse(body);

function openHttp2(
  name: string,
  session?: Buffer,
  at: EdgeFixture = edge,
  settings: Settings = {},
): ClientHttp2Session {
  const client = connectHttp2(`https://${name}:${at.ports.httpsPort}`, {
    ca: at.root ?? '',
    settings,
    lookup: (_name, _options, give) => give(null, [{ address: '127.0.0.1', family: 4 }]),
    ...(session && { session }),
  });
  client.on('error', () => {});
  closings.push(async () => client.destroy());
  return client;
}

async function getHttp2(client: ClientHttp2Session, path: string, headers = {}) {
  const stream = client.request({ ':path': path, ...headers });
  const [answer] = await once(stream, 'response');
  return { status: Number(answer[':status']), headers: answer, body: await text(stream) };
}

describe.skipIf(without)('Caddy in front', () => {
  it('serves a name with its certificate over HTTP/1.1 and HTTP/2', async () => {
    const first = await edge.https({ hostname, path: '/a?b=c' });
    expect(first.status).toBe(200);
    expect(asked(first.body)).toMatchObject({ method: 'GET', url: '/a?b=c' });
    const second = await getHttp2(openHttp2(hostname), '/d');
    expect([second.status, asked(second.body).url]).toEqual([200, '/d']);
  });

  it('forwards the body, and the target byte for byte', async () => {
    const path = '/a/../b%2f..%2Fc//d?x=%zz&y=a+b;c';
    const { body } = await edge.https({ hostname, path, method: 'POST' }, 'a body');
    expect(asked(body)).toMatchObject({ method: 'POST', url: path, body: 'a body' });
  });

  it('advertises HTTP/3 at its own port, whatever the deploy says', async () => {
    const { headers } = await edge.https({ hostname });
    expect(headers['alt-svc']).toBe(`h3=":${edge.ports.httpsPort}"; ma=2592000`);
  });

  it('reports the visitor’s address and ignores what the visitor claims', async () => {
    const { body } = await edge.https({
      hostname,
      headers: {
        Connection: 'Signpost-Scheme, Signpost-Edge-Secret, Signpost-Server-Name',
        'X-Forwarded-For': '192.0.2.7',
        'X-Forwarded-Proto': 'http',
        'Signpost-Scheme': 'http',
        'Signpost-Server-Name': 'other.acme.test',
        'Signpost-Protocol': 'HTTP/3.0',
        'Signpost-Edge-Secret': 'guessed',
        signpost_edge_secret: 'guessed',
      },
    });
    const { headers } = asked(body);
    expect(headers).toMatchObject({
      host: hostname,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': hostname,
    });
    expect(
      Object.keys(headers).filter((name) => /secret|scheme|server.name|protocol/.test(name)),
    ).toEqual([]);
  });

  it('answers challenges and redirects on the HTTP port', async () => {
    edge.challenges.set(`${hostname}/token`, 'token.thumbprint');
    const challenge = await edge.http({ hostname, path: '/.well-known/acme-challenge/token' });
    expect([challenge.status, challenge.body]).toEqual([200, 'token.thumbprint']);
    const { status, headers } = await edge.http({ hostname, path: '/x' });
    expect([status, headers.location]).toEqual([
      308,
      `https://${hostname}:${edge.ports.httpsPort}/x`,
    ]);
    expect((await edge.http({ hostname: 'nobody.test' })).status).toBe(404);
  });

  it('refuses the handshake for an unknown name and without a name', async () => {
    await expect(edge.https({ hostname: 'nobody.test' })).rejects.toThrow(/alert|ECONNRESET/i);
    const nameless = connectTls({
      host: '127.0.0.1',
      port: edge.ports.httpsPort,
      ca: edge.root ?? '',
    });
    await expect(once(nameless, 'secureConnect')).rejects.toThrow(/alert|ECONNRESET/i);
  });

  it('answers 421 when a connection is used for another name', async () => {
    await edge.publish('other.acme.test', deploy.url);
    const { status } = await edge.https({ hostname: 'other.acme.test', servername: hostname });
    expect(status).toBe(421);
  });

  it('obtains and stores no certificates', async () => {
    await edge.https({ hostname });
    const stored = await readdir(edge.caddy?.folder ?? '', { recursive: true });
    expect(stored.filter((name) => name.includes(hostname))).toEqual([]);
    expect(edge.caddy?.lines.filter((line) => /"level":"error"/.test(line))).toEqual([]);
  });

  describe('A removed name behind Caddy', () => {
    const removed = 'gone.acme.test';

    async function startStream() {
      const streaming = await startDeploy((_request, response) => {
        response.write('first');
      });
      streaming.server.on('upgrade', (_request, socket) => {
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
        );
      });
      closings.push(streaming.close);
      await edge.publish(removed, streaming.url);
    }
    const remove = () => {
      edge.routes.delete(removed);
      edge.edge.notify({ kind: 'gone', hostname: removed });
    };

    it('is refused on open connections, HTTP/1.1 and HTTP/2', async () => {
      await edge.publish(removed, deploy.url);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const http2 = openHttp2(removed);
      expect((await edge.https({ hostname: removed, agent })).status).toBe(200);
      expect((await getHttp2(http2, '/')).status).toBe(200);
      remove();
      const request = edge.openHttps({ hostname: removed, agent });
      expect((await replyTo(request)).status).toBe(421);
      expect(request.reusedSocket).toBe(true);
      expect((await getHttp2(http2, '/')).status).toBe(421);
      agent.destroy();
    });

    it('is refused on a resumed session and in a new handshake', async () => {
      await edge.publish(removed, deploy.url);
      const first = openHttp2(removed);
      const session = once(first.socket ?? first, 'session');
      expect((await getHttp2(first, '/')).status).toBe(200);
      const [ticket] = await session;
      first.destroy();
      remove();
      const resumed = openHttp2(removed, ticket);
      const { status } = await getHttp2(resumed, '/');
      expect((resumed.socket as TLSSocket).isSessionReused()).toBe(true);
      expect(status).toBe(421);
      await expect(edge.https({ hostname: removed })).rejects.toThrow(/alert|ECONNRESET/i);
    });

    it('loses its running responses while other names keep theirs', async () => {
      await startStream();
      const http2 = openHttp2(removed);
      const stream = http2.request({ ':path': '/' });
      await once(stream, 'data');
      const [answer] = await once(edge.openHttps({ hostname: removed }).end(), 'response');
      await once(answer, 'data');
      const ended = Promise.all([once(stream, 'close'), once(answer, 'close')]);
      remove();
      await ended;
      expect((await edge.https({ hostname })).status).toBe(200);
    });

    it('loses its WebSocket', async () => {
      await startStream();
      const opening = edge.openHttps({
        hostname: removed,
        headers: {
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
          'Sec-WebSocket-Version': '13',
        },
      });
      const [answer, socket] = await once(opening.end(), 'upgrade');
      expect(answer.statusCode).toBe(101);
      const closed = once(socket.resume(), 'close');
      remove();
      await closed;
    });
  });

  it('counts unread responses: a visitor who reads nothing gets only a share', async () => {
    const visitors = { ...anybody, connectionsPerAddress: 20 };
    const strict = await startEdgeFixture({}, { front: 'caddy', visitors });
    closings.push(strict.close);
    // More than Caddy reads of a response that the visitor does not read.
    const large = await startDeploy((_request, response) => response.end(Buffer.alloc(500_000)));
    closings.push(large.close);
    await strict.publish(hostname, large.url);
    const client = openHttp2(hostname, undefined, strict, { initialWindowSize: 0 });
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const [answer] = await once(client.request({ ':path': '/' }), 'response');
        return Number(answer[':status']);
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    client.destroy();
    await until('there is room again', async () => {
      return (await strict.https({ hostname })).status === 200;
    });
  });

  it('counts aborted requests for a while', async () => {
    const visitors = { ...anybody, connectionsPerAddress: 20 };
    const strict = await startEdgeFixture({}, { front: 'caddy', visitors });
    closings.push(strict.close);
    const silent = await startDeploy(() => {});
    closings.push(silent.close);
    await strict.publish(hostname, silent.url);
    const client = openHttp2(hostname, undefined, strict);
    // One after the other, so at most one is under way.
    await until('one is refused', async () => {
      const stream = client.request({ ':path': '/' });
      stream.on('error', () => {});
      await Promise.race([once(silent.server, 'request'), once(stream, 'response')]);
      stream.close(constants.NGHTTP2_CANCEL);
      return strict.refusals.includes('connections');
    });
    await strict.publish(hostname, deploy.url);
    await until('there is room again', async () => {
      return (await strict.https({ hostname })).status === 200;
    });
  });

  it('logs and counts requests without the secret', async () => {
    await fetch(`http://127.0.0.1:${edge.ports.gatewayPort}/`);
    expect(edge.refusals).toContain('gateway_secret');
    expect(edge.warnings).toContainEqual(
      expect.objectContaining({ msg: expect.stringContaining('EDGE_CADDY_SECRET') }),
    );
  });

  it('gets no certificate without the secret', async () => {
    const at = `http://127.0.0.1:${edge.ports.gatewayPort}/certificate?server_name=${hostname}`;
    expect((await fetch(at)).status).toBe(403);
    const guessed = `Basic ${Buffer.from('caddy:guessed').toString('base64')}`;
    expect((await fetch(at, { headers: { authorization: guessed } })).status).toBe(403);
    const visitors = { 'signpost-edge-secret': 'guessed', 'signpost-scheme': 'https' };
    expect((await fetch(at, { headers: visitors })).status).toBe(403);
  });
});
