import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Api, RawRequest } from '../../../src/http/pipeline/api.ts';
import { type HttpListenOptions, listenHttp } from '../../../src/http/socket/server.ts';
import { startTestApi, type TestApi } from '../support.ts';
import { talk } from '../wire.ts';

let t: TestApi;
let key: string;
beforeAll(async () => {
  t = await startTestApi();
  key = await t.keyWith('pets:read', 'pets:write');
});
afterAll(() => t.close());

const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n';
const last = 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

type Watched = { readonly api: Api; readonly handled: string[] };

/** The API with a hook in front; `handled` lists the requests so far. */
function watched(answer: (raw: RawRequest) => ReturnType<Api['handle']> = t.api.handle): Watched {
  const handled: string[] = [];
  const handle = (raw: RawRequest) => {
    handled.push(`${raw.method} ${raw.target}`);
    return answer(raw);
  };
  return { api: { ...t.api, handle }, handled };
}

async function serve(api: Api, options: Partial<HttpListenOptions> = {}) {
  const server = await listenHttp(api, { host: '127.0.0.1', port: 0, ...options });
  onTestFinished(() => server.close(0));
  return server;
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

function clientThatNeverReads(port: number, sent: string): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => {});
  socket.write(sent);
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe('A client that does not read its response', () => {
  const body = 'x'.repeat(64_000_000); // more than the buffers of both systems
  const headers = { 'content-length': String(body.length) };
  const huge = () =>
    watched(async (raw) =>
      raw.target === '/huge' ? { status: 200, headers, body } : t.api.handle(raw),
    );

  test('is disconnected and frees its connection', async () => {
    const { api, handled } = huge();
    const timeouts = { sendMs: 100, lingerMs: 100 };
    const { address } = await serve(api, { timeouts, connections: { total: 1 } });
    clientThatNeverReads(address.port, request.replace('/nothing', '/huge').repeat(50));
    let answers = await talk(address.port, [last]);
    while (answers.answers[0]?.status !== 404) answers = await talk(address.port, [last]);
    // Its other 49 requests did not start: a response has to leave first.
    expect(handled).toEqual(['GET /huge', 'GET /nothing']);
  });

  test('gets everything if it reads slowly', async () => {
    const { address } = await serve(huge().api);
    const socket = connect(address.port, '127.0.0.1');
    socket.write(last.replace('/nothing', '/huge'));
    let read = 0;
    for await (const chunk of socket) read += chunk.length;
    expect(read).toBeGreaterThan(body.length);
  });
});

describe('A client that pipelines requests', () => {
  /** An API that holds every response until released. */
  function held() {
    const { open, opened } = gate();
    return { ...watched((raw) => opened.then(() => t.api.handle(raw))), release: open };
  }

  test('can have 101 requests under way and gets all responses', async () => {
    const { api, handled, release } = held();
    const { address } = await serve(api);
    const talked = talk(address.port, [request.repeat(100) + last]);
    while (handled.length === 0) await new Promise((resolve) => setImmediate(resolve));
    release();
    expect((await talked).answers.map(({ status }) => status)).toEqual(Array(101).fill(404));
  });

  test('is disconnected at one more, before its requests fill the memory', async () => {
    const { api, handled, release } = held();
    const { address } = await serve(api);
    expect((await talk(address.port, [request.repeat(10_000)])).answers).toEqual([]);
    release();
    expect((await talk(address.port, [last])).answers).toMatchObject([{ status: 404 }]);
    expect(handled).toHaveLength(2);
  });

  test('causes no effect with a request after a response that ended the connection', async () => {
    const pet = '{"name":"a","categoryId":1}';
    const fields = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const post = `POST /v1/pets HTTP/1.1\r\n${fields}Content-Length: ${pet.length}\r\n\r\n${pet}`;
    const { api, handled, release } = held();
    const server = await serve(api);
    const talked = talk(server.address.port, [post.repeat(3)]);
    while (handled.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const closed = server.close(10_000);
    release();
    const { answers } = await talked;
    expect(answers).toMatchObject([{ status: 201, headers: { connection: 'close' } }]);
    await closed;
    expect(handled).toHaveLength(1);
    expect(await t.prisma.pet.count()).toBe(1);
  });

  test('finishes what is under way when it leaves, and starts nothing else', async () => {
    const { api, handled, release } = held();
    const { address } = await serve(api);
    const socket = clientThatNeverReads(address.port, request.repeat(5));
    while (handled.length === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.resetAndDestroy();
    // A response that cannot be written ends the connection.
    expect((await talkHeld(address.port, release)).answers).toMatchObject([{ status: 404 }]);
    expect(handled).toHaveLength(2);
  });

  test('gets both responses when CONNECT follows a request under way', async () => {
    const { api, handled, release } = held();
    const { address } = await serve(api);
    const tunnel = 'CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n';
    const talked = talk(address.port, [request + tunnel]);
    while (handled.length === 0) await new Promise((resolve) => setImmediate(resolve));
    release();
    expect((await talked).answers.map(({ status }) => status)).toEqual([404, 400]);
  });

  test('does not crash the process when it sends CONNECT and resets', async () => {
    const { api, handled, release } = held();
    const { address } = await serve(api);
    const tunnel = 'CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n';
    const socket = clientThatNeverReads(address.port, request + tunnel);
    while (handled.length === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.resetAndDestroy();
    expect((await talkHeld(address.port, release)).answers).toMatchObject([{ status: 404 }]);
  });

  async function talkHeld(port: number, release: () => void) {
    const talked = talk(port, [last]);
    release();
    return talked;
  }
});
