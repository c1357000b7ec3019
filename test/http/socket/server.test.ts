import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HttpServer } from '../../../src/http/socket/server.ts';
import { sizeOfRun } from '../../support/run.ts';
import { startTestApi, type TestApi } from '../support.ts';
import { listenForTest, talk, type WireAnswer } from '../wire.ts';

let t: TestApi;
let server: HttpServer;
let port: number;
let key: string;
beforeAll(async () => {
  t = await startTestApi();
  server = await listenForTest(t.api);
  port = server.address.port;
  key = await t.keyWith('pets:read', 'pets:write');
});
afterAll(async () => {
  await server.close(1_000);
  await t.close();
});

const pet = '{"name":"a","categoryId":1}';
const head = (line: string, ...fields: readonly string[]) =>
  `${line} HTTP/1.1\r\nHost: x\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
const auth = () => `Authorization: Bearer ${key}`;
const json = 'Content-Type: application/json';
const last = 'Connection: close';
const get = (...more: readonly string[]) => head('GET /v1/pets', auth(), ...more);
const post = (...fields: readonly string[]) => head('POST /v1/pets', auth(), json, ...fields);

/** `200` or `400 bad_request`; also checks the format of the response. */
function reported(answer: WireAnswer): string {
  expect(answer.headers['x-request-id']).toMatch(/^[\w.-]{1,64}$/);
  if (answer.status < 400) return String(answer.status);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  const body = JSON.parse(answer.body);
  expect(body).toEqual({
    code: expect.any(String),
    message: expect.any(String),
    status: answer.status,
    requestId: answer.headers['x-request-id'],
    docs: expect.stringContaining('/docs/errors#'),
    ...(body.code === 'unauthorized' && {
      errors: [expect.objectContaining({ field: 'Authorization' })],
    }),
  });
  return `${answer.status} ${body.code}`;
}

async function answersTo(...pieces: readonly (string | Uint8Array)[]): Promise<readonly string[]> {
  return (await talk(port, pieces)).answers.map(reported);
}

describe('The HTTP server', () => {
  test('answers a request and serves the next one on the same connection', async () => {
    expect(await answersTo(get(), get(last))).toEqual(['200', '200']);
  });

  test('accepts a body octet by octet', async () => {
    const pieces = [...post(`Content-Length: ${pet.length}`, last), ...pet];
    expect(await answersTo(...pieces)).toEqual(['201']);
  });

  test('accepts a body in chunks', async () => {
    const chunks = `5\r\n${pet.slice(0, 5)}\r\n${(pet.length - 5).toString(16)}\r\n${pet.slice(5)}\r\n0\r\n\r\n`;
    expect(await answersTo(post('Transfer-Encoding: chunked', last), chunks)).toEqual(['201']);
  });

  test('answers HEAD with the length of GET and no body', async () => {
    const [answer] = (await talk(port, [head('HEAD /v1/pets', auth(), last)])).answers;
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(Number(answer?.headers['content-length'])).toBeGreaterThan(0);
  });

  test('sends 100 Continue to a client that waits for it, then the response', async () => {
    const { answers } = await talk(port, [
      post(`Content-Length: ${pet.length}`, 'Expect: 100-continue', last),
      pet,
    ]);
    expect(answers.map(({ status }) => status)).toEqual([100, 201]);
  });

  test('rejects at once a client that waits for 100 Continue but may not send', async () => {
    const refused = head('POST /v1/pets', json, 'Content-Length: 90000', 'Expect: 100-continue');
    expect(await answersTo(refused)).toEqual(['401 unauthorized']);
    expect(await answersTo(post('Content-Length: 90000', 'Expect: 100-continue'))).toEqual([
      '413 body_too_large',
    ]);
  });

  test('answers pipelined requests in order, one at a time', async () => {
    const create = post(`Content-Length: ${pet.length}`) + pet;
    const before = await t.prisma.pet.count();
    const { answers } = await talk(port, [
      create + get() + create + head('GET /nothing') + get(last),
    ]);
    expect(answers.map(reported)).toEqual(['201', '200', '201', '404 not_found', '200']);
    const counts = [answers[1], answers[4]].map((answer) => JSON.parse(answer?.body ?? '').length);
    expect(counts).toEqual([before + 1, before + 2]); // each read sees the writes before it
  });
});

describe('Input that is not HTTP', () => {
  const rows: readonly [what: string, sent: () => string, outcome: readonly string[]][] = [
    ['a malformed request line', () => 'GET\r\n\r\n', ['400 bad_request']],
    ['a method that does not exist', () => head('BREW /v1/pets'), ['400 bad_request']],
    ['a header without a colon', () => head('GET /v1/pets', 'nonsense'), ['400 bad_request']],
    ['a TLS ClientHello', () => '\x16\x03\x01\x02\x00\x01\x00\x01', ['400 bad_request']],
    [
      'two Hosts',
      () => 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
      ['400 bad_request'],
    ],
    [
      'a Host with a space',
      () => 'GET /v1/pets HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
      ['400 bad_request'],
    ],
    [
      'a Host with a path',
      () => 'GET /v1/pets HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n',
      ['400 bad_request'],
    ],
    [
      'a Host with a user',
      () => 'GET /v1/pets HTTP/1.1\r\nHost: u@a\r\nConnection: close\r\n\r\n',
      ['400 bad_request'],
    ],
    [
      'HTTP/2.0',
      () => 'GET /v1/pets HTTP/2.0\r\nHost: x\r\nConnection: close\r\n\r\n',
      ['400 bad_request'],
    ],
    [
      'an unknown transfer coding',
      () => `${post('Transfer-Encoding: gzip, chunked', last)}0\r\n\r\n`,
      ['400 bad_request'],
    ],
    [
      'no Host header',
      () => 'GET /v1/pets HTTP/1.1\r\nConnection: close\r\n\r\n',
      ['400 bad_request'],
    ],
    [
      'two content lengths',
      () => post('Content-Length: 1', 'Content-Length: 2'),
      ['400 bad_request'],
    ],
    [
      'a content length and chunks',
      () => post('Content-Length: 5', 'Transfer-Encoding: chunked'),
      ['400 bad_request'],
    ],
    ['a negative length', () => post('Content-Length: -1'), ['400 bad_request']],
    [
      'a chunk without a size',
      () => `${post('Transfer-Encoding: chunked')}zz\r\n`,
      ['400 bad_request'],
    ],
    ['an unknown expectation', () => get('Expect: miracles', last), ['417 expectation_failed']],
    ['CONNECT', () => 'CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n', ['400 bad_request']],
    ['headers of 20 KiB', () => get(`X: ${'x'.repeat(20_000)}`), ['431 headers_too_large']],
    [
      'headers of 300 KiB',
      () => get(...Array.from({ length: 30 }, (_, n) => `X${n}: ${'x'.repeat(10_000)}`)),
      ['431 headers_too_large'],
    ],
    [
      '101 headers',
      () => get(...Array.from({ length: 99 }, (_, n) => `X${n}: 1`), last),
      ['431 headers_too_large'],
    ],
    [
      'a target of 9 KiB',
      () => head(`GET /v1/pets?${'x'.repeat(9_000)}`, last),
      ['414 uri_too_long'],
    ],
    [
      'a target of 20 KiB',
      () => head(`GET /v1/pets?${'x'.repeat(20_000)}`),
      ['431 headers_too_large'],
    ],
    ['two API keys', () => get(auth(), last), ['401 unauthorized']],
    ['garbage after a request', () => `${get()}nonsense\r\n\r\n`, ['200', '400 bad_request']],
    [
      'garbage after two requests',
      () => `${get() + get()}\0\0\0`,
      ['200', '200', '400 bad_request'],
    ],
    ['a request after garbage', () => `nonsense\r\n\r\n${get()}`, ['400 bad_request']],
  ];
  test.each(rows)('%s is answered in the error format', async (_what, sent, outcome) => {
    expect(await answersTo(sent())).toEqual(outcome);
  });

  test('100 headers are accepted', async () => {
    const more = Array.from({ length: 97 }, (_, n) => `X${n}: 1`);
    expect(await answersTo(get(...more, last))).toEqual(['200']);
  });
});

describe('A body with a wrong length', () => {
  test('leaves a bad next request when it is longer than announced', async () => {
    const sent = `${post(`Content-Length: ${pet.length}`)}${pet}${pet}`;
    expect(await answersTo(sent)).toEqual(['201', '400 bad_request']);
  });

  test('gets 400 and stores nothing when it is shorter than announced', async () => {
    const before = await t.prisma.pet.count();
    const sent = [post('Content-Length: 500') + pet];
    const { answers } = await talk(port, sent, { halfClose: true });
    expect(answers.map(reported)).toEqual(['400 bad_request']);
    expect(await t.prisma.pet.count()).toBe(before);
  });

  test('A body is limited to 64 KiB', async () => {
    const padded = (length: number) => pet.padEnd(length, ' ');
    expect(await answersTo(post('Content-Length: 65536', last), padded(65_536))).toEqual(['201']);
    expect(await answersTo(post('Content-Length: 65537'), padded(65_537))).toEqual([
      '413 body_too_large',
    ]);
  });

  test('An endless body is cut at 64 KiB even if the client goes on sending', async () => {
    const before = await t.prisma.pet.count();
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const { answers, written } = await talk(port, [
      post('Transfer-Encoding: chunked'),
      ...Array(4_000).fill(chunk),
    ]);
    expect(answers.map(reported)).toEqual(['413 body_too_large']);
    expect(answers[0]?.headers['connection']).toBe('close');
    expect(written).toBeLessThan(20_000_000); // of 65 million
    expect(await t.prisma.pet.count()).toBe(before);
  });

  test('An unexpected body is not awaited', async () => {
    expect(await answersTo(head('POST /v1/pets', json, 'Content-Length: 9000000'))).toEqual([
      '401 unauthorized',
    ]);
    const small = `${head('POST /v1/pets', json, 'Content-Length: 4')}null${get(last)}`;
    expect(await answersTo(small)).toEqual(['401 unauthorized', '200']);
  });
});

describe('An early rejection', () => {
  test('counts against its address, keeps its request id and is logged', async () => {
    t.lines.splice(0);
    const request = head('GET /v1/pets', 'Expect: magic', 'X-Request-Id: r-417', last);
    const [answer] = (await talk(port, [request])).answers;
    expect(answer?.status).toBe(417);
    expect(answer?.headers).toMatchObject({ 'x-request-id': 'r-417' });
    expect(answer?.headers['ratelimit']).toContain('"address"');
    expect(t.lines.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ requestId: 'r-417', status: 417 }),
    ]);
  });

  test('leaves the server running and responses in order, whatever follows it', async () => {
    const refused = head('GET /healthz', 'Expect: foo');
    const pieces = [refused + head('GET /v1/pets'), ...Array(30).fill(head('GET /v1/pets'))];
    for (let round = 0; round < sizeOfRun({ quick: 10, long: 200 }); round += 1) {
      const { answers } = await talk(port, pieces, { halfClose: true });
      const statuses = answers.map(({ status }) => status);
      expect(statuses).toEqual([417, ...statuses.slice(1).map(() => 401)]);
    }
    expect(await answersTo(get(last))).toEqual(['200']);
  });
});
