/** What an answer says of its exchange: entity tags, other origins, traces, and the line in the log. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installation } from '../../src/core/accounts/access.ts';
import { createPetStore } from '../../src/db/pets.ts';
import { petRoutes } from '../../src/http/routes/pets.ts';
import { callApi, composeApi, startTestApi, type TestApi } from './support.ts';

let t: TestApi;
let key: string;
beforeAll(async () => {
  t = await startTestApi();
  key = await t.keyWith('pets:read', 'pets:write');
});
afterAll(() => t.close());

const json = { name: 'a', categoryId: 1 };
const get = (headers = {}, line = 'GET /v1/pets') => callApi(t.api, line, { key, headers });

describe('a read', () => {
  test('that finds what the client has already is 304, without a body and with the same tag', async () => {
    const first = await get();
    const tag = first.headers['etag'] ?? '';
    const again = await get({ 'if-none-match': tag });
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(again.headers['etag']).toBe(tag);
    // RFC 9110, 15.4.5: what a 200 would have said of the representation and of its caching.
    expect(again.headers['cache-control']).toBe(first.headers['cache-control']);
    expect(again.headers).not.toHaveProperty('content-length');
  });

  test('after a change is 200 with another tag', async () => {
    const { headers } = await get();
    await callApi(t.api, 'POST /v1/pets', { key, json });
    const after = await get({ 'if-none-match': headers['etag'] ?? '' });
    expect(after.status).toBe(200);
    expect(after.headers['etag']).not.toBe(headers['etag']);
  });

  test('is not 304 where its page has a next one meanwhile', async () => {
    const line = 'GET /v1/pets?limit=1&status=sold';
    const sold = { key, json: { ...json, status: 'sold' } };
    await callApi(t.api, 'POST /v1/pets', sold);
    const { headers } = await get({}, line);
    await callApi(t.api, 'POST /v1/pets', sold);
    const after = await get({ 'if-none-match': headers['etag'] ?? '' }, line);
    expect(after.status).toBe(200);
    expect(after.headers['link']).toContain('rel="next"');
  });

  test('by HEAD is 304, too', async () => {
    const { headers } = await get();
    const head = await get({ 'if-none-match': headers['etag'] ?? '' }, 'HEAD /v1/pets');
    expect(head).toMatchObject({ status: 304, text: '' });
  });

  test.each(['GET /v1/pets/0', 'GET /v1/pets?limit=0', 'GET /nothing'])(
    'that is refused has no tag: %s',
    async (line) => {
      const answer = await get({ 'if-none-match': '*' }, line);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers).not.toHaveProperty('etag');
    },
  );

  test('If-None-Match says nothing to a POST', async () => {
    const headers = { 'if-none-match': '*' };
    expect((await callApi(t.api, 'POST /v1/pets', { key, json, headers })).status).toBe(201);
  });
});

describe('a page of another origin', () => {
  const shop = { origin: 'https://shop.example' };

  test('that is listed may ask before it sends a key', async () => {
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
    ['an animal', 'GET /v1/pets', 200],
    ['a refusal', 'GET /v1/pets?limit=0', 400],
    ['what is not there', 'GET /nothing', 404],
  ])('that is listed may read %s', async (_what, line, expected) => {
    const { status, headers } = await get(shop, line);
    expect(status).toBe(expected);
    expect(headers['access-control-allow-origin']).toBe(shop.origin);
  });

  test('that is not listed may not', async () => {
    const { headers } = await get({ origin: 'https://evil.example' });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers['vary']).toBe('Authorization, Signpost-Account, Origin');
  });
});

describe('the log', () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

  test('has one line for each request, with its ids and never its path, query or body', async () => {
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
    'has one for %s as well',
    async (line) => {
      t.lines.splice(0);
      const { status } = await callApi(t.api, line);
      expect(t.lines.map(({ fields }) => fields['status'])).toEqual([status]);
    },
  );
});

describe('the limits', () => {
  test('are told in every answer, the key’s first', async () => {
    const { headers } = await get();
    expect(headers['ratelimit-policy']).toMatch(/^"key";q=\d+;w=60, "address";q=\d+;w=60$/);
    expect(headers['ratelimit']).toMatch(/^"key";r=\d+;t=\d+, "address";r=\d+;t=\d+$/);
  });

  test('of the address alone, where there is no key', async () => {
    const { headers } = await callApi(t.api, 'GET /v1/pets');
    expect(headers['ratelimit-policy']).toMatch(/^"address";q=\d+;w=60$/);
  });
});

describe('behind a base address with a path', () => {
  test('links and locations lead there', async () => {
    const { prisma, pool, clock } = t;
    const now = () => clock.now;
    const api = composeApi({
      routes: petRoutes({ pets: createPetStore({ prisma, pool }), now }),
      authenticate: async () => ({
        kind: 'ok',
        key: { id: 'k', scopes: ['admin'], access: installation },
      }),
      usage: { used: () => {}, deprecated: () => {} },
      log: { error: () => {}, info: () => {}, debug: () => {} },
      basePath: '/store',
      prisma,
      now,
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
