import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;
let path: string;

beforeAll(async () => {
  api = await startTestApi((service) => publishingRoutes(service));
  key = await api.keyWith('domains:read', 'domains:write');
  const project = { name: 'Docs', slug: 'docs', plan: 'pro', metadata: { customer: '42' } };
  const { id } = (await call('POST /v1/projects', project)).body as { id: string };
  path = `/v1/projects/${id}`;
  await call(`POST ${path}/deploys`, { status: 'succeeded', upstream: 'http://127.0.0.1:9' });
});
afterAll(() => api.close());

const call = (line: string, json?: unknown) =>
  callApi(api.api, line, { key, ...(json !== undefined && { json }) });
const keys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key ${at}`, 'value']));

/** At least 8,100. */
function ofBytes(total: number) {
  const full = Array.from({ length: 16 }, (_, at) => [`key ${at + 10}`, 'ä'.repeat(250)] as const);
  return { ...Object.fromEntries(full), rest: 'x'.repeat(total - 16 * 506 - 4) };
}

const inMessage = 'must have keys and values of at most 8,192 bytes together, in UTF-8';
const tooLarge = {
  status: 400,
  body: errorBody(400, 'invalid_body', `metadata: ${inMessage}`),
};

describe('Metadata', () => {
  it('is stored with a project and changed key by key', async () => {
    expect((await call(`GET ${path}`)).body).toMatchObject({ metadata: { customer: '42' } });
    const change = { metadata: { region: 'eu', customer: null } };
    expect((await call(`PATCH ${path}`, change)).body).toMatchObject({ name: 'Docs' });
    const { body } = await call(`PATCH ${path}`, { name: 'Handbook' });
    expect((body as { metadata: object }).metadata).toEqual({ region: 'eu' });
  });

  it('is stored with a domain, and its events have what it was', async () => {
    const hostname = 'docs.example.com';
    const added = await call(`POST ${path}/domains`, { hostname, metadata: { site: 'a' } });
    expect(added).toMatchObject({ status: 201, body: { metadata: { site: 'a' } } });
    const changed = await call(`PATCH ${path}/domains/${hostname}`, { metadata: { site: 'b' } });
    expect(changed).toMatchObject({ status: 200, body: { metadata: { site: 'b' } } });
    await call(`DELETE ${path}/domains/${hostname}`);
    const timeline = (await call(`GET ${path}/domains/${hostname}/timeline`)).body;
    const { id: domainId } = added.body as { id: string };
    expect(timeline).toMatchObject([
      {
        type: 'domain.removed',
        domainId,
        metadata: { site: 'b' },
        projectMetadata: { region: 'eu' },
      },
      {
        type: 'domain.added',
        domainId,
        metadata: { site: 'a' },
        projectMetadata: { region: 'eu' },
      },
    ]);
  });

  it('does not make a running check stale', async () => {
    const hostname = 'checked.example.com';
    await call(`POST ${path}/domains`, { hostname });
    const version = async () =>
      (await api.prisma.domain.findFirst({ where: { hostname } }))?.version;
    const before = await version();
    await call(`PATCH ${path}/domains/${hostname}`, { metadata: { site: 'b' } });
    expect(await version()).toBe(before);
  });

  it('has at most 50 keys, also after a change', async () => {
    const body = errorBody(400, 'invalid_body');
    expect(await call(`PATCH ${path}`, { metadata: keys(51) })).toMatchObject({
      status: 400,
      body,
    });
    expect(await call(`PATCH ${path}`, { metadata: keys(49) })).toMatchObject({ status: 200 });
    const two = { metadata: { one: '1', two: '2' } };
    expect(await call(`PATCH ${path}`, two)).toMatchObject({ status: 400, body });
    const domains = `${path}/domains`;
    await call(`POST ${domains}`, { hostname: 'full.example.com', metadata: keys(50) });
    expect(await call(`PATCH ${domains}/full.example.com`, two)).toMatchObject({
      status: 400,
      body,
    });
    const one = { metadata: { 'key 0': null, one: '1' } };
    expect(await call(`PATCH ${domains}/full.example.com`, one)).toMatchObject({ status: 200 });
  });

  it('has at most 8,192 bytes of keys and values, also after a change', async () => {
    const domain = `${path}/domains/large.example.com`;
    const add = (metadata: object) =>
      call(`POST ${path}/domains`, { hostname: 'large.example.com', metadata });
    expect(await add(ofBytes(8_193))).toMatchObject(tooLarge);
    const project = { name: 'N', slug: 'large', metadata: ofBytes(8_193) };
    expect(await call('POST /v1/projects', project)).toMatchObject(tooLarge);
    expect(await add(ofBytes(8_192))).toMatchObject({ status: 201 });
    expect(await call(`PATCH ${domain}`, { metadata: { a: 'b' } })).toMatchObject(tooLarge);
    const replaced = { metadata: { rest: null, a: 'b' } };
    expect(await call(`PATCH ${domain}`, replaced)).toMatchObject({ status: 200 });
  });

  it('of more bytes from before can be read, and changed without adding to them', async () => {
    const metadata = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [`key ${at}`, 'x'.repeat(500)]),
    );
    const hostname = 'before.example.com';
    await call(`POST ${path}/domains`, { hostname });
    await api.prisma.domain.updateMany({ where: { hostname }, data: { metadata } });
    await api.prisma.project.updateMany({ where: { slug: 'docs' }, data: { metadata } });
    for (const at of [path, `${path}/domains/${hostname}`]) {
      expect((await call(`GET ${at}`)).body).toMatchObject({ metadata });
      const change = (metadata: object) => call(`PATCH ${at}`, { metadata });
      expect(await change({ 'key 0': 'y'.repeat(500) })).toMatchObject({ status: 200 });
      expect(await change({ 'key 0': 'short' })).toMatchObject({ status: 200 });
      expect(await change({ 'key 0': 'longer' })).toMatchObject(tooLarge);
    }
    expect(await call(`PATCH ${path}`, { name: 'Other' })).toMatchObject({ status: 200 });
  });

  const refused: readonly (readonly [string, unknown])[] = [
    ['a number', { a: 7 }],
    ['null in a new project', { a: null }],
    ['an empty text', { a: '' }],
    ['501 characters', { a: 'x'.repeat(501) }],
    ['a key of 41 characters', { ['k'.repeat(41)]: 'x' }],
    ['an empty key', { '': 'x' }],
    ['a key with brackets', { 'a[b]': 'x' }],
    ['NUL', { a: '\u0000' }],
    ['a key with a line break', { 'a\nb': 'x' }],
    ['a key that JavaScript gives a meaning', JSON.parse('{"__proto__":"x"}')],
    ['a list', ['x']],
    ['text', 'x'],
  ];
  it.each(refused)('refuses %s', async (_what, metadata) => {
    const answer = await call('POST /v1/projects', { name: 'N', slug: 'n', metadata });
    expect(answer).toMatchObject({ status: 400, body: errorBody(400, 'invalid_body') });
  });

  it('accepts 40 and 500 characters, also outside the BMP', async () => {
    const metadata = { ['🦊'.repeat(40)]: '🦊'.repeat(500), constructor: 'y' };
    const answer = await call('POST /v1/projects', { name: 'N', slug: 'n', metadata });
    expect(answer).toMatchObject({ status: 201 });
    expect(Object.entries((answer.body as { metadata: object }).metadata).sort()).toEqual(
      Object.entries(metadata).sort(),
    );
  });
});

describe('The ID of a domain', () => {
  it('changes when the host name is removed and added again', async () => {
    const add = async () =>
      (await call(`POST ${path}/domains`, { hostname: 'again.example.com' })).body as {
        id: string;
      };
    const first = await add();
    expect((await call(`GET /v1/domains/${first.id}`)).body).toEqual(first);
    await call(`DELETE ${path}/domains/again.example.com`);
    const gone = { status: 404, body: errorBody(404, 'domain_not_found') };
    expect(await call(`GET /v1/domains/${first.id}`)).toMatchObject(gone);
    const second = await add();
    expect(second.id).not.toBe(first.id);
    expect((await call(`GET /v1/domains/${second.id}`)).body).toEqual(second);
    expect(await call('GET /v1/domains/docs')).toMatchObject(gone);
  });
});
