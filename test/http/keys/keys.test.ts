import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { digestNameOf, digestOf, parseKey } from '../../../src/config/api-key.ts';
import { scopes } from '../../../src/core/operations/scopes.ts';
import { DAY } from '../../../src/core/time.ts';
import type { Api } from '../../../src/http/pipeline/api.ts';
import { keyList, key as keySchema, mintedKey } from '../../../src/http/schemas/keys.ts';
import { later, noon } from '../../support/builders.ts';
import { type CallOptions, callApi, errorBody } from '../support.ts';
import { type Installation, openInstallation, type Shown, shownBy } from './fixture.ts';

const shop = { name: 'shop', scopes: ['pets:read', 'pets:write'] };

let installation: Installation;
let api: Api;
let admin: { id: string; token: string };
beforeAll(async () => {
  installation = await openInstallation(noon);
});
beforeEach(async () => {
  installation.clock.now = noon;
  api = installation.aProcess().api;
  await installation.database.prisma.apiKey.deleteMany();
  admin = await installation.keyWith('admin');
});
afterAll(() => installation.close());

const call = (line: string, options: CallOptions = {}) =>
  callApi(api, line, { key: admin.token, ...options });
const shown = (line: string, options: CallOptions = {}) =>
  shownBy(api, line, { key: admin.token, ...options });
const make = (more: object = {}) => shown('POST /v1/keys', { json: { ...shop, ...more } });
const statusWith = async (token: string) =>
  (await callApi(api, 'GET /v1/pets', { key: token })).status;

describe('A new key', () => {
  test('is shown with its token and works at once', async () => {
    const { status, headers, body } = await call('POST /v1/keys', { json: shop });
    const { id, key } = body as Shown;
    expect(status).toBe(201);
    expect(headers['location']).toBe(`/v1/keys/${id}`);
    expect(parseKey(key)).toEqual({ kind: 'ours', id });
    expect(body).toEqual({
      id,
      prefix: key.slice(0, 21),
      ...shop,
      accountId: null,
      projectIds: null,
      status: 'active',
      createdAt: noon.toISOString(),
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
      successorId: null,
      madeBy: admin.id,
      deprecatedUses: [],
      key,
    });
    expect(mintedKey.safeParse(body).error).toBeUndefined();
    expect(await statusWith(key)).toBe(200);
  });

  test('can do only what its scopes allow', async () => {
    const { key } = await make({ scopes: ['pets:read'] });
    expect(await statusWith(key)).toBe(200);
    const answer = await callApi(api, 'GET /v1/keys', { key });
    expect(answer.body).toEqual(errorBody(403, 'insufficient_scope'));
    expect(answer.headers['www-authenticate']).toContain('scope="keys:read"');
  });

  test('expires exactly at its time', async () => {
    const expiresAt = '2026-11-21T14:00:00.500+02:00';
    const { key, expiresAt: end } = await make({ expiresAt });
    expect(end).toBe(later(noon, DAY + 500).toISOString());
    installation.clock.now = later(noon, DAY + 499);
    expect(await statusWith(key)).toBe(200);
    installation.clock.now = later(noon, DAY + 500);
    expect(await statusWith(key)).toBe(401);
  });

  const misfits: readonly (readonly [what: object | undefined, words: string])[] = [
    [undefined, 'A JSON body is required.'],
    [{}, 'name: is required; scopes: is required'],
    [{ ...shop, name: '' }, 'name: must be a string of 1 to 255 characters'],
    [{ ...shop, scopes: [] }, 'scopes: must name at least one scope'],
    [{ ...shop, scopes: 'admin' }, 'scopes: must be a list'],
    [{ ...shop, scopes: ['pets:eat'] }, `scopes[0]: must be one of ${scopes.join(', ')}`],
    [{ ...shop, scopes: ['admin', 'admin'] }, 'scopes: must not name a scope twice'],
    [{ ...shop, expiresAt: noon }, 'expiresAt: must be in the future, and within 100 years'],
    [{ ...shop, expiresAt: later(noon, -1) }, 'expiresAt: must be in the future'],
    [{ ...shop, expiresAt: '2126-11-20T12:00:01Z' }, 'expiresAt: must be in the future'],
    [{ ...shop, expiresAt: '2027-02-30T00:00:00Z' }, 'expiresAt: must be a time such as'],
    [{ ...shop, expiresAt: '2027-01-01' }, 'expiresAt: must be a time such as'],
    [{ ...shop, expiresAt: null }, 'expiresAt: must be a time such as'],
    [{ ...shop, key: 'of my own' }, 'key: is not a known field'],
  ];
  test.each(misfits)('is rejected when created from %j', async (json, words) => {
    const answer = await call('POST /v1/keys', { json });
    expect(answer.body).toEqual(errorBody(400, 'invalid_body', expect.stringContaining(words)));
    expect(await installation.database.prisma.apiKey.count()).toBe(1);
  });

  test('may be valid for a hundred years', async () => {
    expect((await make({ expiresAt: '2126-11-20T12:00:00Z' })).status).toBe('active');
  });
});

describe('The key list', () => {
  test('shows all keys, oldest first, without tokens and digests', async () => {
    installation.clock.now = later(noon, 1);
    const { id, key } = await make();
    const { body, text } = await call('GET /v1/keys');
    expect(keyList.safeParse(body).error).toBeUndefined();
    expect((body as Shown[]).map((one) => one.id)).toEqual([admin.id, id]);
    const one = await call(`GET /v1/keys/${id}`);
    expect(keySchema.safeParse(one.body).error).toBeUndefined();
    expect(one.body).toEqual((body as Shown[])[1]);
    const secrets = [key, admin.token].flatMap((token) => [
      token.slice(22),
      digestNameOf(token),
      Buffer.from(digestOf(token)).toString('base64'),
      Buffer.from(digestOf(token)).toString('hex'),
    ]);
    for (const secret of secrets) expect(text + one.text).not.toContain(secret);
  });

  test('shows how keys ended', async () => {
    const ending = await make({ expiresAt: later(noon, DAY) });
    const revoked = await make({ expiresAt: later(noon, DAY) });
    await call(`DELETE /v1/keys/${revoked.id}`);
    installation.clock.now = later(noon, DAY);
    expect(await shown(`GET /v1/keys/${ending.id}`)).toMatchObject({ status: 'expired' });
    expect(await shown(`GET /v1/keys/${revoked.id}`)).toMatchObject({
      status: 'revoked',
      revokedAt: noon.toISOString(),
    });
  });

  test.each(['nobody', 'x7Gk2mPq9LwZ', '%F0%9F%90%95', '..%2F..'])(
    'answers 404 to %s',
    async (id) => {
      for (const line of [`GET /v1/keys/${id}`, `DELETE /v1/keys/${id}`]) {
        expect((await call(line)).body).toEqual(errorBody(404, 'key_not_found'));
      }
      const answer = await call(`POST /v1/keys/${id}/rotate`, { json: {} });
      expect(answer.body).toEqual(errorBody(404, 'key_not_found'));
    },
  );
});

describe('A rotated key', () => {
  test('works beside its successor for a day', async () => {
    const old = await make({ expiresAt: later(noon, 90 * DAY) });
    const line = `POST /v1/keys/${old.id}/rotate`;
    const { status, headers, body } = await call(line, { json: {} });
    const next = body as Shown;
    expect([status, headers['location']]).toEqual([201, `/v1/keys/${next.id}`]);
    expect(next).toMatchObject({ ...shop, expiresAt: later(noon, 90 * DAY).toISOString() });
    expect(mintedKey.safeParse(body).error).toBeUndefined();
    expect(await shown(`GET /v1/keys/${old.id}`)).toMatchObject({
      status: 'active',
      successorId: next.id,
      expiresAt: later(noon, DAY).toISOString(),
    });
    installation.clock.now = later(noon, DAY - 1);
    expect([await statusWith(old.key), await statusWith(next.key)]).toEqual([200, 200]);
    installation.clock.now = later(noon, DAY);
    expect([await statusWith(old.key), await statusWith(next.key)]).toEqual([401, 200]);
  });

  test('without a grace period ends with the response', async () => {
    const old = await make();
    expect(await statusWith(old.key)).toBe(200);
    await call(`POST /v1/keys/${old.id}/rotate`, { json: { graceSeconds: 0 } });
    expect(await statusWith(old.key)).toBe(401);
  });

  test.each([-1, 2_592_001, 1.5, '60'])('rejects a grace period of %j', async (graceSeconds) => {
    const answer = await call(`POST /v1/keys/${admin.id}/rotate`, { json: { graceSeconds } });
    const words = 'graceSeconds: must be a whole number from 0 to 2592000';
    expect(answer.body).toEqual(errorBody(400, 'invalid_body', words));
  });

  test('gets a day of grace when the request has no body', async () => {
    const old = await make();
    expect((await call(`POST /v1/keys/${old.id}/rotate`)).status).toBe(201);
    const after = (await call(`GET /v1/keys/${old.id}`)).body as Shown;
    expect(after.expiresAt).toBe(later(noon, DAY).toISOString());
  });

  test('cannot be rotated again, nor can its successor while both work', async () => {
    const old = await make();
    const rotate = (id: string, graceSeconds = 60) =>
      call(`POST /v1/keys/${id}/rotate`, { json: { graceSeconds } });
    const { id } = (await rotate(old.id)).body as Shown;
    expect((await rotate(old.id)).body).toEqual(errorBody(409, 'key_rotated'));
    const words = `Its predecessor ${old.id} works until 2026-11-20T12:01:00.000Z. Revoke the predecessor, or rotate with graceSeconds 0.`;
    expect((await rotate(id)).body).toEqual(errorBody(409, 'rotation_under_way', words));
    installation.clock.now = later(noon, 60_000);
    expect((await rotate(old.id)).body).toEqual(errorBody(409, 'key_ended'));
    expect((await rotate(id)).status).toBe(201);
  });
});

describe('A revoked key', () => {
  test('is rejected from then on and can be revoked again', async () => {
    const { id, key } = await make();
    expect(await statusWith(key)).toBe(200);
    for (const _time of [1, 2]) {
      expect(await call(`DELETE /v1/keys/${id}`)).toMatchObject({ status: 204, text: '' });
      expect(await statusWith(key)).toBe(401);
    }
  });

  test('cannot be the last one that manages keys', async () => {
    const line = `DELETE /v1/keys/${admin.id}`;
    expect((await call(line)).body).toEqual(errorBody(409, 'last_admin_key'));
    const rotate = `POST /v1/keys/${admin.id}/rotate`;
    expect((await call(rotate, { json: { graceSeconds: 0 } })).body).toEqual(
      errorBody(409, 'last_admin_key'),
    );
    await make({ scopes: ['admin'] }); // ends with it
    expect((await call(line)).body).toEqual(errorBody(409, 'last_admin_key'));
    expect((await call(rotate, { json: { graceSeconds: 60 } })).status).toBe(201);
    expect((await call(line)).status).toBe(204);
    expect((await call(line)).status).toBe(401);
  });
});

describe('An Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'once' };
  const made = (line: string, json: object) => call(line, { json, headers });

  test('creates or rotates a key once; its token is neither stored nor shown again', async () => {
    for (const [line, json] of [
      ['POST /v1/keys', { ...shop, scopes: ['admin'] }],
      [`POST /v1/keys/${admin.id}/rotate`, {}],
    ] as const) {
      const first = await made(line, json);
      const { key, id } = first.body as Shown;
      const again = await made(line, json);
      expect(again.status).toBe(201);
      expect(again.headers['location']).toBe(`/v1/keys/${id}`);
      expect(again.body).toEqual({ ...(first.body as object), key: null });
      expect(mintedKey.safeParse(again.body).error).toBeUndefined();
      const [kept] = await installation.database.prisma.$queryRaw<{ all: string }[]>`
        SELECT json_agg(idempotent_answer)::text AS all FROM idempotent_answer`;
      expect(kept?.all).toContain(id);
      expect(kept?.all).not.toContain(key.slice(22));
    }
    expect(await installation.database.prisma.apiKey.count()).toBe(3);
  });

  test('ends the old key at once, too', async () => {
    const old = await make();
    expect(await statusWith(old.key)).toBe(200);
    await made(`POST /v1/keys/${old.id}/rotate`, { graceSeconds: 0 });
    expect(await statusWith(old.key)).toBe(401);
  });
});
