/** An operator chooses an account: its things are shown, and nothing else, until all accounts are shown again. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { installation } from '../../src/core/accounts/access.ts';
import { createAccountStore, type GrantedAccount } from '../../src/db/accounts.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { type Pages, startPages } from './support/pages.ts';

let pages: Pages;
let operator: string;
let shop: GrantedAccount;
const accounts = () => createAccountStore(pages.prisma);

beforeAll(async () => {
  pages = await startPages();
  operator = await pages.keyWith('admin');
});
beforeEach(async () => {
  pages.forgetCookie();
  shop = await accounts().create(installation, { name: 'Example Shop', limits: {} });
  const other = await accounts().create(installation, { name: 'Another', limits: {} });
  for (const { id, name } of [shop, other]) {
    const project = { name: `Site of ${name}`, slug: 'site', plan: 'pro' } as const;
    await createProjectStore(pages.prisma).create(id, project);
  }
  await pages.signIn(operator);
  await pages.show('GET /accounts');
});
afterAll(() => pages?.close());

/** Pairs, since an object with a `then` looks like a promise. */
const choose = (account: string, path = '/projects') => {
  const fields = [['account', account] as const, ['then', path] as const];
  return pages.show('POST /accounts/choose', { form: Object.fromEntries(fields) });
};

describe('an operator who chose an account', () => {
  it('sees its projects, and says so on every page, until all are shown again', async () => {
    expect((await pages.show('GET /projects')).text).toContain('Site of Another');
    const { headers } = await choose(shop.id);
    expect(headers['location']).toBe('/projects');
    expect(headers['set-cookie']).toContain('Max-Age=43200');
    const { text } = await pages.show('GET /projects');
    expect(text).toContain('Site of Example Shop');
    expect(text).not.toContain('Site of Another');
    expect(text).toContain('You act for <strong>Example Shop</strong>');
    expect((await choose('')).headers['location']).toBe('/projects');
    const all = await pages.show('GET /projects');
    expect(all.text).toContain('Site of Another');
    expect(all.text).not.toContain('You act for');
  });

  it('makes projects in that account', async () => {
    await choose(shop.id);
    await pages.show('GET /projects');
    await pages.show('POST /projects', { form: { name: 'New', slug: 'new', plan: 'pro' } });
    const made = await pages.prisma.project.findFirst({
      where: { name: 'New', accountId: shop.id },
    });
    expect(made?.slug).toBe('new');
  });

  it('is in every process at once, and a form of before the choice changes nothing', async () => {
    const before = pages.cookie();
    const { text } = await pages.show('GET /projects');
    const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const other = pages.beside();
    const ask = async (cookie = pages.cookie()) => {
      const answer = await other.handle({
        method: 'GET',
        target: '/projects',
        headers: { accept: 'text/html', cookie },
        readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
        remoteAddress: '127.0.0.1',
      });
      return answer.body ?? '';
    };
    expect(await ask(before)).toContain('Site of Another');
    await choose(shop.id);
    expect(await ask()).not.toContain('Site of Another');
    const form = { name: 'Too late', slug: 'too-late', plan: 'pro', csrf };
    expect((await pages.show('POST /projects', { form })).status).toBe(403);
    expect(await pages.prisma.project.count({ where: { slug: 'too-late' } })).toBe(0);
  });

  it('finds operators’ pages about all accounts, with the way back to them', async () => {
    await choose(shop.id);
    const projects = await pages.show('GET /projects');
    expect(projects.text).not.toContain('href="/ops"');
    for (const path of ['/ops', '/ops/domains?name=shop']) {
      const { status, text } = await pages.show(`GET ${path}`);
      expect([status, text.includes('about all accounts')]).toEqual([403, true]);
      expect(text).toContain(`name="then" value="${path}"`);
    }
    expect((await choose('', '/ops')).headers['location']).toBe('/ops');
    expect((await pages.show('GET /projects')).text).toContain('href="/ops"');
  });

  it('is told when it was closed, and leaves it', async () => {
    await choose(shop.id);
    await pages.show('GET /projects');
    await accounts().close(installation, shop.id, pages.clock.now);
    pages.clock.now = new Date(pages.clock.now.getTime() + 5_000);
    const { status, text } = await pages.show('GET /projects');
    expect([status, text.includes('Example Shop is closed')]).toEqual([404, true]);
    expect((await pages.show('GET /accounts')).status).toBe(200);
    await choose('');
    expect((await pages.show('GET /projects')).status).toBe(200);
    const again = await choose(shop.id);
    expect([again.status, again.text.includes('This account is closed')]).toEqual([404, true]);
  });

  it('cannot choose one that there is not', async () => {
    for (const id of ['00000000-0000-4000-8000-000000000009', 'x', '../keys']) {
      expect((await choose(id)).status).toBe(404);
    }
    expect((await pages.show('GET /projects')).text).toContain('Site of Another');
  });
});

describe('the page of an account', () => {
  it('makes it, and a key for it, which is shown once', async () => {
    const made = await pages.show('POST /accounts', { form: { name: 'New customer' } });
    const path = made.headers['location'] ?? '';
    const page = await pages.show(`GET ${path}`);
    const attempt = /name="attempt" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const form = { name: 'For their site', role: 'write', attempt };
    const minted = await pages.show(`POST ${path}/keys`, { form });
    const key = /data-copy="(signpost_[^"]+)"/.exec(minted.text)?.[1] ?? '';
    const again = await pages.show(`POST ${path}/keys`, { form });
    expect(again.text).toContain('shown once');
    expect(again.text).not.toContain(key);
    const stored = await pages.prisma.apiKey.findMany({ where: { name: 'For their site' } });
    expect(stored).toMatchObject([{ scopes: ['account:domains:read', 'account:domains:write'] }]);
    expect(stored[0]?.accountId).toBe(path.split('/').at(-1));
    pages.forgetCookie();
    expect((await pages.signIn(key)).status).toBe(303);
    expect((await pages.show('GET /projects')).text).toContain('New customer');
  });

  it('says what is wrong with a name', async () => {
    const answer = await pages.show('POST /accounts', { form: { name: '' } });
    expect([answer.status, answer.text.includes('role="alert"')]).toEqual([400, true]);
  });

  it.each([
    ['of an account', true],
    ['of the installation without admin', false],
  ])('is nothing for a key %s', async (_which, isOfAccount) => {
    const key = isOfAccount ? await keyOf(shop) : await pages.keyWith('ops:read', 'domains:read');
    pages.forgetCookie();
    await pages.signIn(key);
    expect((await pages.show('GET /projects')).text).not.toContain('href="/accounts"');
    expect((await pages.show('GET /accounts')).status).toBe(403);
    expect((await choose('')).status).toBe(403);
    expect((await pages.show('GET /ops')).text.includes('one account’s')).toBe(isOfAccount);
  });
});

/** An administrator's key of the account, made as operators make it. */
async function keyOf({ id }: GrantedAccount): Promise<string> {
  const form = { name: 'their admin', role: 'admin' };
  const { text } = await pages.show(`POST /accounts/${id}/keys`, { form });
  return /data-copy="(signpost_[^"]+)"/.exec(text)?.[1] ?? '';
}
