import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { petRoutes } from '../../src/http/routes/pets.ts';
import { serviceOn } from '../support/database-service.ts';
import { callApi, composeApi, startTestApi, type TestApi } from './support.ts';

let t: TestApi;
let key: string;
beforeAll(async () => {
  t = await startTestApi([], { env: { CORS_ORIGINS: 'https://shop.example' } });
  key = await t.keyWith('pets:read', 'pets:write');
});
afterAll(() => t.close());

const json = { name: 'a', categoryId: 1 };
const get = (headers = {}, line = 'GET /v1/pets') => callApi(t.api, line, { key, headers });

describe('A GET request', () => {
  test('answers 304 with the same tag and no body when the client is up to date', async () => {
    const first = await get();
    const tag = first.headers['etag'] ?? '';
    const again = await get({ 'if-none-match': tag });
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(again.headers['etag']).toBe(tag);
    // RFC 9110, 15.4.5: a 304 repeats the validator and caching headers of the 200.
    expect(again.headers['cache-control']).toBe(first.headers['cache-control']);
    expect(again.headers).not.toHaveProperty('content-length');
  });

  test('answers 200 with another tag after a change', async () => {
    const { headers } = await get();
    await callApi(t.api, 'POST /v1/pets', { key, json });
    const after = await get({ 'if-none-match': headers['etag'] ?? '' });
    expect(after.status).toBe(200);
    expect(after.headers['etag']).not.toBe(headers['etag']);
  });

  test('answers 200 when its page has gained a next page', async () => {
    const line = 'GET /v1/pets?limit=1&status=sold';
    const sold = { key, json: { ...json, status: 'sold' } };
    await callApi(t.api, 'POST /v1/pets', sold);
    const { headers } = await get({}, line);
    await callApi(t.api, 'POST /v1/pets', sold);
    const after = await get({ 'if-none-match': headers['etag'] ?? '' }, line);
    expect(after.status).toBe(200);
    expect(after.headers['link']).toContain('rel="next"');
  });

  test('answers 304 to HEAD too', async () => {
    const { headers } = await get();
    const head = await get({ 'if-none-match': headers['etag'] ?? '' }, 'HEAD /v1/pets');
    expect(head).toMatchObject({ status: 304, text: '' });
  });

  test.each(['GET /v1/pets/0', 'GET /v1/pets?limit=0', 'GET /nothing'])(
    'sends no tag with an error: %s',
    async (line) => {
      const answer = await get({ 'if-none-match': '*' }, line);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers).not.toHaveProperty('etag');
    },
  );

  test('A POST ignores If-None-Match', async () => {
    const headers = { 'if-none-match': '*' };
    expect((await callApi(t.api, 'POST /v1/pets', { key, json, headers })).status).toBe(201);
  });
});

describe('A page of another origin', () => {
  const shop = { origin: 'https://shop.example' };

  test('may send a preflight when its origin is listed', async () => {
    const wish = { ...shop, 'access-control-request-method': 'POST' };
    const { status, headers } = await callApi(t.api, 'OPTIONS /v1/pets', { headers: wish });
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      'access-control-allow-origin': shop.origin,
      'access-control-allow-methods': 'GET, POST, HEAD, OPTIONS',
      allow: 'GET, POST, HEAD, OPTIONS',
    });
  });

  test.each([
    ['a pet', 'GET /v1/pets', 200],
    ['an error', 'GET /v1/pets?limit=0', 400],
    ['a missing pet', 'GET /nothing', 404],
  ])('may read %s when its origin is listed', async (_what, line, expected) => {
    const { status, headers } = await get(shop, line);
    expect(status).toBe(expected);
    expect(headers['access-control-allow-origin']).toBe(shop.origin);
  });

  test('may not read anything when its origin is not listed', async () => {
    const { headers } = await get({ origin: 'https://evil.example' });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers['vary']).toBe('Authorization, Signpost-Account, Origin');
  });
});

describe('The request log', () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

  test('has one line per request with its ids and never its path, query or body', async () => {
    t.lines.splice(0);
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01`, 'x-request-id': 'r-7' };
    const answer = await get(headers, 'GET /v1/pets?limit=3');
    expect(answer.headers['traceparent']).toContain(trace);
    expect(t.lines).toHaveLength(1);
    expect(t.lines[0]?.fields).toMatchObject({
      requestId: 'r-7',
      traceId: trace,
      method: 'GET',
      operationId: 'listPets',
      status: 200,
    });
    expect(JSON.stringify(t.lines)).not.toContain('limit');
  });

  test.each(['GET /nothing', 'PUT /v1/pets', 'GET /v1/pets/%zz', 'OPTIONS /v1/pets'])(
    'has a line for %s as well',
    async (line) => {
      t.lines.splice(0);
      const { status } = await callApi(t.api, line);
      expect(t.lines.map(({ fields }) => fields['status'])).toEqual([status]);
    },
  );
});

describe('The rate limit headers', () => {
  test('are in every response, the limit of the key first', async () => {
    const { headers } = await get();
    expect(headers['ratelimit-policy']).toMatch(/^"key";q=\d+;w=60, "address";q=\d+;w=60$/);
    expect(headers['ratelimit']).toMatch(/^"key";r=\d+;t=\d+, "address";r=\d+;t=\d+$/);
  });

  test('cover the address only when there is no key', async () => {
    const { headers } = await callApi(t.api, 'GET /v1/pets');
    expect(headers['ratelimit-policy']).toMatch(/^"address";q=\d+;w=60$/);
  });
});

describe('Behind a base URL with a path', () => {
  test('links and locations include the path', async () => {
    const env = { BASE_URL: 'https://api.example.com/store/v1' };
    const service = serviceOn(t, { now: () => t.clock.now, env });
    onTestFinished(() => service.close());
    const api = composeApi(service, petRoutes(service), {
      authenticate: async () => ({
        kind: 'ok',
        key: { id: 'k', sessionId: null, scopes: ['admin'], access: wholeInstallation },
      }),
      usage: { used: () => {}, deprecated: () => {} },
    });
    const made = await callApi(api, 'POST /v1/pets', { json });
    expect(made.headers['location']).toMatch(/^\/store\/v1\/pets\/\d+$/);
    await callApi(api, 'POST /v1/pets', { json });
    const page = await callApi(api, 'GET /v1/pets?limit=1');
    expect(page.headers['link']).toMatch(/^<\/store\/v1\/pets\?.*>; rel="next"$/);
    const one = await callApi(api, 'GET /v1/pets/1');
    expect(one.headers['link']).toBe('</store/v1/pets>; rel="successor-version"');
  });
});
