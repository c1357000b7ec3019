import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EdgeLimits } from '../../src/edge/limits.ts';
import { type EdgeFixture, replyTo, startDeploy, startEdgeFixture } from './support/fixture.ts';

const removed = 'gone.acme.test';
const other = 'docs.acme.test';
let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;
/** The deploy's event streams by host. */
const streams = new Map<string, ServerResponse>();
const paths: unknown[] = [];

async function start(limits: Partial<EdgeLimits>): Promise<void> {
  // No other limit may end what a removal has to end.
  edge = await startEdgeFixture({ headersMs: 300_000, keepAliveMs: 300_000, ...limits });
  await edge.publish(removed, deploy.url);
  await edge.publish(other, deploy.url);
}
beforeEach(async () => {
  deploy = await startDeploy((request, response) => {
    paths.push(request.url);
    if (request.url === '/held') return;
    if (request.url !== '/stream') return response.end('hello');
    streams.set(request.headers.host ?? '', response);
    return response.write('first ');
  });
});
afterEach(async () => {
  await edge.close();
  await deploy.close();
  streams.clear();
  paths.length = 0;
});

async function follow(hostname: string): Promise<IncomingMessage> {
  const [answer] = await once(edge.openHttps({ hostname, path: '/stream' }).end(), 'response');
  return answer;
}

/** A connection after its handshake. */
async function shakeHands(servername: string): Promise<TLSSocket> {
  const port = edge.ports.httpsPort;
  const socket = connect({ host: '127.0.0.1', port, ca: edge.root, servername });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

const never = { recheckMs: 600_000 };
const soon = { recheckMs: 20, routeRetryMs: 20 };
describe.each([
  ['in this process', never, () => edge.edge.notify({ kind: 'gone', hostname: removed })],
  ['in another process', soon, () => {}],
])('A domain removed %s', (_where, limits, announce) => {
  beforeEach(() => start(limits));

  function remove(): void {
    edge.routes.delete(removed);
    announce();
  }

  it('ends its stream, for the deploy too, while other domains keep theirs', async () => {
    const answers = await Promise.all([follow(removed), follow(other)]);
    const [ended, whole] = answers.map((answer) => text(answer));
    const upstream = streams.get(removed);
    const deployClosed = upstream === undefined ? Promise.reject() : once(upstream, 'close');
    remove();
    await expect(ended).rejects.toThrow(/aborted/);
    await deployClosed;
    streams.get(other)?.end('last');
    expect(await whole).toBe('first last');
  });

  it('ends an upload that the deploy has not answered', async () => {
    const request = edge.openHttps({ hostname: removed, path: '/held', method: 'POST' });
    const answered = once(request, 'response');
    const arrived = once(deploy.server, 'request');
    request.write('half');
    const [asked] = await arrived;
    const deployClosed = once(asked, 'error');
    remove();
    await expect(answered).rejects.toThrow(/hang up|ECONNRESET/);
    await deployClosed;
  });

  it('ends a connection that waits for its next request', async () => {
    const socket = await shakeHands(removed);
    socket.write(`GET / HTTP/1.1\r\nHost: ${removed}\r\n\r\n`);
    await once(socket, 'data');
    remove();
    await once(socket.resume(), 'close');
  });
});

describe('A removal without a notification', () => {
  it('ends a connection that never sent a request', async () => {
    await start(soon);
    const socket = await shakeHands(removed);
    edge.routes.delete(removed);
    await once(socket.resume(), 'close');
  });

  it('takes effect with the next request, even on an open connection', async () => {
    await start(never);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await edge.https({ hostname: removed, agent })).body).toBe('hello');
    edge.routes.delete(removed);
    const request = edge.openHttps({ hostname: removed, agent });
    const { status, headers } = await replyTo(request);
    expect(request.reusedSocket).toBe(true);
    expect([status, headers.connection]).toEqual([421, 'close']);
    agent.destroy();
  });

  it('cannot be seen while the database is down, so the stream continues', async () => {
    await start(soon);
    const answer = await follow(removed);
    edge.database.isUp = false;
    // The third query follows the first, which may still have been answered, and the failed second.
    for (let count = 0; count < 3; count++) await once(edge.lookups, 'route');
    streams.get(removed)?.end('last');
    expect(await text(answer)).toBe('first last');
    edge.database.isUp = true;
  });

  it('ends traffic of the previous project when another one has the name', async () => {
    await start(soon);
    const [held, ...others] = await Promise.all([removed, other].map(follow));
    const waiting = await shakeHands(removed);
    const cut = expect(text(held as IncomingMessage)).rejects.toThrow(/aborted/);
    // Between two rounds and not cached, as if it had been evicted.
    const now = edge.routes.get(removed);
    if (now !== undefined) edge.routes.set(removed, { ...now, projectId: 'other' });
    await cut;
    // A connection without a request belongs to no domain yet.
    waiting.write(`GET / HTTP/1.1\r\nHost: ${removed}\r\nConnection: close\r\n\r\n`);
    expect(await text(waiting)).toMatch(/^HTTP\/1\.1 200 /);
    expect((await edge.https({ hostname: removed })).body).toBe('hello');
    for (const answer of others) answer.destroy();
  });

  it('is checked once per domain, however many connections it has', async () => {
    await start(soon);
    const answers = await Promise.all([other, removed, removed, removed].map(follow));
    let answerNow = () => {};
    edge.database.answers = new Promise((resolve) => {
      answerNow = resolve;
    });
    const asked: string[] = [];
    edge.lookups.on('route', (hostname) => asked.push(hostname));
    while (asked.length < 2) await once(edge.lookups, 'route');
    expect(asked.sort()).toEqual([other, removed]);
    answerNow();
    for (const answer of answers) answer.destroy();
  });
});

describe('A removed name', () => {
  beforeEach(() => start(never));

  it('is not forwarded when its route was just being queried', async () => {
    const socket = await shakeHands(removed);
    let answerNow = () => {};
    edge.database.answers = new Promise((resolve) => {
      answerNow = resolve;
    });
    const asked = once(edge.lookups, 'route');
    socket.write(`GET /dropped HTTP/1.1\r\nHost: ${removed}\r\n\r\n`);
    await asked;
    edge.edge.notify({ kind: 'gone', hostname: removed });
    await once(socket.resume(), 'close');
    answerNow();
    await edge.https({ hostname: other, path: '/after' });
    expect(paths).toEqual(['/after']);
  });

  it('can be visited while it has a route; other visits are harmless', async () => {
    await edge.https({ hostname: removed });
    edge.edge.notify({ kind: 'gone', hostname: removed });
    edge.edge.notify({ kind: 'gone', hostname: 'unknown.test' });
    expect((await edge.https({ hostname: removed })).body).toBe('hello');
  });
});
