import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorBody } from '../http/support.ts';
import { API_KEY, startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

let world: TwoAccounts;
beforeAll(async () => {
  world = await startTwoAccounts();
}, 60_000);
afterAll(() => world?.close());

const json = (body: object, key = API_KEY, headers = {}) => ({ key, json: body, headers });

async function made<T extends object>(line: string, body: object, key = API_KEY): Promise<T> {
  const answer = await world.call(line, json(body, key));
  expect([line, answer.status]).toEqual([line, 201]);
  return answer.body as T;
}
type Key = { readonly id: string; readonly key: string; readonly scopes: readonly string[] };
const aKey = (more: object) =>
  made<Key>('POST /v1/keys', { name: 'k', scopes: ['domains:write'], ...more });

describe('A key of an account', () => {
  const wrong: readonly (readonly [string, object, string])[] = [
    ['pets', { scopes: ['pets:read'] }, 'scopes[0]: pets:read is about the whole installation'],
    ['operators', { scopes: ['domains:read', 'ops:read'] }, 'scopes[1]: ops:read is about'],
    ['admin', { scopes: ['admin'] }, 'scopes[0]: admin is about the whole installation'],
    ['no project', { projectIds: [] }, 'projectIds: must name at least one project'],
    ['an unknown project', { projectIds: [randomUUID()] }, 'projectIds[0]: is not a project of'],
    [
      'keys of one project',
      { scopes: ['keys:read'], projectIds: [randomUUID()] },
      'scopes[0]: is about all keys of the account',
    ],
  ];
  it.each(wrong)('cannot have %s', async (_what, more, words) => {
    const body = { name: 'k', scopes: ['domains:read'], accountId: world.one.accountId, ...more };
    const answer = await world.call('POST /v1/keys', json(body));
    expect(answer.body).toEqual(errorBody(400, 'invalid_body', expect.stringContaining(words)));
  });

  it("cannot have another account's project, nor can one of the installation", async () => {
    const { call, one, other } = world;
    const body = { name: 'k', scopes: ['domains:read'], projectIds: [other.projectId] };
    const foreign = await call('POST /v1/keys', json({ ...body, accountId: one.accountId }));
    const words = expect.stringContaining('projectIds[0]: is not a project of this account');
    expect(foreign.body).toEqual(errorBody(400, 'invalid_body', words));
    const ofNone = await call('POST /v1/keys', json(body));
    const requires = expect.stringContaining('projectIds: requires accountId');
    expect(ofNone.body).toEqual(errorBody(400, 'invalid_body', requires));
    const managing = await call('POST /v1/keys', json({ name: 'k', scopes: ['keys:read'] }));
    const needsAdmin = expect.stringContaining('a key of the installation needs admin');
    expect(managing.body).toEqual(errorBody(400, 'invalid_body', needsAdmin));
  });

  it('shows itself, with its account and projects', async () => {
    const { call, one } = world;
    const owner = { accountId: one.accountId, projectIds: [one.projectId] };
    const { id, key } = await aKey({ ...owner, scopes: ['domains:read'] });
    const self = await call('GET /v1/keys/self', { key });
    expect(self.body).toMatchObject({ id, ...owner, scopes: ['domains:read'] });
  });

  it('restricted to a project sees only this one, and creates none', async () => {
    const { call, one } = world;
    const scopes = ['domains:read', 'domains:write', 'projects:write'];
    const owner = { accountId: one.accountId, projectIds: [one.projectId] };
    const { key } = await aKey({ ...owner, scopes });
    const { body } = await call('GET /v1/projects', { key });
    expect(body).toMatchObject([{ id: one.projectId }]);
    const project = { name: 'New', slug: 'new', plan: 'pro' };
    const refused = await call('POST /v1/projects', json(project, key));
    expect(refused.body).toEqual(errorBody(403, 'key_restricted'));
    const usage = await call(`GET /v1/accounts/${one.accountId}/usage`, { key });
    expect(usage.body).toEqual(errorBody(403, 'key_restricted'));
  });

  it('changes domains with domains:write, but projects only with projects:write', async () => {
    const { call, one } = world;
    const owner = { accountId: one.accountId };
    const { key } = await aKey({ ...owner, scopes: ['domains:read', 'domains:write'] });
    const path = `/v1/projects/${one.projectId}`;
    const added = await call(`POST ${path}/domains`, json({ hostname: 'scopes.example' }, key));
    expect(added.status).toBe(201);
    const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9/' };
    const refused: readonly (readonly [string, object?])[] = [
      ['POST /v1/projects', { name: 'New', slug: 'new', plan: 'pro' }],
      [`PATCH ${path}`, { metadata: { customer: 'another' } }],
      [`DELETE ${path}?domains=remove`],
      [`POST ${path}/deploys`, deploy],
      [`GET ${path}/signing-secret`],
      [`POST ${path}/signing-secret/rotate`],
    ];
    for (const [line, body] of refused) {
      const answer = await call(line, { key, ...(body && { json: body }) });
      expect([line, answer.status]).toEqual([line, 403]);
      expect(answer.headers['www-authenticate']).toContain('scope="projects:write"');
    }
    const { key: both } = await aKey({ ...owner, scopes: ['projects:write'] });
    expect((await call(`POST ${path}/deploys`, json(deploy, both))).status).toBe(201);
  });

  it('needs no projects:write if it is of the installation and older than this scope', async () => {
    const { call, one } = world;
    const { key } = await aKey({ scopes: ['domains:write'] });
    const path = `/v1/projects/${one.projectId}`;
    expect((await call(`PATCH ${path}`, json({ name: 'project-primero' }, key))).status).toBe(200);
    const headers = { 'signpost-account': one.accountId };
    const acting = await call(`PATCH ${path}`, json({ name: 'project-primero' }, key, headers));
    expect(acting.status).toBe(200);
  });

  it('gives other keys only its own scopes, and manages no stronger key', async () => {
    const { call, one } = world;
    const owner = { accountId: one.accountId };
    const { key: manager } = await aKey({ ...owner, scopes: ['keys:write', 'domains:read'] });
    const weak = { name: 'weak', scopes: ['domains:read'] };
    const { id } = await made<Key>('POST /v1/keys', weak, manager);
    const strong = await call(
      'POST /v1/keys',
      json({ ...weak, scopes: ['domains:write'] }, manager),
    );
    const words = 'A key can give only its own scopes, and yours lacks domains:write.';
    expect(strong.body).toEqual(errorBody(403, 'insufficient_scope', words));
    for (const line of [`DELETE /v1/keys/${one.keyId}`, `POST /v1/keys/${one.keyId}/rotate`]) {
      const { body } = await call(line, { key: manager });
      expect(body).toEqual(errorBody(403, 'insufficient_scope'));
    }
    expect((await call(`DELETE /v1/keys/${id}`, { key: manager })).status).toBe(204);
  });

  it('keeps its account, projects and scopes when it is rotated', async () => {
    const { call, one } = world;
    const owner = { accountId: one.accountId, projectIds: [one.projectId] };
    const { id, scopes } = await aKey(owner);
    const { body } = await call(`POST /v1/keys/${id}/rotate`, { key: API_KEY });
    expect(body).toMatchObject({ ...owner, scopes });
  });
});
