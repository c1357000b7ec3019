import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { keyRoutes } from '../../src/http/routes/keys.ts';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;

beforeAll(async () => {
  api = await startTestApi((service) => [
    ...publishingRoutes(service),
    ...keyRoutes(service, () => {}),
  ]);
  key = await api.keyWith('domains:read', 'domains:write', 'admin');
});
afterAll(() => api.close());

type Details = {
  readonly message: string;
  readonly errors?: readonly object[];
  readonly requestId: string;
  readonly docs: string;
};

async function details(line: string, json?: unknown, headers: object = {}): Promise<Details> {
  const options = { key, headers: { ...headers }, ...(json !== undefined && { json }) };
  return (await callApi(api.api, line, options)).body as Details;
}

describe('The fields of an error', () => {
  const bodies: readonly (readonly [string, unknown, readonly (readonly [string, string])[]])[] = [
    [
      'missing',
      {},
      [
        ['name', 'required'],
        ['slug', 'required'],
      ],
    ],
    ['of another type', { name: 7, slug: 'a' }, [['name', 'wrong_type']]],
    [
      'none of the listed values',
      { name: 'a', slug: 'a', plan: 'gold' },
      [['plan', 'not_allowed']],
    ],
    ['unknown', { name: 'a', slug: 'a', color: 'red' }, [['color', 'unknown']]],
    ['against a rule', { name: 'a', slug: 'No Slug' }, [['slug', 'invalid']]],
    ['nested', { name: 'a', slug: 'a', metadata: { k: '' } }, [['metadata.k', 'invalid']]],
    ['no object', [], [['body', 'wrong_type']]],
    [
      'several',
      { name: 7, color: 'red' },
      [
        ['name', 'wrong_type'],
        ['slug', 'required'],
        ['color', 'unknown'],
      ],
    ],
  ];
  it.each(bodies)('that is %s', async (_what, body, expected) => {
    const { errors = [], message } = await details('POST /v1/projects', body);
    expect(errors).toEqual(
      expected.map(([field, code]) => ({ field, code, message: expect.stringMatching(/\w/) })),
    );
    for (const [field] of expected) expect(message).toContain(`${field}: `);
  });

  const queries: readonly (readonly [string, string, string])[] = [
    ['limit=0', 'limit', 'invalid'],
    ['color=red', 'color', 'unknown'],
    ['limit=1&limit=2', 'limit', 'repeated'],
    ['metadata=x', 'metadata', 'wrong_type'],
  ];
  it.each(queries)('of the query %s', async (query, field, code) => {
    const { errors } = await details(`GET /v1/projects?${query}`);
    expect(errors).toMatchObject([{ field, code }]);
  });

  it('are at most twenty', async () => {
    const body = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, 1]));
    expect((await details('POST /v1/projects', body)).errors).toHaveLength(20);
  });

  it('are missing if the error is about none', async () => {
    expect(await details('GET /v1/projects/x')).not.toHaveProperty('errors');
  });
});

describe('The request ID of an error', () => {
  it("is the client's own", async () => {
    const body = await details('GET /v1/projects/x', undefined, { 'x-request-id': 'mine-1' });
    expect(body).toMatchObject({ requestId: 'mine-1', docs: '/docs/errors#project_not_found' });
  });

  it('stays that of the first request in a replay', async () => {
    const json = { name: 'Docs', slug: 'replayed' };
    await details('POST /v1/projects', json);
    const send = (requestId: string) =>
      details('POST /v1/projects', json, {
        'x-request-id': requestId,
        'idempotency-key': 'again',
      });
    const first = await send('first');
    expect(first).toMatchObject({ code: 'slug_taken', requestId: 'first' });
    expect(await send('second')).toEqual(first);
  });
});

describe('401 says why', () => {
  const asking = (authorization: string) =>
    callApi(api.api, 'GET /v1/projects', { headers: { authorization } });

  test.each([
    ['no header', '', 'required'],
    ['another scheme', 'Basic dXNlcjpwYXNz', 'not_bearer'],
    ['a key that does not exist', 'Bearer nobody-has-this-key', 'unknown'],
  ])('%s', async (_what, authorization, code) => {
    expect(await asking(authorization)).toMatchObject({
      status: 401,
      body: { code: 'unauthorized', errors: [{ field: 'Authorization', code }] },
    });
  });

  async function aKey(more: object = {}) {
    const json = { name: 'ends', scopes: ['domains:read'], ...more };
    const made = await callApi(api.api, 'POST /v1/keys', { key, json });
    return made.body as { readonly id: string; readonly key: string };
  }

  test('a key that was revoked', async () => {
    const made = await aKey();
    await callApi(api.api, `DELETE /v1/keys/${made.id}`, { key });
    expect((await asking(`Bearer ${made.key}`)).body).toMatchObject({
      message: `This API key was revoked at ${api.clock.now.toISOString()}.`,
      errors: [{ code: 'revoked' }],
    });
  });

  test('a key that has expired, and since when', async () => {
    const expiresAt = new Date(api.clock.now.getTime() + 60_000);
    const { key: token } = await aKey({ expiresAt: expiresAt.toISOString() });
    expect((await asking(`Bearer ${token}`)).status).toBe(200);
    api.clock.now = expiresAt;
    expect((await asking(`Bearer ${token}`)).body).toMatchObject({
      message: `This API key expired at ${expiresAt.toISOString()}.`,
      errors: [{ code: 'expired' }],
    });
  });
});
