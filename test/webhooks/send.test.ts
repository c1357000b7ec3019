/** 127.0.0.1 plays a public address, 127.0.0.2 one of the platform's network. */
import { createServer, type Server } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Lookup } from '../../src/net/destination.ts';
import { createSender, type SenderDeps } from '../../src/webhooks/send.ts';
import { closeAfterEach } from '../support/closings.ts';
import { hang, type ReceiverOptions, startReceiver, status } from '../support/receiver.ts';
import { certificateFor } from './certificate.ts';

const PUBLIC = '127.0.0.1';
const PRIVATE = '127.0.0.2';
const hostname = 'hooks.shop.test';
const closings = closeAfterEach();
let certificate: Awaited<ReturnType<typeof certificateFor>>;

beforeAll(async () => {
  certificate = await certificateFor(hostname);
});

async function start(options: ReceiverOptions = {}) {
  const receiver = await startReceiver(options);
  closings.push(receiver.close);
  return receiver;
}

/** Answers with one list per query; the last one repeats. */
function resolver(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const lookup: Lookup = async (name) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(name);
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { lookup, asked };
}

function sender(parts: Partial<SenderDeps> = {}, timeoutMs = 20_000) {
  const send = createSender({
    allowPrivate: true,
    lookup: resolver([PUBLIC]).lookup,
    isAllowed: (address) => address === PUBLIC,
    trust: certificate.root,
    ...parts,
  });
  return (url: string) =>
    send({ url, headers: { 'webhook-id': 'msg_1' }, body: '{"a":1}', timeoutMs });
}

const answered = (code: number, retryAfter: string | null = null) => ({
  kind: 'answered',
  status: code,
  retryAfter,
});
const failed = (problem: string) => ({ kind: 'unanswered', problem });

describe('A delivery attempt', () => {
  it('posts the exact message over TLS to the host by its name', async () => {
    const receiver = await start({ tls: certificate.tls });
    const answer = await sender()(`https://${hostname}:${receiver.port}/hook?for=signpost`);
    expect(answer).toEqual(answered(204));
    const [request] = receiver.received;
    expect(request).toMatchObject({ body: '{"a":1}', path: '/hook?for=signpost' });
    expect(request?.headers).toMatchObject({
      host: `${hostname}:${receiver.port}`,
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'user-agent': 'Signpost-Webhooks/1.0',
    });
  });

  it('fails if the certificate is untrusted or for another name', async () => {
    const receiver = await start({ tls: certificate.tls });
    const foreign = `https://other.shop.test:${receiver.port}/`;
    expect(await sender()(foreign)).toEqual(failed('tls_failed'));
    const { root } = await certificateFor('another.test');
    const url = `https://${hostname}:${receiver.port}/`;
    expect(await sender({ trust: root })(url)).toEqual(failed('tls_failed'));
    expect(receiver.received).toEqual([]);
  });

  it.each([301, 302, 303, 307, 308])('does not follow a redirect with %d', async (code) => {
    const elsewhere = await start();
    const receiver = await start();
    receiver.respond = status(code, { location: elsewhere.url });
    expect(await sender()(receiver.url)).toEqual(answered(code));
    expect(elsewhere.received).toEqual([]);
  });

  it('reports that the receiver unsubscribes', async () => {
    const receiver = await start();
    receiver.respond = status(503, { 'retry-after': '120' });
    expect(await sender()(receiver.url)).toEqual(answered(503, '120'));
  });

  it('reads 64 KiB of an endless response and uses its status', async () => {
    const receiver = await start();
    let written = 0;
    receiver.respond = (_, response) => {
      response.writeHead(200);
      // Each write to a destroyed socket ends with an error before the response's `close`.
      const more = (error?: Error | null) => {
        if (error || response.destroyed) return;
        written += 16_384;
        response.write('x'.repeat(16_384), more);
      };
      more();
    };
    expect(await sender()(receiver.url)).toEqual(answered(200));
    expect(written).toBeLessThan(16_000_000);
  });

  it('uses the status of a response whose body never ends', async () => {
    const receiver = await start();
    receiver.respond = (_, response) => void response.writeHead(202).write('x');
    expect(await sender({}, 5_000)(receiver.url)).toEqual(answered(202));
  });

  it('times out if connection, look-up or handshake stall', async () => {
    const receiver = await start();
    receiver.respond = hang;
    const quickly = 200;
    expect(await sender({}, quickly)(receiver.url)).toEqual(failed('timed_out'));
    const named = `http://${hostname}:${receiver.port}/`;
    const silent: Lookup = () => new Promise(() => {});
    expect(await sender({ lookup: silent }, quickly)(named)).toEqual(failed('timed_out'));
    const mute = await tcpServer(() => {});
    const url = `https://${hostname}:${mute}/`;
    expect(await sender({}, quickly)(url)).toEqual(failed('timed_out'));
  });

  it('reports what kept it from the receiver', async () => {
    const receiver = await start();
    const named = `http://${hostname}:${receiver.port}/`;
    expect(await sender({ lookup: resolver([]).lookup })(named)).toEqual(
      failed('name_not_resolved'),
    );
    const broken: Lookup = () => Promise.reject(new Error('no server'));
    expect(await sender({ lookup: broken })(named)).toEqual(failed('name_not_told'));
    const hangsUp = await tcpServer((server) => server.once('connection', (s) => s.destroy()));
    expect(await sender()(`http://${PUBLIC}:${hangsUp}/`)).toEqual(failed('connection_failed'));
    await receiver.close();
    expect(await sender()(receiver.url)).toEqual(failed('connection_failed'));
  });
});

describe('A receiver in the platform’s network', () => {
  it('is not called by its address', async () => {
    const receiver = await start({ host: PRIVATE });
    expect(await sender()(receiver.url)).toEqual(failed('address_refused'));
    expect(receiver.received).toEqual([]);
  });

  it('is not called by a name, even if the name also has a public address', async () => {
    const receiver = await start({ host: PRIVATE });
    const named = `http://${hostname}:${receiver.port}/`;
    for (const addresses of [[PRIVATE], [PUBLIC, PRIVATE], [PRIVATE, PUBLIC], [PUBLIC, '::1']]) {
      const { lookup } = resolver(addresses);
      expect(await sender({ lookup })(named)).toEqual(failed('address_refused'));
    }
    expect(receiver.received).toEqual([]);
  });

  it('is not called by a name that leads there after the first look-up (DNS rebinding)', async () => {
    const outside = await start();
    const inside = await start({ host: PRIVATE, port: outside.port });
    const { lookup, asked } = resolver([PUBLIC], [PRIVATE]);
    const named = `http://${hostname}:${outside.port}/`;
    const attempt = sender({ lookup });
    // Connects to the checked address without a second look-up.
    expect(await attempt(named)).toEqual(answered(204));
    expect(asked).toEqual([hostname]);
    expect(await attempt(named)).toEqual(failed('address_refused'));
    expect(outside.received).toHaveLength(1);
    expect(inside.received).toEqual([]);
  });

  it('gets nothing over a connection to an unchecked address', async () => {
    const receiver = await start();
    let askedTimes = 0;
    // Allowed by the look-up, but not by the connection.
    const isAllowed = () => ++askedTimes === 1;
    expect(await sender({ isAllowed })(receiver.url)).toEqual(failed('address_refused'));
    expect(askedTimes).toBe(2);
    expect(receiver.received).toEqual([]);
  });

  it('is not called over http in production, even if its URL was once allowed', async () => {
    const receiver = await start();
    const production = sender({ allowPrivate: false, isAllowed: () => true });
    expect(await production(receiver.url)).toEqual(failed('url_refused'));
    expect(await production(`https://${PUBLIC}:${receiver.port}/`)).toEqual(failed('url_refused'));
  });
});

async function tcpServer(listens: (server: Server) => void): Promise<number> {
  const server = createServer();
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    sockets.add(socket);
  });
  listens(server);
  await new Promise<void>((resolve) => server.listen(0, PUBLIC, resolve));
  closings.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
