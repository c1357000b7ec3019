/** An account sees and ends its own sessions, over the API and on the page. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { installation } from '../../src/core/accounts/access.ts';
import { createAccountStore } from '../../src/db/accounts.ts';
import { callApi } from '../http/support.ts';
import { type Pages, startPages } from './support/pages.ts';
import { visitorsOf } from './support/visitors.ts';

type Listed = readonly { id: string; keyName: string; userAgent: string; address: string }[];

let pages: Pages;
beforeAll(async () => {
  pages = await startPages();
});
beforeEach(async () => {
  pages.forgetCookie();
  await pages.prisma.session.deleteMany();
});
afterAll(() => pages?.close());

const { customer, isIn, signedIn } = visitorsOf(() => pages);

describe('GET and DELETE /v1/sessions', () => {
  const list = async (key: string, headers = {}) =>
    (await callApi(pages.api, 'GET /v1/sessions', { key, headers })).body as Listed;

  it('show an account its own sessions, and the installation all of them', async () => {
    const [one, two] = [await customer('One', 'admin'), await customer('Two', 'admin')];
    const operator = await pages.keyWith('admin');
    await signedIn(one.token, { 'user-agent': 'Mozilla/5.0 Firefox/145.0\u0007' });
    await signedIn(two.token);
    await signedIn(operator);
    const names = async (key: string, headers = {}) =>
      (await list(key, headers)).map(({ keyName }) => keyName).sort();
    expect(await names(one.token)).toEqual(['One']);
    expect(await names(operator)).toEqual(['One', 'Two', 'test']);
    expect(await names(operator, { 'signpost-account': two.account.id })).toEqual(['Two']);
    expect((await list(one.token))[0]).toMatchObject({
      userAgent: 'Mozilla/5.0 Firefox/145.0',
      address: '127.0.0.1',
      accountId: one.account.id,
      actingFor: null,
    });
  });

  it('end a session at once; another account’s is as one that never existed', async () => {
    const [one, two] = [await customer('One', 'admin'), await customer('Two', 'admin')];
    const cookie = await signedIn(one.token);
    const id = (await list(one.token))[0]?.id;
    const end = (key: string, of = id) => callApi(pages.api, `DELETE /v1/sessions/${of}`, { key });
    const missing = '00000000-0000-4000-8000-000000000009';
    const [foreign, never] = [await end(two.token), await end(two.token, missing)];
    expect(foreign.status).toBe(404);
    expect(foreign.text).toBe(never.text);
    expect(await end(two.token, 'no-uuid')).toMatchObject({ status: 404 });
    expect(await isIn(cookie)).toBe(true);
    expect([(await end(one.token)).status, (await end(one.token)).status]).toEqual([204, 204]);
    expect(await isIn(cookie)).toBe(false);
    expect(await list(one.token)).toEqual([]);
  });

  it('list none whose key is accepted no more', async () => {
    const operator = await pages.keyWith('admin');
    const { token, account } = await customer('Closed', 'admin');
    const short = await pages.keyWith('domains:read');
    await signedIn(token);
    await signedIn(short);
    expect(await list(operator)).toHaveLength(2);
    const at = pages.clock.now;
    await createAccountStore(pages.prisma).close(installation, account.id, at);
    const [, id = ''] = short.split('_');
    await pages.prisma.apiKey.update({ where: { id }, data: { revokedAt: at } });
    expect(await list(operator)).toEqual([]);
  });
});

describe('the page of sessions', () => {
  it('marks one’s own, ends one, and ends all others', async () => {
    const { token } = await customer('Shop', 'admin');
    const [first, second] = [await signedIn(token), await signedIn(token)];
    const own = await signedIn(token);
    const page = await pages.show('GET /sessions');
    expect(page.text.match(/This one/g)).toHaveLength(1);
    const ids = [...page.text.matchAll(/action="\/sessions\/([\w-]{36})\/end"/g)];
    expect(ids).toHaveLength(3);
    const [row] = await pages.prisma.session.findMany({ orderBy: { createdAt: 'asc' } });
    await pages.show(`POST /sessions/${row?.id}/end`, { form: {} });
    expect([await isIn(first), await isIn(second), await isIn(own)].filter(Boolean)).toHaveLength(
      2,
    );
    const ended = await pages.show('POST /sessions/end-others', { form: {} });
    expect(ended.headers['location']).toBe('/sessions');
    expect([await isIn(first), await isIn(second), await isIn(own)]).toEqual([false, false, true]);
  });

  it('has 50 at a time, with the way to the next, and ends those of every page', async () => {
    const { token } = await customer('Shop', 'admin');
    const own = await signedIn(token);
    const [session] = await pages.prisma.session.findMany();
    if (session === undefined) throw new Error('nobody is signed in');
    const at = session.createdAt.getTime();
    const older = Array.from({ length: 60 }, (_, n) => ({
      ...session,
      id: randomUUID(),
      digest: randomBytes(32),
      createdAt: new Date(at - n - 1),
    }));
    await pages.prisma.session.createMany({ data: older });
    const endersOf = (text: string) =>
      [...text.matchAll(/action="\/sessions\/([\w-]{36})\/end"/g)].map(([, id]) => id);
    const first = await pages.show('GET /sessions');
    const next = /rel="next" href="([^"]+)"/.exec(first.text)?.[1] ?? '';
    const second = await pages.show(`GET ${next}`);
    expect([...endersOf(first.text), ...endersOf(second.text)]).toEqual([
      session.id,
      ...older.map(({ id }) => id),
    ]);
    expect(endersOf(second.text)).toHaveLength(11);
    expect(second.text).toContain('href="/sessions">First page</a>');
    await pages.show('POST /sessions/end-others', { form: {} });
    expect(await pages.prisma.session.count({ where: { endedAt: null } })).toBe(1);
    expect(await isIn(own)).toBe(true);
  });

  it('shows a key without admin what its own session is, and no other', async () => {
    await signedIn((await customer('Reader', 'domains:read')).token);
    const { status, text } = await pages.show('GET /sessions');
    expect([status, text.includes('Sign out everywhere')]).toEqual([200, true]);
    expect(text).not.toContain('Open sessions');
  });
});
