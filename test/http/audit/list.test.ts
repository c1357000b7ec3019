/** `GET /v1/audit`: whose entries a key sees, in which order, and what stays unsaid. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditedApi, startAuditedApi } from './fixture.ts';

type Entry = {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly keyId: string | null;
  readonly accountId: string | null;
  readonly projectId: string | null;
  readonly operationId: string;
  readonly object: { readonly kind: string; readonly id: string | null };
  readonly outcome: string;
  readonly code: string | null;
  readonly address: string | null;
  readonly userAgent: string | null;
};
type Made = { readonly id: string; readonly key: string };

let api: AuditedApi;
let account: Made;
/** An administrator's of that account. */
let own: Made;
let project: Made;

async function call(
  method: string,
  path: string,
  { key = api.apiKey, json, headers }: { key?: string; json?: object; headers?: object } = {},
) {
  const response = await fetch(`${api.origin}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'user-agent': 'a test',
      ...(json && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json && { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  const body: unknown = text === '' ? null : JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
}
async function make(path: string, json: object, key?: string): Promise<Made> {
  const { status, body } = await call('POST', path, { json, ...(key && { key }) });
  expect(status).toBe(201);
  return body as Made;
}
async function list(query = '', key = api.apiKey, headers = {}): Promise<Entry[]> {
  const { status, body } = await call('GET', `/v1/audit${query}`, { key, headers });
  expect(status).toBe(200);
  return body as Entry[];
}
const inShort = ({ actor, operationId, object }: Entry) => `${actor} ${operationId} ${object.kind}`;

beforeAll(async () => {
  api = await startAuditedApi();
  account = await make('/v1/accounts', { name: 'Acme' });
  const wanted = { name: 'own', scopes: ['admin'], accountId: account.id };
  own = await make('/v1/keys', wanted);
  project = await make('/v1/projects', { name: 'Docs', slug: 'docs', plan: 'pro' }, own.key);
  const elsewhere = await make('/v1/accounts', { name: 'Another' });
  await make('/v1/projects', { name: 'Docs', slug: 'docs', accountId: elsewhere.id });
  await call('PATCH', `/v1/projects/${project.id}`, {
    json: { name: 'Documentation' },
    headers: { 'signpost-account': account.id },
  });
}, 60_000);
afterAll(() => api?.close());

describe('a key of an account', () => {
  it('sees what was done in its account, the newest first, and nothing of others', async () => {
    const entries = await list('', own.key);
    expect(entries.map(inShort)).toEqual([
      'installation updateProject project',
      'account createProject project',
      'installation createKey key',
      'installation createAccount account',
    ]);
    for (const { accountId } of entries) expect(accountId).toBe(account.id);
    expect(entries[1]).toEqual({
      id: expect.any(String),
      at: expect.stringMatching(/Z$/),
      actor: 'account',
      keyId: own.id,
      sessionId: null,
      accountId: account.id,
      projectId: project.id,
      operationId: 'createProject',
      object: { kind: 'project', id: project.id },
      outcome: 'done',
      code: null,
      address: expect.stringMatching(/./),
      userAgent: 'a test',
      requestId: expect.any(String),
    });
  });

  it('is not shown who of the installation it was, nor where from', async () => {
    const [updated] = await list('', own.key);
    const hidden = { keyId: null, sessionId: null, address: null, userAgent: null };
    expect(updated).toMatchObject({ actor: 'installation', ...hidden });
    expect(await list('?keyId=configured', own.key)).toEqual([]);
  });

  it('sees what was refused to it', async () => {
    const { status } = await call('POST', '/v1/accounts', { key: own.key, json: { name: 'x' } });
    expect(status).toBe(403);
    const { status: foreign } = await call('POST', '/v1/projects', {
      key: own.key,
      json: { name: 'x', slug: 'x', accountId: '00000000-0000-4000-8000-000000000000' },
    });
    expect(foreign).toBe(404);
    const [second, first] = await list('', own.key);
    expect(first).toMatchObject({
      operationId: 'createAccount',
      object: { kind: 'account', id: null },
      outcome: 'refused',
      code: 'installation_only',
    });
    expect(second).toMatchObject({
      operationId: 'createProject',
      outcome: 'refused',
      code: 'account_not_found',
      projectId: null,
    });
  });

  it('without admin is refused, and that leaves no entry, as nothing would have changed', async () => {
    const reader = { name: 'reader', scopes: ['domains:write'] };
    const { key } = await make('/v1/keys', reader, own.key);
    const before = await api.prisma.auditEntry.count();
    expect((await call('GET', '/v1/audit', { key })).status).toBe(403);
    expect(await api.prisma.auditEntry.count()).toBe(before);
  });
});

describe('a key of the installation', () => {
  it('sees all, or with Signpost-Account one account’s, each time in full', async () => {
    const all = await list('?limit=100');
    expect(new Set(all.map(({ accountId }) => accountId)).size).toBeGreaterThan(1);
    const acting = await list('?operationId=updateProject', api.apiKey, {
      'signpost-account': account.id,
    });
    expect(acting).toMatchObject([{ keyId: 'configured', userAgent: 'a test' }]);
    const other = await list('', api.apiKey, { 'signpost-account': account.id });
    for (const { accountId } of other) expect(accountId).toBe(account.id);
  });

  it('is told of an account that it cannot act for', async () => {
    const headers = { 'signpost-account': '0198c1e0-0000-4000-8000-6a9d3e5f7b21' };
    const { status } = await call('POST', '/v1/projects', {
      json: { name: 'x', slug: 'y' },
      headers,
    });
    expect(status).toBe(404);
    expect(await list('?limit=1')).toMatchObject([
      { operationId: 'createProject', outcome: 'refused', code: 'account_not_found' },
    ]);
  });
});

describe('the list', () => {
  it('is filtered by key, project, operation and time', async () => {
    const byKey = await list(`?keyId=${own.id}`);
    expect(new Set(byKey.map(({ keyId }) => keyId))).toEqual(new Set([own.id]));
    const byProject = await list(`?projectId=${project.id}`);
    expect(byProject.map(({ operationId }) => operationId)).toEqual([
      'updateProject',
      'createProject',
    ]);
    const [updated] = byProject;
    const from = encodeURIComponent(updated?.at ?? '');
    expect(await list(`?projectId=${project.id}&from=${from}`)).toEqual([updated]);
    expect(await list(`?projectId=${project.id}&to=${from}`)).toEqual(byProject.slice(1));
  });

  it('comes in pages whose links keep the filters', async () => {
    const pages: Entry[] = [];
    let path: string | undefined = `/v1/audit?limit=1&projectId=${project.id}`;
    while (path !== undefined) {
      const { headers, body }: { headers: Headers; body: unknown } = await call('GET', path, {
        key: own.key,
      });
      expect(body).toHaveLength(1);
      pages.push(...(body as Entry[]));
      path = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(pages).toEqual(await list(`?projectId=${project.id}`, own.key));
  });

  it.each([
    'limit=0',
    'limit=101',
    'cursor=x',
    'projectId=docs',
    'from=yesterday',
    'from=0000-01-01T00:00:00Z',
    'to=9999-12-31T23:59:59-12:00',
    'operationId=%00',
    'accountId=1',
  ])('refuses %s', async (query) => {
    const { status, body } = await call('GET', `/v1/audit?${query}`);
    expect([status, body]).toMatchObject([400, { code: 'invalid_query' }]);
  });

  it('may be asked for by HEAD', async () => {
    expect((await call('HEAD', '/v1/audit')).status).toBe(200);
  });
});
