/** Every route of the service against keys of every scope: none is open that should be closed, none closed that should be open. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestOf, mintKey } from '../../src/config/api-key.ts';
import { installation } from '../../src/core/accounts/access.ts';
import { createApiKeyStore } from '../../src/db/api-keys.ts';
import type { Api } from '../../src/http/pipeline/api.ts';
import { type Route, type Scope, scopes } from '../../src/http/pipeline/route.ts';
import { params } from '../../src/http/pipeline/validate.ts';
import { callApi, errorBody } from './support.ts';
import { startWholeApi, type WholeApi } from './whole-api.ts';

let whole: WholeApi;
let api: Api;
let routes: readonly Route[];
const keys = new Map<Scope, string>();

beforeAll(async () => {
  whole = await startWholeApi();
  ({ api, routes } = whole);
  const store = createApiKeyStore(whole.signpost.parts.database.prisma);
  for (const scope of scopes) {
    const { id, token } = mintKey();
    const digest = digestOf(token);
    await store.create(installation, {
      id,
      name: scope,
      digest,
      scopes: [scope],
      createdAt: new Date(),
    });
    keys.set(scope, token);
  }
});
afterAll(() => whole?.close());

/** A request for the route: its parameters filled with examples, its body empty. */
function call(route: Route, key: string | undefined) {
  const path = route.path.replace(/:(\w+)/g, (_, name: keyof typeof params) =>
    encodeURIComponent(String(params[name].example)),
  );
  return callApi(api, `${route.method} ${path}`, key === undefined ? {} : { key });
}

describe('every route', () => {
  test('there are some, and most need a key', () => {
    expect(routes.length).toBeGreaterThan(15);
    expect(routes.filter(({ scope }) => scope === null).length).toBeLessThan(routes.length / 2);
  });

  test('that needs a scope is 401 without a key and 403, naming it, with any other', async () => {
    for (const route of routes.filter(({ scope }) => scope !== null && scope !== 'any')) {
      const about = `${route.operationId} needs ${route.scope}`;
      expect((await call(route, undefined)).body, about).toEqual(errorBody(401, 'unauthorized'));
      for (const scope of scopes.filter((one) => one !== route.scope && one !== 'admin')) {
        const { body, headers } = await call(route, keys.get(scope));
        expect(body, `${about}, not ${scope}`).toEqual(errorBody(403, 'insufficient_scope'));
        expect(headers['www-authenticate'], about).toContain(`scope="${route.scope}"`);
      }
    }
  });

  test('lets in a key with its scope, and an admin key', async () => {
    for (const route of routes.filter(({ scope }) => scope !== null)) {
      const enough = route.scope === 'any' ? scopes : ([route.scope ?? 'admin', 'admin'] as const);
      for (const scope of enough) {
        const { status } = await call(route, keys.get(scope));
        expect([401, 403], `${route.operationId} with ${scope}: ${status}`).not.toContain(status);
      }
    }
  });

  test('that needs any key is 401 without one', async () => {
    const forAny = routes.filter(({ scope }) => scope === 'any');
    expect(forAny.map(({ operationId }) => operationId)).toEqual(['getOwnKey']);
    for (const route of forAny) {
      expect((await call(route, undefined)).body).toEqual(errorBody(401, 'unauthorized'));
    }
  });

  test('that needs none answers without a key', async () => {
    for (const route of routes.filter(({ scope }) => scope === null)) {
      expect([200, 400], route.operationId).toContain((await call(route, undefined)).status);
    }
  });

  test('reads with GET and never writes', () => {
    for (const { method, scope, operationId } of routes) {
      if (scope?.endsWith(':read')) expect(method, operationId).toBe('GET');
      // It writes nothing, but lets its reader send what only the edge may.
      if (operationId === 'getSigningSecret') continue;
      if (scope?.endsWith(':write')) expect(method, operationId).not.toBe('GET');
    }
  });
});
