import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { mintKey } from '../../../src/config/api-key.ts';
import type { Api } from '../../../src/http/pipeline/api.ts';
import { later, noon } from '../../support/builders.ts';
import { callApi, databases } from '../support.ts';
import { type Installation, openInstallation, shownBy } from './fixture.ts';

describe.each(databases)('On %s', (storage) => {
  let installation: Installation;
  let here: Api;
  let there: Api;
  let admin: { id: string; token: string };
  let shop: { id: string; token: string };
  beforeAll(async () => {
    installation = await openInstallation(noon, storage);
  });
  beforeEach(async () => {
    installation.clock.now = noon;
    await installation.database.prisma.apiKey.deleteMany();
    [here, there] = [installation.aProcess().api, installation.aProcess().api];
    [admin, shop] = [await installation.keyWith('admin'), await installation.keyWith('pets:read')];
  });
  afterAll(() => installation.close());

  const statusOf = async (api: Api, token = shop.token) =>
    (await callApi(api, 'GET /v1/pets', { key: token })).status;
  const clockAt = (ms: number) => {
    installation.clock.now = later(noon, ms);
  };

  type Ending = { readonly line: (id: string) => string; readonly json?: object };
  const endings: readonly (readonly [what: string, ending: Ending])[] = [
    ['revoked', { line: (id) => `DELETE /v1/keys/${id}` }],
    [
      'rotated without a grace period',
      { line: (id) => `POST /v1/keys/${id}/rotate`, json: { graceSeconds: 0 } },
    ],
  ];
  test.each(endings)(
    'a key that is %s is rejected at once by that process, and elsewhere within 5 seconds',
    async (_what, { line, json }) => {
      expect([await statusOf(here), await statusOf(there)]).toEqual([200, 200]);
      clockAt(1_000);
      const { status } = await callApi(here, line(shop.id), { key: admin.token, json });
      expect(status).toBeLessThan(300);
      expect(await statusOf(here)).toBe(401);
      clockAt(4_999);
      expect([await statusOf(here), await statusOf(there)]).toEqual([401, 200]);
      clockAt(5_000);
      expect([await statusOf(here), await statusOf(there)]).toEqual([401, 401]);
    },
  );

  test('a key that is revoked ends those that it made, and they made, within 5 seconds', async () => {
    const make = (key: string, scopes: readonly string[]) =>
      shownBy(here, 'POST /v1/keys', { key, json: { name: 'made', scopes } });
    const child = await make(admin.token, ['admin']);
    const grandchild = await make(child.key, ['pets:read']);
    expect(grandchild).toMatchObject({ madeBy: child.id });
    expect([await statusOf(here, grandchild.key), await statusOf(there, grandchild.key)]).toEqual([
      200, 200,
    ]);
    // The first one is the last admin key that would be left.
    const refused = await callApi(here, `DELETE /v1/keys/${admin.id}`, { key: child.key });
    expect(refused.status).toBe(409);
    const line = `DELETE /v1/keys/${child.id}`;
    expect((await callApi(here, line, { key: admin.token })).status).toBe(204);
    clockAt(5_000);
    expect([await statusOf(here, grandchild.key), await statusOf(there, grandchild.key)]).toEqual([
      401, 401,
    ]);
    expect(await statusOf(here)).toBe(200);
  });

  test('a key does not outlive its maker, and goes on with its successor', async () => {
    const at = (days: number) => later(noon, days * 86_400_000).toISOString();
    const json = { name: 'maker', scopes: ['admin'], expiresAt: at(10) };
    const maker = await shownBy(here, 'POST /v1/keys', { key: admin.token, json });
    const make = (more: object) =>
      callApi(here, 'POST /v1/keys', {
        key: maker.key,
        json: { name: 'made', scopes: ['pets:read'], ...more },
      });
    expect(await make({ expiresAt: at(11) })).toMatchObject({
      status: 409,
      body: { code: 'outlives_maker', message: expect.stringContaining(at(10)) },
    });
    const made = (await make({})).body as { readonly id: string };
    expect(made).toMatchObject({ expiresAt: at(10), madeBy: maker.id });
    clockAt(86_400_000);
    const rotate = { key: admin.token, json: { graceSeconds: 0 } };
    const successor = await shownBy(here, `POST /v1/keys/${maker.id}/rotate`, rotate);
    expect(successor).toMatchObject({
      madeBy: admin.id,
      expiresAt: at(11),
      replaces: { id: maker.id, expiresAt: at(1), keyIds: [made.id] },
    });
    expect(await shownBy(here, `GET /v1/keys/${made.id}`, { key: admin.token })).toMatchObject({
      madeBy: successor.id,
      status: 'active',
    });
  });

  test('a key that one process creates works at once in another', async () => {
    const options = { key: admin.token, json: { name: 'new', scopes: ['pets:read'] } };
    const { key } = await shownBy(here, 'POST /v1/keys', options);
    expect(await statusOf(there, key)).toBe(200);
  });

  test('a key costs one query in five seconds, a mistyped one none', async () => {
    const asked = vi.spyOn(installation.database.pool, 'connect');
    const queriesOf = async (token: string) => {
      asked.mockClear();
      const status = (await callApi(here, 'GET /v1/pets?limit=0', { key: token })).status;
      return [status, asked.mock.calls.length];
    };
    try {
      const { token } = mintKey();
      const mistyped = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
      expect(await queriesOf(mistyped)).toEqual([401, 0]);
      expect(await queriesOf(shop.token)).toEqual([400, 1]);
      expect(await queriesOf(shop.token)).toEqual([400, 0]);
      clockAt(5_000);
      expect(await queriesOf(shop.token)).toEqual([400, 1]);
      expect(await queriesOf(mistyped)).toEqual([401, 0]);
    } finally {
      asked.mockRestore();
    }
  });

  test('last use and getPet calls are shown for every process', async () => {
    const processes = [installation.aProcess(), installation.aProcess()];
    for (const [index, { api, usage }] of processes.entries()) {
      clockAt(index * 1_000);
      expect((await callApi(api, 'GET /v1/pets/1', { key: shop.token })).status).toBe(404);
      await callApi(api, 'GET /v1/pets', { key: shop.token });
      await usage.flush();
    }
    const shown = await shownBy(here, `GET /v1/keys/${shop.id}`, { key: admin.token });
    expect(shown).toMatchObject({
      lastUsedAt: '2026-11-20T12:00:01.000Z',
      deprecatedUses: [
        { operationId: 'getPet', count: 2n, lastUsedAt: '2026-11-20T12:00:01.000Z' },
      ],
    });
  });
});
