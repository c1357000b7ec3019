import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEdgeLookups } from '../../src/db/domains/edge-lookups.ts';
import { domainSettingsRoutes } from '../../src/http/routes/domain-settings.ts';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;
let path: string;

beforeAll(async () => {
  api = await startTestApi((service) => [
    ...publishingRoutes(service),
    ...domainSettingsRoutes(service),
  ]);
  key = await api.keyWith('domains:read', 'domains:write');
});
afterAll(() => api.close());

const call = (line: string, json?: unknown) =>
  callApi(api.api, line, { key, ...(json !== undefined && { json }) });

let count = 0;
let hostname: string;
beforeEach(async () => {
  count += 1;
  hostname = `b\u00fccher-${count}.example.com`;
  const project = { name: 'Docs', slug: `hsts-${count}`, plan: 'pro' };
  const { id } = (await call('POST /v1/projects', project)).body as { id: string };
  path = `/v1/projects/${id}`;
  await call(`POST ${path}/deploys`, { status: 'succeeded', upstream: 'http://127.0.0.1:9' });
  await call(`POST ${path}/domains`, { hostname });
});

const here = () => `${path}/domains/${encodeURIComponent(hostname)}`;
const put = (json: unknown) => call(`PUT ${here()}/hsts`, json);
const end = () => call(`DELETE ${here()}/hsts`);
const shown = async () => ((await call(`GET ${here()}`)).body as { hsts: unknown }).hsts;
const month = { maxAge: 2_592_000n, includeSubdomains: false, preload: false };
const year = { maxAge: 31_536_000n, includeSubdomains: true, preload: true };

describe('HSTS of a domain', () => {
  it('is off at first', async () => {
    expect(await shown()).toBeNull();
  });

  it('is stored as given and shown with the domain', async () => {
    expect(await put({ maxAge: 2_592_000 })).toMatchObject({ status: 200, body: month });
    expect(await shown()).toEqual(month);
    expect(await put(year)).toMatchObject({ status: 200, body: year });
    expect(await put(year)).toMatchObject({ status: 200, body: year });
    expect(await shown()).toEqual(year);
    const { body } = await call(`GET ${path}/domains`);
    expect(body).toMatchObject([{ hsts: year }]);
    expect(((await call(`POST ${here()}/verify`)).body as { hsts: unknown }).hsts).toEqual(year);
  });

  it('accepts a max-age of zero, which makes browsers forget it', async () => {
    expect(await put({ maxAge: 0 })).toMatchObject({ status: 200, body: { maxAge: 0n } });
    expect(await put({ maxAge: 0, includeSubdomains: true })).toMatchObject({ status: 200 });
  });

  it('can be deleted, also when it is off', async () => {
    await put(year);
    for (const _ of [1, 2]) expect((await end()).status).toBe(204);
    expect(await shown()).toBeNull();
    const nobody = `DELETE ${path}/domains/nobody.example.com/hsts`;
    expect((await call(nobody)).status).toBe(204);
    expect((await call(`DELETE ${path}/domains/not%20a%20name/hsts`)).status).toBe(204);
  });

  const bounds = 'maxAge: must be a whole number from 0 to 63072000';
  const preloading =
    'preload: requires includeSubdomains and a maxAge of at least 31536000 (a year)';
  it.each<[object, string]>([
    [{}, 'maxAge: is required'],
    [{ maxAge: -1 }, bounds],
    [{ maxAge: 63_072_001 }, bounds],
    [{ maxAge: 1.5 }, bounds],
    [{ maxAge: '300' }, bounds],
    [{ maxAge: 31_536_000, preload: true }, preloading],
    [{ maxAge: 31_535_999, includeSubdomains: true, preload: true }, preloading],
    [{ maxAge: 0, includeSubdomains: true, preload: true }, preloading],
    [{ maxAge: 300, includeSubdomains: 'yes' }, 'includeSubdomains: must be true or false'],
    [{ maxAge: 300, includeSubDomains: true }, 'includeSubDomains: is not a known field'],
  ])('rejects %j and keeps its previous value', async (json, words) => {
    await put(year);
    const body = errorBody(400, 'invalid_body', expect.stringContaining(words));
    expect(await put(json)).toMatchObject({ status: 400, body });
    expect(await shown()).toEqual(year);
  });

  it('is deleted with the domain and stays off when the domain is added again', async () => {
    await put(year);
    await call(`DELETE ${here()}`);
    expect(await put(year)).toMatchObject({ body: errorBody(404, 'domain_not_found') });
    await call(`POST ${path}/domains`, { hostname });
    expect(await shown()).toBeNull();
  });

  it('never outlives a removal, even a concurrent one', async () => {
    for (let times = 0; times < 5; times += 1) {
      await Promise.all([put(year), call(`DELETE ${here()}`), put({ maxAge: 300 })]);
      const left = { domain: { project: { slug: `hsts-${count}` } } };
      expect(await api.prisma.hsts.count({ where: left })).toBe(0);
      await call(`POST ${path}/domains`, { hostname });
    }
  });

  it('answers 404 for an unknown domain or project', async () => {
    const json = { maxAge: 300 };
    for (const name of ['nobody.example.com', 'not%20a%20name', '*.example.com']) {
      const answer = await call(`PUT ${path}/domains/${name}/hsts`, json);
      expect(answer.body).toEqual(errorBody(404, 'domain_not_found'));
    }
    const nowhere = '/v1/projects/00000000-0000-4000-8000-00000000ffff/domains/a.example.com/hsts';
    for (const line of [`PUT ${nowhere}`, `DELETE ${nowhere}`]) {
      const answer = await call(line, line.startsWith('PUT') ? json : undefined);
      expect(answer.body).toEqual(errorBody(404, 'project_not_found'));
    }
  });

  it('requires domains:write for a change', async () => {
    const reader = await api.keyWith('domains:read');
    const asReader = (method: string) =>
      callApi(api.api, `${method} ${here()}/hsts`, { key: reader, json: { maxAge: 300 } });
    expect([(await asReader('PUT')).status, (await asReader('DELETE')).status]).toEqual([403, 403]);
  });

  it('reaches the edge for a verified name', async () => {
    const { findRoute } = createEdgeLookups(api);
    const [held] = await api.prisma.domain.updateManyAndReturn({
      where: { project: { slug: `hsts-${count}` } },
      data: { status: 'live' },
    });
    const name = held?.hostname ?? '';
    expect(await findRoute(name)).toMatchObject({ hsts: null });
    await put({ maxAge: 300 });
    expect(await findRoute(name)).toMatchObject({ hsts: 'max-age=300' });
    await put({ maxAge: 300, includeSubdomains: true });
    expect(await findRoute(name)).toMatchObject({ hsts: 'max-age=300; includeSubDomains' });
    await put(year);
    expect(await findRoute(name)).toMatchObject({
      hsts: 'max-age=31536000; includeSubDomains; preload',
    });
    await end();
    expect(await findRoute(name)).toMatchObject({ hsts: null });
  });
});
