/** Two customers and an operator in the dashboard, each with a separate cookie. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../../src/http/pipeline/api.ts';
import { API_KEY, startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

let world: TwoAccounts;
beforeAll(async () => {
  world = await startTwoAccounts();
}, 60_000);
afterAll(() => world?.close());

type Page = { readonly status: number; readonly text: string };

/** Keeps its cookie, and sends the token of the page that it saw last. */
async function signedIn(api: Api, key: string) {
  let cookie: string | undefined;
  let csrf = '';
  async function show(line: string, form?: Readonly<Record<string, string>>): Promise<Page> {
    const [method = '', target = ''] = line.split(' ');
    const bytes = new TextEncoder().encode(new URLSearchParams({ csrf, ...form }).toString());
    const answer = await api.handle({
      method,
      target,
      headers: {
        accept: 'text/html',
        ...(cookie !== undefined && { cookie }),
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      readBody: async () => ({ kind: 'bytes', bytes }),
      remoteAddress: '127.0.0.1',
    });
    const set = answer.headers['set-cookie'];
    if (set !== undefined) cookie = set.split(';')[0];
    const text = answer.body ?? '';
    csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? csrf;
    const { location } = answer.headers;
    return location === undefined ? { status: answer.status, text } : show(`GET ${location}`);
  }
  await show('POST /sign-in', { key });
  return show;
}

async function keyWith(scopes: readonly string[], accountId: string): Promise<string> {
  const json = { name: `with ${scopes.join(' ')}`, scopes, accountId };
  const { body } = await world.call('POST /v1/keys', { key: API_KEY, json });
  return (body as { key: string }).key;
}

describe('Two customers in the dashboard', () => {
  it('see their own projects and keys, and pages of the other do not exist', async () => {
    const { api, one, other } = world;
    const shows = [
      [await signedIn(api, one.key), one, other],
      [await signedIn(api, other.key), other, one],
    ] as const;
    for (const [show, mine, theirs] of shows) {
      const projects = await show('GET /projects');
      expect(projects.text).toContain(`project-${mine.mark}`);
      expect(projects.text).not.toContain(theirs.mark);
      const keys = await show('GET /keys');
      expect(keys.text).toContain(`key-${mine.mark}`);
      expect(keys.text).not.toContain(theirs.mark);
      expect(keys.text).not.toContain('API_KEY');
      for (const path of ['/domains', '/settings', `/domains/${theirs.hostname}`]) {
        const { status, text } = await show(`GET /projects/${theirs.projectId}${path}`);
        expect([path, status]).toEqual([path, 404]);
        expect(text).not.toContain(`project-${theirs.mark}`);
      }
      expect(projects.text).not.toContain('href="/ops"');
      expect(projects.text).not.toContain('href="/accounts"');
      for (const path of ['/ops', '/ops/queues', '/ops/queues/api/queues']) {
        expect((await show(`GET ${path}`)).status).toBe(403);
      }
    }
  });

  it('cannot choose an account', async () => {
    const { api, one, other } = world;
    const show = await signedIn(api, one.key);
    const { status, text } = await show('POST /accounts/choose', { account: other.accountId });
    expect(status).toBe(404);
    expect(text).not.toContain(other.mark);
    expect((await show('GET /projects')).text).toContain(`project-${one.mark}`);
  });

  it('create a key, which is shown once, and revoke it', async () => {
    const { api, one } = world;
    const show = await signedIn(api, one.key);
    const created = await show('POST /keys', { name: 'for the CI', scopes: 'domains:read' });
    const [, token = ''] = /data-copy="(signpost_\w+)"/.exec(created.text) ?? [];
    expect((await world.call('GET /v1/projects', { key: token })).status).toBe(200);
    const list = await show('GET /keys');
    expect(list.text).not.toContain(token);
    const id = token.split('_')[1] ?? '';
    expect(list.text).toContain(`action="/keys/${id}/revoke"`);
    await show(`POST /keys/${id}/revoke`, {});
    expect((await world.call('GET /v1/projects', { key: token })).status).toBe(401);
    const refused = await show('POST /keys', { name: '', scopes: 'domains:read' });
    expect(refused.status).toBe(400);
  });
});

describe('A key without the scope to write', () => {
  it('sees no button that it cannot use', async () => {
    const { api, one } = world;
    const show = await signedIn(api, await keyWith(['domains:read'], one.accountId));
    const inProject = `/projects/${one.projectId}`;
    const inDomain = `${inProject}/domains/${one.hostname}`;
    for (const path of ['/projects', `${inProject}/domains`, `${inProject}/settings`, inDomain]) {
      const { status, text } = await show(`GET ${path}`);
      expect([path, status]).toEqual([path, 200]);
      const actions = [...text.matchAll(/<form method="post" action="([^"]+)"/g)].map(
        ([, to]) => to,
      );
      expect([path, ...actions]).toEqual([path, '/sign-out']);
      expect(text).not.toContain('/remove"');
      expect(text).not.toMatch(/Add (a domain|one above)|New project|Add it again/);
    }
    const { text } = await show(`GET ${inDomain}/remove`);
    expect(text).not.toContain('<button class="btn danger"');
    expect(text).toContain('use a key with the scope domains:write');
    expect((await show('GET /projects')).text).not.toContain('href="/keys"');
  });
});

describe('A key that changes domains only', () => {
  it('sees the buttons for domains, and none for projects', async () => {
    const { api, one } = world;
    const scopes = ['domains:read', 'domains:write'];
    const show = await signedIn(api, await keyWith(scopes, one.accountId));
    const domains = await show(`GET /projects/${one.projectId}/domains`);
    expect(domains.text).toContain('Add domain');
    expect((await show('GET /projects')).text).not.toContain('New project');
    const other = await show(`GET /projects/${one.otherProjectId}/domains`);
    expect(other.text).toContain('use a key with the scope projects:write');
    expect(other.text).not.toContain('name="upstream"');

    const { prisma } = world.service.database;
    const where = { projectId: one.projectId, hostname: one.hostname };
    const findings = [{ code: 'plan_required', hostname: one.hostname }];
    await prisma.domain.updateMany({ where, data: { findings, lastCheckedAt: new Date() } });
    const waiting = await show(`GET /projects/${one.projectId}/domains/${one.hostname}`);
    expect(waiting.text).toContain('use a key with the scope projects:write');
    expect(waiting.text).not.toContain('Switch to Pro');
    const all = await signedIn(api, one.key);
    const same = await all(`GET /projects/${one.projectId}/domains/${one.hostname}`);
    expect(same.text).toContain('Switch to Pro');
  });
});

describe('A key that reads keys', () => {
  it('sees them without the buttons to create and revoke one', async () => {
    const { api, one } = world;
    const show = await signedIn(api, await keyWith(['domains:read', 'keys:read'], one.accountId));
    const { status, text } = await show('GET /keys');
    expect(status).toBe(200);
    expect(text).toContain(`key-${one.mark}`);
    expect(text).not.toContain('action="/keys');
    expect(text).not.toMatch(/New key|Create key|Revoke</);
    expect((await show('POST /keys', { name: 'k', scopes: 'domains:read' })).status).toBe(403);
  });
});

describe('An operator in the dashboard', () => {
  it('chooses the account whose projects and keys are shown, and all again', async () => {
    const { api, one, other } = world;
    const show = await signedIn(api, API_KEY);
    expect((await show('GET /projects')).text).toMatch(/All accounts/);
    const accounts = await show('GET /accounts');
    expect(accounts.text).toContain(one.accountId);
    const chosen = await show('POST /accounts/choose', { account: one.accountId });
    expect(chosen.text).toContain(`project-${one.mark}`);
    expect(chosen.text).not.toContain(other.mark);
    expect(chosen.text).toContain('>A customer</a>');
    const keys = await show('GET /keys');
    expect(keys.text).toContain(`key-${one.mark}`);
    expect(keys.text).not.toContain('API_KEY');
    expect((await show('GET /ops')).status).toBe(200);
    expect((await show('GET /accounts')).text).toContain(other.accountId);
    const all = await show('POST /accounts/choose', { account: '' });
    expect(all.text).toContain(`project-${other.mark}`);
  });

  it('creates projects and keys in the chosen account', async () => {
    const { api, one, service } = world;
    const show = await signedIn(api, API_KEY);
    await show('POST /accounts/choose', { account: one.accountId });
    await show('POST /projects', { name: 'By the operator', slug: '', plan: 'pro' });
    const { prisma } = service.database;
    const project = await prisma.project.findFirst({ where: { slug: 'by-the-operator' } });
    expect(project?.accountId).toBe(one.accountId);
    await show('POST /keys', { name: 'by the operator', scopes: 'domains:read' });
    const key = await prisma.apiKey.findFirst({ where: { name: 'by the operator' } });
    expect(key).toMatchObject({ accountId: one.accountId, scopes: ['domains:read'] });
  });

  it('is led to the accounts once the chosen one is closed', async () => {
    const { api, call } = world;
    const { body } = await call('POST /v1/accounts', { key: API_KEY, json: { name: 'Closing' } });
    const { id } = body as { id: string };
    const show = await signedIn(api, API_KEY);
    await show('POST /accounts/choose', { account: id });
    await call(`DELETE /v1/accounts/${id}`, { key: API_KEY });
    const { status, text } = await show('GET /projects');
    expect(status).toBe(409);
    expect(text).toMatch(/<a class="btn" href="\/accounts">Choose an account<\/a>/);
    expect((await show('POST /accounts/choose', { account: '' })).status).toBe(200);
  });

  it('creates an account', async () => {
    const show = await signedIn(world.api, API_KEY);
    expect((await show('POST /accounts', { name: 'Brand New Inc.' })).text).toContain(
      'Brand New Inc.',
    );
    expect((await show('POST /accounts', { name: '' })).status).toBe(400);
  });
});
