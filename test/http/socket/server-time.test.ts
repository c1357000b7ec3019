import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Api } from '../../../src/http/pipeline/api.ts';
import { listenHttp } from '../../../src/http/socket/server.ts';
import { startTestApi, type TestApi } from '../support.ts';
import { listenForTest, parseAnswers, talk } from '../wire.ts';

let t: TestApi;
let key: string;
beforeAll(async () => {
  t = await startTestApi();
  key = await t.keyWith('pets:write');
});
afterAll(() => t.close());

const statuses = async (port: number, pieces: Iterable<string>) =>
  (await talk(port, pieces)).answers.map(
    ({ status, body }) => `${status} ${JSON.parse(body).code ?? ''}`,
  );

/**
 * Sends `first`, then an octet every few milliseconds. Returns the statuses before the server
 * closed.
 */
async function drip(port: number, first: string): Promise<readonly number[]> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {}); // it may still send when the server closes
  socket.write(first);
  const dripping = setInterval(() => socket.write('x'), 10);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(dripping);
  return parseAnswers(Buffer.concat(chunks).toString('latin1')).map(({ status }) => status);
}

describe('A slow client', () => {
  const short = { headersMs: 150, requestMs: 300, checkIntervalMs: 30 };
  /** The early response needs some of this time, and more on a busy machine. */
  const longer = { ...short, headersMs: 2_000, requestMs: 4_000 };
  async function patientServer(limits = short): Promise<number> {
    const server = await listenForTest(t.api, limits);
    onTestFinished(() => server.close(500));
    return server.address.port;
  }

  test('gets 408 for a slow request line', async () => {
    const port = await patientServer();
    expect(await statuses(port, [])).toEqual(['408 request_timeout']);
  });

  test('gets 408 for slow headers', async () => {
    const port = await patientServer();
    expect(await statuses(port, ['GET /v1/pets HT'])).toEqual(['408 request_timeout']);
  });

  test('gets 408 for slow headers of its second request', async () => {
    const port = await patientServer(longer);
    const sent = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/pets HT';
    expect(await statuses(port, [sent])).toEqual(['404 not_found', '408 request_timeout']);
  });

  const head = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  const drips: readonly [what: string, first: () => string][] = [
    ['headers', () => `${head}X: `],
    [
      'a body',
      () => `${head}Authorization: Bearer ${key}\r\nContent-Length: 4000\r\n\r\n{"name":"`,
    ],
  ];
  test.each(drips)('gets 408 when it sends %s octet by octet', async (_what, first) => {
    const port = await patientServer();
    expect(await drip(port, first())).toEqual([408]);
  });

  test('is disconnected between two requests', async () => {
    const server = await listenForTest(t.api, { keepAliveMs: 50 });
    const sent = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n';
    expect(await statuses(server.address.port, [sent])).toEqual(['404 not_found']);
    await server.close(500);
  });

  test('gets 408 for a slow body, and nothing is stored', async () => {
    const port = await patientServer();
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
    const sent = `${head}Content-Type: application/json\r\nContent-Length: 40\r\n\r\n{"name":`;
    expect(await statuses(port, [sent])).toEqual(['408 request_timeout']);
    expect(await t.prisma.pet.count()).toBe(0);
  });

  test('is cut off in a body that was already rejected', async () => {
    const port = await patientServer(longer);
    const sent = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n{"name":';
    expect(await statuses(port, [sent])).toEqual(['401 unauthorized']);
  });
});

describe('close', () => {
  /** An API that responds when the test releases it. */
  function heldApi() {
    let [arrive, release] = [() => {}, () => {}];
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const api: Api = {
      ...t.api,
      handle: async (raw) => {
        arrive();
        await released;
        return t.api.handle(raw);
      },
    };
    return { api, arrived, release };
  }
  const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n';

  test('finishes a running request and ends its connection', async () => {
    const { api, arrived, release } = heldApi();
    const server = await listenForTest(api);
    const answers = talk(server.address.port, [request]);
    await arrived;
    const closed = server.close(10_000);
    release();
    await closed;
    expect((await answers).answers).toMatchObject([
      { status: 404, headers: { connection: 'close' } },
    ]);
  });

  test('ends idle connections at once and accepts no new ones', async () => {
    const server = await listenForTest(t.api);
    const idle = talk(server.address.port, [request]);
    const socket = connect(server.address.port, '127.0.0.1');
    await new Promise<void>((resolve) => {
      socket.write(request);
      socket.once('data', () => resolve());
    });
    socket.destroy();
    await server.close(10_000);
    expect((await idle).answers).toHaveLength(1);
    expect((await talk(server.address.port, [request])).answers).toEqual([]);
  });

  test('cuts what still runs at its deadline', async () => {
    const { api, arrived } = heldApi();
    const server = await listenForTest(api);
    const answers = talk(server.address.port, [request]);
    await arrived;
    await server.close(50);
    expect((await answers).answers).toEqual([]);
  });
});

describe('A server that cannot bind its address', () => {
  const refused: readonly [why: string, host: string, said: string][] = [
    ['a port in use', '127.0.0.1', 'is in use (EADDRINUSE)'],
    ['a HOST of another machine', '192.0.2.1', 'HOST is not an address of this machine'], // RFC 5737
  ];
  test.each(refused)('%s causes an error that names PORT', async (_why, host, said) => {
    const first = await listenForTest(t.api);
    onTestFinished(() => first.close(500));
    const { port } = first.address;
    await expect(listenHttp(t.api, { host, port })).rejects.toThrow(`PORT ${port} on ${host}`);
    await expect(listenHttp(t.api, { host, port })).rejects.toThrow(said);
  });
});
