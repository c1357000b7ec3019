/** A deploy belongs to somebody else: it must not hold a visitor for longer than the edge allows. */
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pass } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EdgeFixture, replyTo, startDeploy, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.acme.test';
const FIRST_BYTE_MS = 300;
let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;

beforeEach(async () => {
  // Silence is allowed for longer than a test may take.
  edge = await startEdgeFixture({ firstByteMs: FIRST_BYTE_MS, silenceMs: 600_000 });
  deploy = await startDeploy((request, response) => {
    request.resume().once('end', () => response.end('hello'));
  });
  await edge.publish(hostname, deploy.url);
});
afterEach(async () => {
  await edge.close();
  await deploy.close();
});

/** Writes the same again and again for as long as somebody listens. */
function repeat(socket: Socket, bytes: string): void {
  const timer = setInterval(() => socket.write(bytes), 20);
  socket.on('error', () => {}).once('close', () => clearInterval(timer));
}

describe('A deploy that switches protocols unasked', () => {
  it.each([
    ['to WebSocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
    ['to nothing', ''],
  ])('%s gives a 502 page', async (_what, fields) => {
    deploy.server.on('connection', (socket) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`);
    });
    expect((await edge.https({ hostname })).status).toBe(502);
  });

  it('in the middle of an upload gives a 502 page', async () => {
    deploy.server.on('connection', (socket) => {
      socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    const request = edge.openHttps({ hostname, method: 'POST', headers: { 'content-length': 9 } });
    request.write('half');
    expect((await replyTo(request, ' more')).status).toBe(502);
  });
});

describe('A deploy that never comes to its answer', () => {
  it.each([
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-Endless: ',
  ])('but writes %j for ever gives a 504 page', async (bytes) => {
    deploy.server.removeAllListeners('request');
    deploy.server.on('connection', (socket) => repeat(socket, bytes));
    const begun = performance.now();
    const { status } = await edge.https({ hostname });
    expect(status).toBe(504);
    expect(performance.now() - begun).toBeLessThan(10 * FIRST_BYTE_MS);
  });
});

describe('A visitor who uploads slowly', () => {
  it('is not cut off while parts arrive', async () => {
    const parts = async function* () {
      for (let count = 0; count < 8; count++) {
        yield 'part';
        await pass(FIRST_BYTE_MS / 4); // time is what this is about
      }
    };
    const request = edge.openHttps({ hostname, method: 'POST' });
    const [reply] = await Promise.all([
      new Promise((resolve, reject) => {
        request.once('response', resolve).once('error', reject);
      }),
      pipeline(Readable.from(parts()), request),
    ]);
    expect(reply).toMatchObject({ statusCode: 200 });
  });
});
