import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestOf, mintKey } from '../../src/config/api-key.ts';
import { loadConfig } from '../../src/config/config.ts';
import { wholeInstallation } from '../../src/core/access.ts';
import { type Scope, scopes, withImplied } from '../../src/core/operations/scopes.ts';
import type { Api } from '../../src/http/pipeline/api.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { params } from '../../src/http/pipeline/validate.ts';
import { routesOf } from '../../src/http/routes/every-route.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';
import { callApi, errorBody } from './support.ts';

let fresh: FreshStorage;
let signpost: Signpost;
let api: Api;
let routes: readonly Route[];
const keys = new Map<Scope, string>();

beforeAll(async () => {
  fresh = await freshStorage();
  const { storage } = fresh;
  const result = loadConfig({
    ...(storage.kind === 'embedded'
      ? { DATA_DIR: storage.dataDir, EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' }
      : { DATABASE_URL: storage.databaseUrl, ACME_DIRECTORY_URL: 'local', ROLE: 'api' }),
    PORT: '0',
    KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  if (signpost.api === null) throw new Error('this process has no API');
  api = signpost.api;
  const notAsked = () => Promise.reject(new Error('these routes are not asked'));
  const { service } = signpost;
  routes = routesOf(service, {
    dropTraffic: () => {},
    forget: () => {},
    readiness: notAsked,
    openStream: notAsked,
  });
  for (const scope of scopes) {
    const { id, token } = mintKey();
    const digest = digestOf(token);
    await service.apiKeys.create(wholeInstallation, {
      id,
      name: scope,
      digest,
      scopes: [scope],
      createdAt: new Date(),
    });
    keys.set(scope, token);
  }
});
afterAll(async () => {
  await signpost.close(5_000);
  await fresh.close();
});

/** Calls the route with example parameters and an empty body. */
function call(route: Route, key: string | undefined) {
  const path = route.path.replace(/:(\w+)/g, (_, name: keyof typeof params) =>
    encodeURIComponent(String(params[name].example)),
  );
  return callApi(api, `${route.method} ${path}`, key === undefined ? {} : { key });
}

describe('Every route', () => {
  test('is part of this test, and most need a key', () => {
    expect(routes.length).toBeGreaterThan(15);
    expect(routes.filter(({ scope }) => scope === null).length).toBeLessThan(routes.length / 2);
  });

  test('with a scope answers 401 without a key and 403, naming the scope, with any other', async () => {
    for (const route of routes.filter(({ scope }) => scope !== null && scope !== 'any')) {
      const about = `${route.operationId} needs ${route.scope}`;
      expect((await call(route, undefined)).body, about).toEqual(errorBody(401, 'unauthorized'));
      const others = scopes.filter(
        (scope) => scope !== 'admin' && !withImplied([scope]).some((one) => one === route.scope),
      );
      for (const scope of others) {
        const { body, headers } = await call(route, keys.get(scope));
        expect(body, `${about}, not ${scope}`).toEqual(errorBody(403, 'insufficient_scope'));
        expect(headers['www-authenticate'], about).toContain(`scope="${route.scope}"`);
      }
    }
  });

  test('with a scope accepts a key with it and an admin key', async () => {
    for (const route of routes.filter(({ scope }) => scope !== null)) {
      const enough = route.scope === 'any' ? scopes : ([route.scope ?? 'admin', 'admin'] as const);
      for (const scope of enough) {
        const { status } = await call(route, keys.get(scope));
        expect([401, 403], `${route.operationId} with ${scope}: ${status}`).not.toContain(status);
      }
    }
  });

  test('that needs any key answers 401 without one', async () => {
    const forAny = routes.filter(({ scope }) => scope === 'any');
    expect(forAny.map(({ operationId }) => operationId)).toEqual(['getLocalCa', 'getOwnKey']);
    for (const route of forAny) {
      expect((await call(route, undefined)).body).toEqual(errorBody(401, 'unauthorized'));
    }
  });

  test('that needs no key answers without one', async () => {
    for (const route of routes.filter(({ scope }) => scope === null)) {
      expect([200, 400], route.operationId).toContain((await call(route, undefined)).status);
    }
  });

  test('with a read scope is a GET and never writes', () => {
    for (const { method, scope, operationId } of routes) {
      if (scope?.endsWith(':read')) expect(method, operationId).toBe('GET');
      // It only reads, but the secret lets its holder sign requests like the edge.
      if (operationId === 'getSigningSecret') continue;
      if (scope?.endsWith(':write')) expect(method, operationId).not.toBe('GET');
    }
  });
});
