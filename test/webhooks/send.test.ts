/** One attempt against real servers. 127.0.0.1 plays a public address here, and 127.0.0.2 one of our own network. */
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

/** Answers the first time with the first list, the second time with the second, and then with the last. */
function resolver(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const lookup: Lookup = async (name) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(name);
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { lookup, asked };
}

function sender(parts: Partial<SenderDeps> = {}) {
  const send = createSender({
    allowPrivate: true,
    lookup: resolver([PUBLIC]).lookup,
    isAllowed: (address) => address === PUBLIC,
    trust: certificate.root,
    timeoutMs: 20_000,
    ...parts,
  });
  return (url: string) => send({ url, headers: { 'webhook-id': 'msg_1' }, body: '{"a":1}' });
}

const answered = (code: number, retryAfter: string | null = null) => ({
  kind: 'answered',
  status: code,
  retryAfter,
});
const failed = (problem: string) => ({ kind: 'unanswered', problem });

describe('an attempt', () => {
  it('posts the message as it is, over TLS, to the host by its name', async () => {
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

  it('fails where the certificate is not for the name or not to be trusted', async () => {
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

  it('tells when the receiver asks to be left alone', async () => {
    const receiver = await start();
    receiver.respond = status(503, { 'retry-after': '120' });
    expect(await sender()(receiver.url)).toEqual(answered(503, '120'));
  });

  it('reads 64 KiB of an answer without end, and takes its status', async () => {
    const receiver = await start();
    let written = 0;
    receiver.respond = (_, response) => {
      response.writeHead(200);
      const more = () => {
        if (response.destroyed) return;
        written += 16_384;
        response.write('x'.repeat(16_384), more);
      };
      more();
    };
    expect(await sender()(receiver.url)).toEqual(answered(200));
    expect(written).toBeLessThan(16_000_000);
  });

  it('takes the status of an answer whose body never ends', async () => {
    const receiver = await start();
    receiver.respond = (_, response) => void response.writeHead(202).write('x');
    expect(await sender({ timeoutMs: 5_000 })(receiver.url)).toEqual(answered(202));
  });

  it('ends in time where nobody answers, resolves or shakes hands', async () => {
    const receiver = await start();
    receiver.respond = hang;
    const quick = { timeoutMs: 200 };
    expect(await sender(quick)(receiver.url)).toEqual(failed('timed_out'));
    const named = `http://${hostname}:${receiver.port}/`;
    const silent: Lookup = () => new Promise(() => {});
    expect(await sender({ ...quick, lookup: silent })(named)).toEqual(failed('timed_out'));
    const mute = await tcpServer(() => {});
    const url = `https://${hostname}:${mute}/`;
    expect(await sender(quick)(url)).toEqual(failed('timed_out'));
  });

  it('says what kept it from the receiver', async () => {
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

describe('a receiver in our own network', () => {
  it('is not called by its address', async () => {
    const receiver = await start({ host: PRIVATE });
    expect(await sender()(receiver.url)).toEqual(failed('address_refused'));
    expect(receiver.received).toEqual([]);
  });

  it('is not called by a name, nor by one that has a public address beside', async () => {
    const receiver = await start({ host: PRIVATE });
    const named = `http://${hostname}:${receiver.port}/`;
    for (const addresses of [[PRIVATE], [PUBLIC, PRIVATE], [PRIVATE, PUBLIC], [PUBLIC, '::1']]) {
      const { lookup } = resolver(addresses);
      expect(await sender({ lookup })(named)).toEqual(failed('address_refused'));
    }
    expect(receiver.received).toEqual([]);
  });

  it('is not called by a name that leads there from the second look-up on (DNS rebinding)', async () => {
    const outside = await start();
    const inside = await start({ host: PRIVATE, port: outside.port });
    const { lookup, asked } = resolver([PUBLIC], [PRIVATE]);
    const named = `http://${hostname}:${outside.port}/`;
    const attempt = sender({ lookup });
    // What was checked is what is connected to: nobody resolves the name a second time.
    expect(await attempt(named)).toEqual(answered(204));
    expect(asked).toEqual([hostname]);
    expect(await attempt(named)).toEqual(failed('address_refused'));
    expect(outside.received).toHaveLength(1);
    expect(inside.received).toEqual([]);
  });

  it('gets nothing over a connection that leads elsewhere than was checked', async () => {
    const receiver = await start();
    let askedTimes = 0;
    // Allowed when it was looked up, and not when it is connected to.
    const isAllowed = () => ++askedTimes === 1;
    expect(await sender({ isAllowed })(receiver.url)).toEqual(failed('address_refused'));
    expect(askedTimes).toBe(2);
    expect(receiver.received).toEqual([]);
  });

  it('is not called in production over http, nor where the URL was allowed once', async () => {
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
