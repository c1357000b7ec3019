/** A tenant runs the deploy: it must not occupy a visitor for longer than the edge allows. */
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pass } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EdgeFixture, replyTo, startDeploy, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.acme.test';
const FIRST_BYTE_MS = 300;
/** For deploys that must respond in time on a busy machine. */
const PATIENT_MS = 3_000;
/** Interval of the endless writes. */
const EVERY_MS = 20;
let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;

async function start(firstByteMs: number): Promise<void> {
  // No test reaches this silence timeout.
  edge = await startEdgeFixture({ firstByteMs, silenceMs: 600_000 });
  deploy = await startDeploy((request, response) => {
    request.resume().once('end', () => response.end('hello'));
  });
  await edge.publish(hostname, deploy.url);
}
afterEach(async () => {
  await edge.close();
  await deploy.close();
});

/** Writes the same bytes repeatedly while the socket is open, and reports each write. */
function repeat(socket: Socket, bytes: string, wrote: () => void): void {
  const write = () => {
    socket.write(bytes);
    wrote();
  };
  const timer = setInterval(write, EVERY_MS);
  socket.on('error', () => {}).once('close', () => clearInterval(timer));
}

describe('A deploy that switches protocols unasked', () => {
  beforeEach(() => start(30_000));

  it.each([
    ['to WebSocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
    ['to an unnamed protocol', ''],
  ])('%s causes a 502 page', async (_what, fields) => {
    deploy.server.on('connection', (socket) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`);
    });
    expect((await edge.https({ hostname })).status).toBe(502);
  });

  it('in the middle of an upload causes a 502 page', async () => {
    deploy.server.on('connection', (socket) => {
      socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    const request = edge.openHttps({ hostname, method: 'POST', headers: { 'content-length': 9 } });
    request.write('half');
    expect((await replyTo(request, ' more')).status).toBe(502);
  });
});

describe('A deploy that never finishes its response header', () => {
  beforeEach(() => start(FIRST_BYTE_MS));

  it.each([
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-Endless: ',
  ])('that writes %j forever causes a 504 page', async (bytes) => {
    deploy.server.removeAllListeners('request');
    let written = 0;
    deploy.server.on('connection', (socket) =>
      repeat(socket, bytes, () => {
        written += 1;
      }),
    );
    const { status } = await edge.https({ hostname });
    expect(status).toBe(504);
    // Deploy and edge timers share a process: both stall on a busy machine.
    expect(written).toBeLessThan((10 * FIRST_BYTE_MS) / EVERY_MS);
  });
});

describe('A visitor who uploads slowly', () => {
  beforeEach(() => start(PATIENT_MS));

  it('is not cut off while parts arrive', async () => {
    const parts = async function* () {
      for (let count = 0; count < 6; count++) {
        yield 'part';
        await pass(PATIENT_MS / 4); // real time is the subject here
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
