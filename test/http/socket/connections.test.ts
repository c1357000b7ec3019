import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type HttpListenOptions, listenHttp } from '../../../src/http/socket/server.ts';
import { type ConnectionLimits, countConnections } from '../../../src/net/connections.ts';
import { startTestApi, type TestApi } from '../support.ts';
import { parseAnswers, talk } from '../wire.ts';

describe('The connection counter', () => {
  const count = (limits: ConnectionLimits, exempt: readonly string[] = []) =>
    countConnections(limits, (address) => exempt.includes(address));

  test('limits each address to its share and all together to the total', () => {
    const { admit } = count({ total: 5, perAddress: 2 });
    const addresses = [
      '192.0.2.1',
      '192.0.2.1',
      '192.0.2.1',
      '192.0.2.2',
      '192.0.2.2',
      '192.0.2.3',
    ];
    const admitted = addresses.map((address) => admit(address) !== null);
    expect(admitted).toEqual([true, true, false, true, true, true]);
    expect(admit('192.0.2.4')).toBeNull();
  });

  test('frees a place when a connection closes', () => {
    const { admit } = count({ total: 2, perAddress: 1 });
    const leave = admit('192.0.2.1');
    expect(admit('192.0.2.1')).toBeNull();
    leave?.();
    expect(admit('192.0.2.1')).not.toBeNull();
    expect(admit('192.0.2.2')).not.toBeNull();
    expect(admit('192.0.2.3')).toBeNull();
  });

  test('allows a trusted proxy the total, because it stands for many clients', () => {
    const { admit } = count({ total: 3, perAddress: 1 }, ['10.0.0.1']);
    const admitted = Array.from({ length: 4 }, () => admit('::ffff:10.0.0.1') !== null);
    expect(admitted).toEqual([true, true, true, false]);
  });

  const same: readonly [what: string, one: string, other: string, together: boolean][] = [
    [
      'a dual-stack listener shows IPv4 addresses in two ways',
      '192.0.2.1',
      '::ffff:192.0.2.1',
      true,
    ],
    ['a /64 counts as one client', '2001:db8::1', '2001:db8::ffff:1', true],
    ['the next /64 counts as another client', '2001:db8::1', '2001:db8:0:1::1', false],
  ];
  test.each(same)('counts correctly: %s', (_what, one, other, together) => {
    const { admit } = count({ total: 9, perAddress: 1 });
    admit(one);
    expect(admit(other) === null).toBe(together);
  });
});

describe('A server with a connection limit', () => {
  let t: TestApi;
  beforeAll(async () => {
    t = await startTestApi();
  });
  afterAll(() => t.close());

  const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n';
  const last = 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

  async function serverWith(options: Pick<HttpListenOptions, 'connections' | 'trustedProxies'>) {
    const timeouts = { lingerMs: 200 };
    const server = await listenHttp(t.api, { host: '127.0.0.1', port: 0, timeouts, ...options });
    onTestFinished(() => server.close(0));
    return server.address.port;
  }

  /** An open connection that has had a response, so the server has it too. */
  function open(port: number): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    return new Promise((resolve, reject) => {
      socket.write(request);
      socket.once('data', (answer) =>
        String(answer).startsWith('HTTP/1.1 404')
          ? resolve(socket)
          : reject(new Error(`${answer}`)),
      );
      socket.once('error', reject);
    });
  }

  const statuses = async (port: number, sent = last) =>
    (await talk(port, [sent])).answers.map(({ status }) => status);

  test('answers one connection too many with 503 and closes it', async () => {
    const port = await serverWith({ connections: { perAddress: 2 } });
    await Promise.all([open(port), open(port)]);
    const { answers } = await talk(port, [request]);
    expect(answers).toHaveLength(1);
    expect(answers[0]).toMatchObject({
      status: 503,
      headers: { 'retry-after': '5', connection: 'close' },
    });
    // draft-ietf-httpapi-ratelimit-headers-11 covers request quotas; no request was read or counted
    // here.
    expect(Object.keys(answers[0]?.headers ?? {})).not.toContain('ratelimit');
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual({
      code: 'too_many_connections',
      message: expect.any(String),
      status: 503,
      requestId: answers[0]?.headers['x-request-id'],
      docs: expect.stringContaining('/docs/errors#'),
    });
    const response = await fetch(`http://127.0.0.1:${port}/nothing`);
    expect([response.status, await response.json()]).toMatchObject([503, { status: 503 }]);
  });

  test('serves the next connection after one closes', async () => {
    const port = await serverWith({ connections: { total: 1 } });
    const first = await open(port);
    expect(await statuses(port)).toEqual([503]);
    first.destroy();
    while ((await statuses(port))[0] !== 404); // the server sees the close later
  });

  test('allows a trusted proxy more than its clients, within the total', async () => {
    const limits = { perAddress: 1, total: 3 };
    const port = await serverWith({ connections: limits, trustedProxies: ['127.0.0.0/8'] });
    await Promise.all([open(port), open(port), open(port)]);
    expect(await statuses(port)).toEqual([503]);
  });

  test('answers hundreds of rejected connections and runs nothing that they send', async () => {
    let handled = 0;
    const api = {
      ...t.api,
      handle: (raw: Parameters<typeof t.api.handle>[0]) => {
        handled += 1;
        return t.api.handle(raw);
      },
    };
    const server = await listenHttp(api, {
      host: '127.0.0.1',
      port: 0,
      connections: { total: 1 },
      timeouts: { lingerMs: 200 },
    });
    onTestFinished(() => server.close(0));
    const { port } = server.address;
    await open(port);
    const answers = await Promise.all(Array.from({ length: 300 }, () => statuses(port, '')));
    expect(new Set(answers.flat())).toEqual(new Set([503]));
    expect(answers.flat()).toHaveLength(300);
    expect(await statuses(port, last.repeat(3))).toEqual([503]);
    expect(handled).toBe(1);
  });

  test('cuts off a rejected client that neither reads nor leaves', async () => {
    const port = await serverWith({ connections: { total: 1 } });
    await open(port);
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const chunks: Buffer[] = [];
    const sending = setInterval(() => socket.write('x'.repeat(1_000)), 5);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {}); // it goes on sending
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(sending);
    const answers = parseAnswers(Buffer.concat(chunks).toString('latin1'));
    expect(answers.map(({ status }) => status)).toEqual([503]);
  });
});
