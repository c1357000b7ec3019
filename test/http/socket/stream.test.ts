import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Api } from '../../../src/http/pipeline/api.ts';
import type { TextStream } from '../../../src/http/pipeline/errors.ts';
import { type HttpServer, listenHttp } from '../../../src/http/socket/server.ts';
import { listenForTest, talk } from '../wire.ts';

let server: HttpServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close(1_000);
});

const headers = { 'content-type': 'text/event-stream; charset=utf-8' };

/** An API that answers everything with this stream. */
function streaming(stream: TextStream): Api {
  return {
    handle: async () => ({ status: 200, headers, body: null, stream }),
    reject: () => ({ status: 500, headers: {}, body: null }),
  };
}

/** A stream that the test writes to. `over` settles when its signal aborts. */
function spoken() {
  let say = (_: string | null) => {};
  const queue: (string | null)[] = [];
  let aborted = () => {};
  const over = new Promise<void>((resolve) => (aborted = resolve));
  const stream: TextStream = {
    async *open(signal) {
      signal.addEventListener('abort', () => {
        aborted();
        say(null);
      });
      for (;;) {
        const next =
          queue.length > 0
            ? queue.shift()
            : await new Promise<string | null>((resolve) => (say = resolve));
        if (next === null || next === undefined || signal.aborted) return;
        yield next;
      }
    },
    discard: () => {},
  };
  return {
    stream,
    over,
    say(text: string | null) {
      queue.push(text);
      say(queue.shift() ?? null);
    },
  };
}

async function listenTo(stream: TextStream, timeouts = {}): Promise<void> {
  server = await listenForTest(streaming(stream), timeouts);
}

async function ask(request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'): Promise<Socket> {
  const socket = connect(server?.address.port ?? 0, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write(request);
  return socket;
}

async function readUntil(socket: Socket, wanted: string): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes(wanted)) return text;
  }
  throw new Error(`closed after ${JSON.stringify(text)}`);
}

const closed = async (socket: Socket) => {
  socket.resume();
  if (!socket.closed) await once(socket, 'close');
};

describe('A stream', () => {
  it('is sent as it is written, headers first', async () => {
    const { stream, say } = spoken();
    await listenTo(stream);
    const socket = await ask();
    const head = await readUntil(socket, '\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(head).toContain('content-type: text/event-stream; charset=utf-8');
    expect(head.toLowerCase()).not.toContain('content-length');
    say('one\n');
    expect(await readUntil(socket, 'one\n')).toContain('one\n');
    say('two\n');
    expect(await readUntil(socket, 'two\n')).toContain('two\n');
    say(null);
    await closed(socket);
  });

  it('ends for an HTTP/1.0 client, too', async () => {
    const { stream, say } = spoken();
    await listenTo(stream);
    const socket = await ask('GET / HTTP/1.0\r\n\r\n');
    await readUntil(socket, '\r\n\r\n');
    say('one\n');
    await readUntil(socket, 'one\n');
    say(null);
    await closed(socket);
  });

  it('is released as soon as its client leaves', async () => {
    const { stream, over } = spoken();
    await listenTo(stream);
    const socket = await ask();
    await readUntil(socket, '\r\n\r\n');
    socket.destroy();
    await over;
  });

  it('is released when its client leaves in the middle of a body', async () => {
    const { stream, over } = spoken();
    await listenTo(stream);
    const socket = await ask('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc');
    await readUntil(socket, '\r\n\r\n');
    socket.destroy();
    await over;
  });

  it('is ended when its client sends an endless body', async () => {
    const { stream, over } = spoken();
    await listenTo(stream);
    const socket = await ask('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n');
    await readUntil(socket, '\r\n\r\n');
    socket.write('x'.repeat(2_000_000));
    await over;
  });

  it('does not start for a client that has left', async () => {
    let requests = 0;
    let handled = () => {};
    const isAsked = new Promise<void>((resolve) => (handled = resolve));
    let answer = () => {};
    const mayAnswer = new Promise<void>((resolve) => (answer = resolve));
    let left = () => {};
    const discarded = new Promise<void>((resolve) => (left = resolve));
    const stream: TextStream = { open: () => expect.fail('it was opened'), discard: left };
    const api: Api = {
      ...streaming(stream),
      async handle() {
        requests += 1;
        if (requests > 1) return { status: 204, headers: {}, body: null };
        handled();
        await mayAnswer;
        return { status: 200, headers, body: null, stream };
      },
    };
    const connections = { total: 1 };
    server = await listenHttp(api, { host: '127.0.0.1', port: 0, connections });
    const { port } = server.address;
    const socket = await ask();
    await isAsked;
    socket.resetAndDestroy();
    // Another connection is accepted once the server has noticed the close.
    while (requests === 1) await talk(port, ['GET / HTTP/1.0\r\n\r\n']);
    answer();
    await discarded;
  });

  it('is cut off when it breaks, so that the client cannot mistake it for complete', async () => {
    let breakOff = () => {};
    const isRead = new Promise<void>((resolve) => {
      breakOff = resolve;
    });
    await listenTo({
      async *open() {
        yield 'one\n';
        await isRead;
        throw new Error('broken');
      },
      discard: () => {},
    });
    const socket = await ask();
    await readUntil(socket, 'one\n');
    breakOff();
    // Without the empty chunk that ends a complete response (RFC 9112, 7.1).
    await expect(readUntil(socket, '0\r\n\r\n')).rejects.toThrow('closed after');
  });
});

describe('A slow reader of a stream', () => {
  const line = `${'x'.repeat(16_000)}\n`;

  it('slows the source down to its own pace', async () => {
    let made = 0;
    let over = () => {};
    const isOver = new Promise<void>((resolve) => (over = resolve));
    await listenTo({
      async *open(signal) {
        signal.addEventListener('abort', over);
        for (; made < 5_000; made += 1) yield line;
      },
      discard: () => {},
    });
    const socket = await ask();
    socket.pause();
    // Once the kernel buffers of both sides are full, the source stops.
    let before = -1;
    while (made !== before || made === 0) {
      before = made;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(made).toBeLessThan(2_000);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    socket.resume();
    await isOver;
    await closed(socket);
    expect(made).toBe(5_000);
    expect(received).toBeGreaterThan(5_000 * line.length);
  });

  it('is disconnected when it reads nothing', async () => {
    let over = () => {};
    const isOver = new Promise<void>((resolve) => (over = resolve));
    await listenTo(
      {
        async *open(signal) {
          signal.addEventListener('abort', over);
          for (;;) yield line;
        },
        discard: () => {},
      },
      { sendMs: 200 },
    );
    const socket = await ask();
    socket.pause();
    await isOver;
  });
});

describe('A stopping server', () => {
  /** From now on no timer fires, so nothing can end by timeout. */
  const stopTimers = () => void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
  afterEach(() => void vi.useRealTimers());

  it('ends its streams at once', async () => {
    const { stream, over } = spoken();
    await listenTo(stream);
    const socket = await ask();
    await readUntil(socket, '\r\n\r\n');
    stopTimers();
    await Promise.all([over, closed(socket), server?.close(30_000)]);
  });

  it('does not wait for a stuck stream or a client that does not read', async () => {
    await listenTo({
      async *open() {
        for (let n = 0; n < 1_000; n += 1) yield 'x'.repeat(16_000);
        await new Promise(() => {}); // a query without a reply
      },
      discard: () => {},
    });
    const [idle, busy] = [await ask(), await ask()];
    idle.pause();
    await readUntil(busy, 'xxx');
    stopTimers();
    await server?.close(30_000);
  });
});
