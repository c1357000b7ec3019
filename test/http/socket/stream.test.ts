/** Answers without an end on a real socket: who reads, who does not, who leaves, and a server that stops. */
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

/** An API whose every answer is this stream. */
function streaming(stream: TextStream): Api {
  return {
    handle: async () => ({ status: 200, headers, body: null, stream }),
    reject: () => ({ status: 500, headers: {}, body: null }),
  };
}

/** A stream that is told what to say. `over` settles when its signal aborts. */
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

/** Reads until the text so far has `wanted`. */
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

describe('a stream', () => {
  it('is sent as it is made, with its headers before its first word', async () => {
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

  it('is let go of as soon as its client leaves', async () => {
    const { stream, over } = spoken();
    await listenTo(stream);
    const socket = await ask();
    await readUntil(socket, '\r\n\r\n');
    socket.destroy();
    await over;
  });

  it('is let go of where its client leaves in the middle of a body', async () => {
    const { stream, over } = spoken();
    await listenTo(stream);
    const socket = await ask('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc');
    await readUntil(socket, '\r\n\r\n');
    socket.destroy();
    await over;
  });

  it('is ended for a client that sends without end', async () => {
    const { stream, over } = spoken();
    await listenTo(stream);
    const socket = await ask('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n');
    await readUntil(socket, '\r\n\r\n');
    socket.write('x'.repeat(2_000_000));
    await over;
  });

  it('is not begun for who is gone before it', async () => {
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
    // Another one is let in once the server has heard that it is gone.
    while (requests === 1) await talk(port, ['GET / HTTP/1.0\r\n\r\n']);
    answer();
    await discarded;
  });

  it('that breaks in the middle is cut off, so that nobody takes it for whole', async () => {
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
    // Without the empty chunk that a whole answer ends with (RFC 9112, 7.1).
    await expect(readUntil(socket, '0\r\n\r\n')).rejects.toThrow('closed after');
  });
});

describe('a slow reader', () => {
  const line = `${'x'.repeat(16_000)}\n`;

  it('is read for only as fast as it takes', async () => {
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
    // What the kernels of both sides hold fills up, and then nothing more is made.
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

  it('that takes nothing is cut off', async () => {
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

describe('a server that stops', () => {
  /** From now on no timer ends: what comes to its end waits for none. */
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

  it('does not wait for a stream that is stuck, nor for a client that does not read', async () => {
    await listenTo({
      async *open() {
        for (let n = 0; n < 1_000; n += 1) yield 'x'.repeat(16_000);
        await new Promise(() => {}); // a query without an answer
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
