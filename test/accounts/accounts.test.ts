import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/records.ts';
import { errorBody } from '../http/support.ts';
import { API_KEY, startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

let world: TwoAccounts;
beforeAll(async () => {
  world = await startTwoAccounts();
}, 60_000);
afterAll(() => world?.close());

const json = (body: object, key = API_KEY, headers = {}) => ({ key, json: body, headers });
const acting = (accountId: string) => ({
  key: API_KEY,
  headers: { 'signpost-account': accountId },
});

async function made<T extends object>(line: string, body: object, key = API_KEY): Promise<T> {
  const answer = await world.call(line, json(body, key));
  expect([line, answer.status]).toEqual([line, 201]);
  return answer.body as T;
}
const anAccount = () => made<{ id: string }>('POST /v1/accounts', { name: 'Another' });
type Key = { readonly id: string; readonly key: string; readonly scopes: readonly string[] };
const aKey = (more: object) =>
  made<Key>('POST /v1/keys', { name: 'k', scopes: ['domains:write'], ...more });

describe('An account', () => {
  it('is listed with the default one, and shown to its own keys only', async () => {
    const { call, one, other } = world;
    const { body } = await call('GET /v1/accounts', { key: API_KEY });
    expect(body).toMatchObject([
      { id: DEFAULT_ACCOUNT_ID, name: 'Default', isDefault: true, closedAt: null },
      { id: one.accountId, isDefault: false },
      { id: other.accountId },
    ]);
    const own = await call('GET /v1/accounts', { key: one.key });
    expect(own.body).toMatchObject([{ id: one.accountId }]);
    expect((await call(`GET /v1/accounts/${one.accountId}`, { key: one.key })).status).toBe(200);
  });

  it('is renamed', async () => {
    const { id } = await anAccount();
    const path = `/v1/accounts/${id}`;
    const renamed = await world.call(`PATCH ${path}`, json({ name: 'Example Inc.' }));
    expect(renamed.body).toMatchObject({ id, name: 'Example Inc.' });
    expect((await world.call(`PATCH ${path}`, json({}))).body).toEqual(renamed.body);
    expect((await world.call(`GET ${path}`, { key: API_KEY })).body).toEqual(renamed.body);
  });

  const unknown = [randomUUID(), 'no-uuid', '00000000-0000-0000-0000-000000000000'];
  it.each(unknown)('is not found with the ID %s', async (id) => {
    const notFound = errorBody(404, 'account_not_found');
    const lines = [`GET /v1/accounts/${id}`, `DELETE /v1/accounts/${id}`];
    for (const line of lines) {
      expect((await world.call(line, { key: API_KEY })).body).toEqual(notFound);
    }
    const renamed = await world.call(`PATCH /v1/accounts/${id}`, json({ name: 'x' }));
    expect(renamed.body).toEqual(notFound);
    expect((await world.call('GET /v1/projects', acting(id))).body).toEqual(notFound);
  });

  it('has its own slugs', async () => {
    const { call, one } = world;
    const { id: accountId } = await anAccount();
    const project = { name: 'Docs', slug: 'docs', plan: 'pro' };
    await made('POST /v1/projects', { ...project, accountId });
    await made('POST /v1/projects', { ...project, slug: 'of-the-default' });
    const again = await call('POST /v1/projects', json({ ...project, accountId: one.accountId }));
    expect(again.body).toEqual(errorBody(409, 'slug_taken'));
  });
});

describe('A closed account', () => {
  it('has no working key, no new project and no new key', async () => {
    const { call } = world;
    const { id } = await anAccount();
    const { key } = await aKey({ accountId: id });
    expect((await call('GET /v1/projects', { key })).status).toBe(403);
    for (const _ of ['once', 'again']) {
      expect((await call(`DELETE /v1/accounts/${id}`, { key: API_KEY })).status).toBe(204);
    }
    expect((await call('GET /v1/projects', { key })).body).toEqual(errorBody(401, 'unauthorized'));
    const closed = errorBody(409, 'account_closed');
    const wanted = { name: 'Docs', slug: 'docs', plan: 'pro', accountId: id };
    expect((await call('POST /v1/projects', json(wanted))).body).toEqual(closed);
    const k = { name: 'k', scopes: ['domains:read'], accountId: id };
    expect((await call('POST /v1/keys', json(k))).body).toEqual(closed);
    expect((await call('GET /v1/projects', acting(id))).body).toEqual(closed);
    const { body } = await call(`GET /v1/accounts/${id}`, { key: API_KEY });
    expect(body).toMatchObject({ id, closedAt: expect.any(String) });
  });

  it('keeps its projects unless they are to be deleted, too', async () => {
    const { call, service } = world;
    const { id: accountId } = await anAccount();
    const projects: string[] = [];
    for (const slug of ['a', 'b']) {
      const about = { name: slug, slug, plan: 'pro', accountId };
      const { id } = await made<{ id: string }>('POST /v1/projects', about);
      const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9/' };
      await made(`POST /v1/projects/${id}/deploys`, deploy);
      await made(`POST /v1/projects/${id}/domains`, { hostname: `${slug}.closing.example` });
      projects.push(id);
    }
    const where = { projectId: { in: projects } };
    await service.database.prisma.domain.updateMany({ where, data: { status: 'live' } });
    const refused = await call(`DELETE /v1/accounts/${accountId}`, { key: API_KEY });
    const message = expect.stringContaining('has 2 projects');
    expect(refused.body).toEqual(errorBody(409, 'account_has_projects', message));
    const closed = await call(`DELETE /v1/accounts/${accountId}?projects=delete`, { key: API_KEY });
    expect(closed.status).toBe(204);
    for (const id of projects) {
      const { body } = await call(`GET /v1/projects/${id}`, { key: API_KEY });
      expect(body).toEqual(errorBody(404, 'project_not_found'));
    }
    const removed = { ...where, removedAt: { not: null } };
    expect(await service.database.prisma.domain.count({ where: removed })).toBe(2);
  });

  it('continues after a crash, and until then gets nothing new', async () => {
    const { call, service } = world;
    const { id: accountId } = await anAccount();
    const about = { name: 'P', slug: 'p', plan: 'pro', accountId };
    const { id } = await made<{ id: string }>('POST /v1/projects', about);
    const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9/' };
    await made(`POST /v1/projects/${id}/deploys`, deploy);
    const { remove } = service.projects;
    Object.assign(service.projects, { remove: () => Promise.reject(new Error('on purpose')) });
    const line = `DELETE /v1/accounts/${accountId}?projects=delete`;
    expect((await call(line, { key: API_KEY })).status).toBe(500);
    Object.assign(service.projects, { remove });
    const closed = errorBody(409, 'account_closed');
    const late = await call(`POST /v1/projects/${id}/domains`, json({ hostname: 'late.example' }));
    expect(late.body).toEqual(closed);
    expect((await call(line, { key: API_KEY })).status).toBe(204);
    const gone = await call(`GET /v1/projects/${id}`, { key: API_KEY });
    expect(gone.body).toEqual(errorBody(404, 'project_not_found'));
  });

  it('is never the default one', async () => {
    const line = `DELETE /v1/accounts/${DEFAULT_ACCOUNT_ID}?projects=delete`;
    const { body } = await world.call(line, { key: API_KEY });
    expect(body).toEqual(errorBody(409, 'default_account'));
  });
});

describe('Signpost-Account', () => {
  it('shows the platform what a key of the account sees, and adds to the account', async () => {
    const { call, one } = world;
    for (const path of ['/v1/projects', '/v1/domains', '/v1/keys', '/v1/accounts']) {
      const own = await call(`GET ${path}`, { key: one.key });
      expect((await call(`GET ${path}`, acting(one.accountId))).text).toBe(own.text);
    }
    const { headers } = acting(one.accountId);
    const project = { name: 'New', slug: 'by-the-platform', plan: 'pro' };
    const added = await call('POST /v1/projects', json(project, API_KEY, headers));
    expect(added.body).toMatchObject({ accountId: one.accountId });
    const k = { name: 'k', scopes: ['domains:read'] };
    const key = await call('POST /v1/keys', json(k, API_KEY, headers));
    expect(key.body).toMatchObject({ accountId: one.accountId, projectIds: null });
  });

  it('is refused by operations about the whole installation', async () => {
    const unsupported = errorBody(400, 'account_unsupported');
    for (const path of ['/v1/pets', '/v1/operations/overview', '/v1/webhooks']) {
      const { body } = await world.call(`GET ${path}`, acting(world.one.accountId));
      expect(body).toEqual(unsupported);
    }
  });

  it('of another account is unknown to a key of an account', async () => {
    const { call, one, other } = world;
    const naming = (accountId: string) => ({
      key: one.key,
      headers: { 'signpost-account': accountId },
    });
    const foreign = await call('GET /v1/projects', naming(other.accountId));
    expect(foreign.body).toEqual(errorBody(404, 'account_not_found'));
    expect(foreign.body).toMatchObject({ message: expect.stringContaining('Signpost-Account') });
    const own = await call('GET /v1/projects', naming(one.accountId.toUpperCase()));
    expect(own.status).toBe(200);
  });
});
