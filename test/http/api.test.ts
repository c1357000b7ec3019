import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ErrorCode, errors, refuse } from '../../src/http/pipeline/errors.ts';
import { plainRoute } from './plain-route.ts';
import { type CallOptions, callApi, errorBody, startTestApi, type TestApi } from './support.ts';

const secret = 'sk_live_0123456789';
const faulty = (path: string, fault: unknown) =>
  plainRoute({ path, handle: () => Promise.reject(fault) });

let t: TestApi;
const keys = { both: '', reader: '', writer: '', admin: '', other: '' };
beforeAll(async () => {
  t = await startTestApi([
    faulty('/fault', new Error(`the detail ${secret}`)),
    faulty('/nothing-thrown', undefined),
    faulty('/refused', Object.assign(new Error('no'), { code: 'ECONNREFUSED' })),
    plainRoute({
      path: '/unrenderable',
      handle: async () => ({
        status: 200,
        body: {
          toJSON: () => {
            throw new Error(secret);
          },
        },
      }),
    }),
    plainRoute({
      path: '/page',
      handle: async ({ key }) => ({
        status: 200,
        text: `<p>${key === null}</p>`,
        headers: { 'content-type': 'text/html', 'cache-control': 'max-age=60' },
      }),
    }),
  ]);
  keys.both = await t.keyWith('pets:read', 'pets:write');
  keys.reader = await t.keyWith('pets:read');
  keys.writer = await t.keyWith('pets:write');
  keys.admin = await t.keyWith('admin');
  keys.other = await t.keyWith('domains:read', 'domains:write', 'ops:read');
});
beforeEach(() => void t.errors.splice(0));
afterAll(() => t.close());

const pet = { name: 'a', categoryId: 1 };
const typed = (type: string): CallOptions => ({ raw: '{}', headers: { 'content-type': type } });

describe('The API pipeline on a rejected request', () => {
  const rows: readonly [
    code: ErrorCode,
    line: string,
    key: keyof typeof keys | null,
    options: CallOptions,
  ][] = [
    ['not_found', 'GET /v2/pets', null, {}],
    ['not_found', 'GET /v1/pets/1/2', 'both', {}],
    ['method_not_allowed', 'DELETE /v1/pets', null, {}],
    ['bad_request', 'GET /v1/pets/%zz', null, {}],
    ['unauthorized', 'GET /v1/pets', null, {}],
    ['unauthorized', 'POST /v1/pets', null, { json: pet }],
    ['unauthorized', 'GET /v1/pets/1', null, {}],
    ['unauthorized', 'GET /v1/pets?limit=0', null, {}],
    ['unauthorized', 'POST /v1/pets', null, { raw: 'not json' }],
    ['insufficient_scope', 'GET /v1/pets', 'writer', {}],
    ['insufficient_scope', 'GET /v1/pets/1', 'other', {}],
    ['insufficient_scope', 'POST /v1/pets', 'reader', { json: pet }],
    ['insufficient_scope', 'POST /v1/pets', 'other', typed('text/plain')],
    ['unsupported_media_type', 'POST /v1/pets', 'both', typed('text/plain')],
    ['unsupported_media_type', 'POST /v1/pets', 'both', typed('application/json; charset=latin1')],
    [
      'unsupported_media_type',
      'POST /v1/pets',
      'both',
      typed('application/json, application/json'),
    ],
    ['unsupported_media_type', 'POST /v1/pets', 'both', typed('application/jsonp')],
    [
      'unsupported_media_type',
      'POST /v1/pets',
      'both',
      { json: pet, headers: { 'content-encoding': 'gzip' } },
    ],
    ['invalid_body', 'POST /v1/pets', 'both', {}],
    ['malformed_json', 'POST /v1/pets', 'both', { raw: '{"name":' }],
    ['malformed_json', 'POST /v1/pets', 'both', { raw: '{"name":"a","name":"a","categoryId":1}' }],
    ['malformed_json', 'POST /v1/pets', 'both', { raw: Uint8Array.of(0x22, 0xff, 0x22) }],
    ['json_too_deep', 'POST /v1/pets', 'both', { raw: '['.repeat(33) }],
    ['invalid_body', 'POST /v1/pets', 'both', { json: { name: 'a' } }],
    ['invalid_query', 'GET /v1/pets?limit=0', 'both', {}],
    ['invalid_query', 'POST /v1/pets?x=1', 'both', { json: pet }],
    ['invalid_query', 'GET /v1/pets/1?x=1', 'both', {}],
    ['pet_not_found', 'GET /v1/pets/0', 'both', {}],
    ['internal_error', 'GET /fault', null, {}],
    ['unavailable', 'GET /refused', null, {}],
  ];
  test.each(rows)('%s: %s with %s key stores nothing', async (code, line, key, options) => {
    const [status] = errors[code];
    const before = await t.prisma.pet.count();
    const answer = await callApi(t.api, line, { ...(key && { key: keys[key] }), ...options });
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual(errorBody(status, code));
    const body = answer.body as { errors?: unknown; requestId: string };
    expect(Object.keys(body).slice(0, 3)).toEqual(['code', 'message', 'status']);
    expect(body.requestId).toBe(answer.headers['x-request-id']);
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(await t.prisma.pet.count()).toBe(before);
  });

  const withHeaders: readonly [line: string, options: CallOptions, headers: object][] = [
    ['PATCH /v1/pets/1', {}, { allow: 'GET, HEAD, OPTIONS' }],
    ['GET /v1/pets', {}, { 'www-authenticate': 'Bearer realm="signpost"' }],
    [
      'GET /v1/pets',
      { key: 'nobody’s' },
      { 'www-authenticate': 'Bearer realm="signpost", error="invalid_token"' },
    ],
    ['GET /refused', {}, { 'retry-after': '5' }],
  ];
  test.each(withHeaders)(
    '%s answers with the headers that help',
    async (line, options, headers) => {
      expect((await callApi(t.api, line, options)).headers).toMatchObject(headers);
    },
  );

  test('answers 414 to a target that is too long, with or without a key', async () => {
    const answer = await callApi(t.api, `GET /v1/pets?${'x'.repeat(9_000)}`);
    expect(answer.body).toEqual(errorBody(414, 'uri_too_long'));
  });

  test('names the missing scope', async () => {
    const { headers, body } = await callApi(t.api, 'GET /v1/pets', { key: keys.other });
    expect(body).toMatchObject({ message: expect.stringContaining('pets:read') });
    expect(headers['www-authenticate']).toContain('error="insufficient_scope", scope="pets:read"');
  });
});

describe('The API pipeline on a valid request', () => {
  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('accepts a body of type %s', async (type) => {
    const options = { key: keys.both, json: pet, headers: { 'content-type': type } };
    expect((await callApi(t.api, 'POST /v1/pets', options)).status).toBe(201);
  });

  test('lets an admin key do everything', async () => {
    expect((await callApi(t.api, 'GET /v1/pets', { key: keys.admin })).status).toBe(200);
    expect((await callApi(t.api, 'POST /v1/pets', { key: keys.admin, json: pet })).status).toBe(
      201,
    );
  });

  test('answers HEAD like GET, without a body', async () => {
    const head = await callApi(t.api, 'HEAD /v1/pets', { key: keys.both });
    const get = await callApi(t.api, 'GET /v1/pets', { key: keys.both });
    const ofTheExchange = ['x-request-id', 'traceparent', 'ratelimit'];
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(Object.keys(head.headers)).toEqual(Object.keys(get.headers));
    for (const [name, value] of Object.entries(get.headers)) {
      if (!ofTheExchange.includes(name)) expect(head.headers[name], name).toBe(value);
    }
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(get.text)));
  });

  test('answers OPTIONS with the allowed methods, without a key', async () => {
    const { status, headers, text } = await callApi(t.api, 'OPTIONS /v1/pets');
    expect({ status, text, allow: headers['allow'] }).toEqual({
      status: 204,
      text: '',
      allow: 'GET, POST, HEAD, OPTIONS',
    });
    expect(headers).not.toHaveProperty('content-type');
  });

  test('serves a public route without a key and lets it choose its content type and caching', async () => {
    const { text, headers } = await callApi(t.api, 'GET /page');
    expect(text).toBe('<p>true</p>');
    expect(headers).toMatchObject({ 'content-type': 'text/html', 'cache-control': 'max-age=60' });
    expect(headers['x-content-type-options']).toBe('nosniff');
  });
});

describe('Every API response', () => {
  test.each(['abc', 'A-1._z', 'x'.repeat(64)])(
    'carries the request id %s of the request',
    async (id) => {
      const headers = { 'x-request-id': id };
      for (const line of ['GET /v1/pets', 'GET /nothing', 'GET /fault']) {
        expect((await callApi(t.api, line, { headers })).headers['x-request-id']).toBe(id);
      }
    },
  );

  test.each(['', 'a b', 'x'.repeat(65), 'a\r\nb', 'ä', 'a, b'])(
    'carries a new id instead of %j',
    async (id) => {
      const answer = await callApi(t.api, 'GET /v1/pets', { headers: { 'x-request-id': id } });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test('forbids framing, sniffing and shared caching', async () => {
    const lines = [
      ['GET /v1/pets', 'private, no-cache'],
      ['GET /nothing', 'no-store'],
      ['OPTIONS /v1/pets', 'no-store'],
    ] as const;
    for (const [line, caching] of lines) {
      expect((await callApi(t.api, line, { key: keys.both })).headers).toMatchObject({
        'cache-control': caching,
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
      });
    }
  });
});

describe('An unexpected fault', () => {
  test.each(['/fault', '/nothing-thrown', '/unrenderable'])(
    'at %s reveals nothing to the client and logs one line with its request id',
    async (path) => {
      const answer = await callApi(t.api, `GET ${path}`, { headers: { 'x-request-id': 'r-1' } });
      expect(answer.status).toBe(500);
      expect(answer.text).not.toContain(secret);
      expect(t.errors).toHaveLength(1);
      expect(t.errors[0]?.fields).toMatchObject({ requestId: 'r-1', code: 'internal_error' });
    },
  );

  test('is the only case logged as an error; no log line contains a key', async () => {
    await callApi(t.api, 'GET /v1/pets?limit=0', { key: keys.both });
    await callApi(t.api, 'GET /fault', { key: keys.both });
    expect(t.errors).toHaveLength(1);
    expect(JSON.stringify(t.errors)).not.toContain(keys.both);
  });

  test('in HTTP parsing is answered in the same error format', () => {
    t.lines.splice(0);
    const answer = t.api.reject(refuse('bad_request'), '192.0.2.1');
    expect(answer.headers['ratelimit']).toMatch(/^"address";r=\d+;t=\d+$/);
    expect(t.lines[0]?.fields).toMatchObject({ status: 400, code: 'bad_request' });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(answer.body ?? '')).toMatchObject({ code: 'bad_request', status: 400 });
  });
});
