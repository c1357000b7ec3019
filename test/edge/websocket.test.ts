import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { type EdgeFixture, replyTo, startDeploy, startEdgeFixture } from './support/fixture.ts';
import {
  CLOSE,
  openWebSocket,
  type Peer,
  SWITCHING,
  startWebSocketDeploy,
  webSocketRequest,
} from './support/websocket.ts';

const hostname = 'chat.acme.test';
const MEGABYTE = 'ü'.repeat(524_288);
const closings = closeAfterEach();
let edge: EdgeFixture;

async function start(limits: Parameters<typeof startEdgeFixture>[0] = {}): Promise<void> {
  edge = await startEdgeFixture({ recheckMs: 600_000, ...limits });
  closings.push(edge.close);
}

/** Publishes a deploy with WebSockets; returns its connections. */
async function publishChat(accept: (peer: Peer) => unknown, at = hostname) {
  const deploy = await startWebSocketDeploy(accept);
  closings.push(deploy.close);
  await edge.publish(at, deploy.url);
  return deploy;
}

async function publishPlain(...given: Parameters<typeof startDeploy>) {
  const deploy = await startDeploy(...given);
  closings.push(deploy.close);
  await edge.publish(hostname, deploy.url);
  return deploy;
}

/** Echoes until it receives a close frame, then agrees. */
async function echo(peer: Peer): Promise<void> {
  for (let frame = await peer.next(); frame !== null; frame = await peer.next()) {
    peer.send(frame.payload, frame.opcode);
    if (frame.opcode === CLOSE) peer.socket.end();
  }
}

const said = async (peer: Peer) => String((await peer.next())?.payload);

describe('A WebSocket', () => {
  beforeEach(() => start());

  it('carries text both ways, up to a megabyte, and closes cleanly', async () => {
    await publishChat(echo);
    const peer = await openWebSocket(edge, hostname);
    for (const words of ['hello', 'x'.repeat(1_000), MEGABYTE]) {
      peer.send(words);
      expect((await said(peer)) === words).toBe(true);
    }
    peer.send('bye', CLOSE);
    expect(await peer.next()).toMatchObject({ opcode: CLOSE });
    expect(await peer.next()).toBeNull();
  });

  it('forwards the request’s fields, not what a visitor claims', async () => {
    let asked: Peer['handshake'] | undefined;
    await publishChat((peer) => {
      asked = peer.handshake;
    });
    const { request } = webSocketRequest(edge, hostname, {
      connection: 'Upgrade, X-Only-Here',
      upgrade: 'WebSocket',
      origin: 'https://acme.test',
      'sec-websocket-protocol': 'v2.chat',
      'x-only-here': '1',
      'x-forwarded-for': '203.0.113.9',
    });
    const [answer, socket] = await once(request.end(), 'upgrade');
    socket.destroy();
    expect(asked?.url).toBe('/chat?room=1');
    expect(asked?.headers).toMatchObject({
      host: hostname,
      connection: 'Upgrade',
      upgrade: 'websocket',
      origin: 'https://acme.test',
      'sec-websocket-protocol': 'v2.chat',
      'sec-websocket-version': '13',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      via: '1.1 signpost',
    });
    expect(asked?.headers).not.toHaveProperty('x-only-here');
    expect(answer.headers).toMatchObject({ connection: 'Upgrade', upgrade: 'websocket' });
  });

  it('loses nothing that the deploy sends right after the upgrade', async () => {
    const deploy = await publishPlain(() => {});
    deploy.server.on('upgrade', (_request, socket: Socket) => {
      socket.end(`HTTP/1.1 101 Switching Protocols\r\n${SWITCHING}\r\nat once`);
    });
    const { request } = webSocketRequest(edge, hostname);
    const [, socket, head] = await once(request.end(), 'upgrade');
    socket.unshift(head);
    expect(await text(socket)).toBe('at once');
  });

  it('can be half-closed while the other direction continues', async () => {
    await publishChat(async (peer) => {
      while ((await peer.next()) !== null); // to the visitor's end
      peer.send(MEGABYTE);
      peer.socket.end();
    });
    const peer = await openWebSocket(edge, hostname);
    peer.socket.end();
    expect((await said(peer)) === MEGABYTE).toBe(true);
    expect(await peer.next()).toBeNull();
  });

  it('that breaks on one side breaks on the other', async () => {
    const accepted: Peer[] = [];
    await publishChat((peer) => accepted.push(peer));
    const [first, second] = [
      await openWebSocket(edge, hostname),
      await openWebSocket(edge, hostname),
    ];
    const [deployFirst, deploySecond] = accepted;
    if (deployFirst === undefined || deploySecond === undefined) throw new Error('not accepted');
    const ended = once(deployFirst.socket.resume(), 'end');
    first.socket.destroy();
    await ended;
    const closed = once(second.socket.resume(), 'close');
    deploySecond.socket.destroy();
    await closed;
  });

  it('applies backpressure for a slow reader', async () => {
    // In MiB, more than all buffers on the way: without backpressure the edge would hold it.
    const whole = 128;
    let sent = 0;
    await publishChat(({ socket }) => {
      const block = Buffer.alloc(1_048_576);
      const more = () => {
        if (sent < whole) socket.write(block, taken);
      };
      const taken = () => {
        sent += 1;
        more();
      };
      more();
    });
    const peer = await openWebSocket(edge, hostname);
    // Until nothing has moved for the time of five other requests.
    let [before, unmoved] = [-1, 0];
    while (unmoved < 5) {
      await edge.https({ hostname });
      unmoved = sent === before ? unmoved + 1 : 0;
      before = sent;
    }
    expect(sent).toBeLessThan(whole / 2);
    peer.socket.destroy();
  });

  it('works with another client implementation', async () => {
    await publishChat(echo, 'localhost');
    const folder = await mkdtemp(join(tmpdir(), 'signpost-ws-'));
    closings.push(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'root.pem'), edge.root ?? '');
    const script = `
      const socket = new WebSocket('wss://localhost:${edge.ports.httpsPort}/');
      socket.onopen = () => socket.send('hello');
      socket.onmessage = ({ data }) => { process.stdout.write(data); socket.close(1000); };
      socket.onclose = ({ code, wasClean }) => process.stdout.write(' ' + code + ' ' + wasClean);
    `;
    const args = ['--experimental-websocket', '-e', script];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'root.pem') };
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    expect(stdout).toBe('hello 1000 true');
  });
});

describe('A WebSocket that cannot be opened', () => {
  beforeEach(() => start());

  it('gets the deploy’s complete rejection', async () => {
    const page = 'no! '.repeat(524_288);
    await publishPlain((_request, response) => {
      response.writeHead(403, { 'x-why': 'members only' }).end(page);
    });
    const { status, headers, body } = await replyTo(webSocketRequest(edge, hostname).request);
    expect([status, headers['x-why'], headers.connection]).toEqual([403, 'members only', 'close']);
    expect(body === page).toBe(true);
  });

  it('gets a 502 page when the deploy is down', async () => {
    const deploy = await startDeploy(() => {});
    await edge.publish(hostname, deploy.url);
    await deploy.close();
    const { status, body } = await replyTo(webSocketRequest(edge, hostname).request);
    expect(status).toBe(502);
    expect(body).toContain(`The server behind ${hostname} could not be reached.`);
  });

  it('gets a 502 page when the deploy switches to another protocol', async () => {
    const deploy = await publishPlain(() => {});
    deploy.server.on('upgrade', (_request, socket: Socket) => {
      socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
    });
    expect((await replyTo(webSocketRequest(edge, hostname).request)).status).toBe(502);
  });

  it('gets a 504 page when the deploy does not respond', async () => {
    await start({ firstByteMs: 300 });
    const deploy = await publishPlain(() => {});
    deploy.server.on('upgrade', (_request, socket: Socket) => socket.on('error', () => {}));
    expect((await replyTo(webSocketRequest(edge, hostname).request)).status).toBe(504);
  });

  it('gets an ordinary error when the deploy is missing or the name differs', async () => {
    await edge.publish(hostname, null);
    expect((await replyTo(webSocketRequest(edge, hostname).request)).status).toBe(503);
    const other = webSocketRequest(edge, hostname, { host: 'other.acme.test' });
    expect((await replyTo(other.request)).status).toBe(421);
  });
});

describe('An open WebSocket', () => {
  it.each([
    ['is removed in this process', 600_000, null],
    ['is removed in another process', 20, null],
    ['moves to another project', 20, 'other'],
  ])('is cut for visitor and deploy when its domain %s', async (_what, recheckMs, projectId) => {
    await start({ recheckMs });
    let ended: Promise<unknown> = Promise.reject(new Error('never asked'));
    ended.catch(() => {});
    await publishChat((peer) => {
      ended = once(peer.socket.resume(), 'end');
    });
    const peer = await openWebSocket(edge, hostname);
    const cut = once(peer.socket.resume(), 'close');
    const route = edge.routes.get(hostname);
    if (projectId === null) edge.routes.delete(hostname);
    else if (route !== undefined) edge.routes.set(hostname, { ...route, projectId });
    if (recheckMs > 20) edge.edge.notify({ kind: 'gone', hostname });
    await Promise.all([cut, ended]);
  });

  it('can be idle for longer than a request or response, but not forever', async () => {
    await start({ firstByteMs: 500, silenceMs: 1_500, webSocketSilenceMs: 15_000 });
    await publishChat(echo);
    const peer = await openWebSocket(edge, hostname);
    const order: string[] = [];
    const cut = peer.next().finally(() => order.push('cut'));
    const plain = await startDeploy(
      ({ url }, response) => void (url === '/begins' && response.write('hello')),
    );
    closings.push(plain.close);
    await edge.publish('plain.acme.test', plain.url);
    // A missing and a stalled response time out first, though they started later.
    expect((await edge.https({ hostname: 'plain.acme.test' })).status).toBe(504);
    await expect(edge.https({ hostname: 'plain.acme.test', path: '/begins' })).rejects.toThrow();
    order.push('given up');
    expect(await cut).toBeNull();
    expect(order).toEqual(['given up', 'cut']);
  });
});

describe('An upgrade request for anything but WebSocket', () => {
  beforeEach(() => start());

  it.each([
    ['to HTTP/2', 'GET', 'h2c'],
    ['to HTTP/2 with a body', 'POST', 'h2c'],
    ['to a WebSocket with a body', 'POST', 'websocket'],
    ['to one of several protocols', 'GET', 'websocket, h2c'],
  ])(
    '%s is a plain request to the deploy, and the connection stays usable',
    async (_what, method, upgrade) => {
      await publishPlain(async (request, response) => {
        const { connection, upgrade: asked } = request.headers;
        response.end(JSON.stringify({ connection, asked, body: await text(request) }));
      });
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const headers = { connection: 'Upgrade', upgrade };
      const body = method === 'POST' ? 'hello' : '';
      const first = await edge.https({ hostname, method, headers, agent }, body);
      expect(JSON.parse(first.body)).toEqual({ connection: 'keep-alive', body });
      const next = edge.openHttps({ hostname, agent });
      expect((await replyTo(next)).status).toBe(200);
      agent.destroy();
    },
  );
});
