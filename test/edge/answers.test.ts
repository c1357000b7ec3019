import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sizeOfRun } from '../support/run.ts';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.acme.test';
let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;

beforeEach(async () => {
  edge = await startEdgeFixture();
});
afterEach(async () => {
  await edge.close();
  await deploy.close();
});

async function publish(listener: Parameters<typeof startDeploy>[0]): Promise<void> {
  deploy = await startDeploy(listener);
  await edge.publish(hostname, deploy.url);
}

async function visitor(): Promise<TLSSocket> {
  const socket = connect({
    host: '127.0.0.1',
    port: edge.ports.httpsPort,
    servername: hostname,
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  return socket;
}

/** The first TLS record after a request. */
async function firstPart(): Promise<string> {
  const socket = await visitor();
  socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  const [part] = await once(socket, 'data');
  socket.destroy();
  return String(part);
}

/** Requests `length` octets and pauses before reading. */
async function readAfter(pauseMs: number, length: number) {
  const socket = await visitor();
  socket.on('error', () => {}); // cut off
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`GET /${length} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  let [octets, tail] = [0, ''];
  socket.on('data', (part: Buffer) => {
    octets += part.length;
    tail = (tail + part.toString('latin1')).slice(-10);
    if (tail.endsWith('\r\n0\r\n\r\n')) socket.destroy();
  });
  await closed;
  return { octets, tail };
}

describe('The edge sends a visitor', () => {
  it('the header and a short body in one part', async () => {
    await publish((_request, response) => void response.end('hello'));
    const [header, body] = (await firstPart()).split('\r\n\r\n');
    expect(header).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(body).toBe('hello');
  });

  it('the header of an event stream before its first event', async () => {
    await publish((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    });
    expect(await firstPart()).toContain('text/event-stream');
  });

  // The end of a response waits in the kernel and in the edge, depending on its length.
  it('no truncated response that seems complete, even after the upstream has closed', async () => {
    await edge.close();
    edge = await startEdgeFixture({ silenceMs: 300 });
    await publish(({ url = '' }, response) => {
      response.write(Buffer.alloc(Number(url.slice(1)), 'x'));
      response.end();
    });
    const count = sizeOfRun({ quick: 16, long: 48 });
    const lengths = Array.from(
      { length: count },
      (_, nth) => 3_000_000 + (nth * 2_400_000) / count,
    );
    const cutAfter = async (pauseMs: number) => {
      const answers = await Promise.all(lengths.map((length) => readAfter(pauseMs, length)));
      return answers.filter(({ octets }, nth) => octets < (lengths[nth] ?? 0));
    };
    // A busy machine may not have sent enough after a second; then the pause did not count.
    let cut: Awaited<ReturnType<typeof cutAfter>> = [];
    for (const pauseMs of [1_000, 4_000, 16_000]) {
      if (cut.length === 0) cut = await cutAfter(pauseMs);
    }
    expect(cut).not.toEqual([]);
    expect(cut.filter(({ tail }) => tail.endsWith('\r\n0\r\n\r\n'))).toEqual([]);
  });

  it.each([204, 304])('the header of a %i, which has no body', async (status) => {
    await publish((_request, response) => void response.writeHead(status).end());
    expect(await firstPart()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});
