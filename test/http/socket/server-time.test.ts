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

/** Sends `first`, then an octet every few milliseconds, and the statuses that came before the server closed. */
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

describe('a client that takes its time', () => {
  const short = { headersMs: 150, requestMs: 300, checkIntervalMs: 30 };
  /** What is answered before the time is over needs some of it, and more where the machine is busy. */
  const longer = { ...short, headersMs: 2_000, requestMs: 4_000 };
  async function patientServer(limits = short): Promise<number> {
    const server = await listenForTest(t.api, limits);
    onTestFinished(() => server.close(500));
    return server.address.port;
  }

  test('over its first word is answered 408', async () => {
    const port = await patientServer();
    expect(await statuses(port, [])).toEqual(['408 request_timeout']);
  });

  test('over its headers is answered 408', async () => {
    const port = await patientServer();
    expect(await statuses(port, ['GET /v1/pets HT'])).toEqual(['408 request_timeout']);
  });

  test('over the headers of its second request is answered 408', async () => {
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
  test.each(drips)('and sends %s octet by octet is answered 408', async (_what, first) => {
    const port = await patientServer();
    expect(await drip(port, first())).toEqual([408]);
  });

  test('between two requests is let go', async () => {
    const server = await listenForTest(t.api, { keepAliveMs: 50 });
    const sent = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n';
    expect(await statuses(server.address.port, [sent])).toEqual(['404 not_found']);
    await server.close(500);
  });

  test('over its body is answered 408, and nothing is stored', async () => {
    const port = await patientServer();
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
    const sent = `${head}Content-Type: application/json\r\nContent-Length: 40\r\n\r\n{"name":`;
    expect(await statuses(port, [sent])).toEqual(['408 request_timeout']);
    expect(await t.prisma.pet.count()).toBe(0);
  });

  test('over a body that was refused already is cut off', async () => {
    const port = await patientServer(longer);
    const sent = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n{"name":';
    expect(await statuses(port, [sent])).toEqual(['401 unauthorized']);
  });
});

describe('close', () => {
  /** An API whose one answer is given when the test says so. */
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

  test('lets a running request finish, and ends its connection', async () => {
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

  test('ends idle connections at once, and takes no new ones', async () => {
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

describe('an address that cannot be had', () => {
  const refused: readonly [why: string, host: string, said: string][] = [
    ['because it is taken', '127.0.0.1', 'is in use (EADDRINUSE)'],
    ['because HOST is elsewhere', '192.0.2.1', 'HOST is not an address of this machine'], // RFC 5737
  ];
  test.each(refused)('%s is refused, and PORT and the port are named', async (_why, host, said) => {
    const first = await listenForTest(t.api);
    onTestFinished(() => first.close(500));
    const { port } = first.address;
    await expect(listenHttp(t.api, { host, port })).rejects.toThrow(`PORT ${port} on ${host}`);
    await expect(listenHttp(t.api, { host, port })).rejects.toThrow(said);
  });
});
