/** Who signed in and out, ended sessions and chose an account is in the audit log, with where it came from. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Pages, startPages } from './support/pages.ts';
import { visitorsOf } from './support/visitors.ts';

let pages: Pages;
beforeAll(async () => {
  pages = await startPages();
});
beforeEach(async () => {
  pages.forgetCookie();
  await pages.prisma.session.deleteMany();
  await pages.prisma.auditEntry.deleteMany();
});
afterAll(() => pages?.close());

const { customer, isIn, signedIn } = visitorsOf(() => pages);

/** The oldest first: the requests of a test come at one time of its clock. */
async function entries() {
  const found = await pages.prisma.$queryRaw<Record<string, unknown>[]>`
    SELECT operation_id AS operation, key_id AS key, session_id::text AS session,
      by_installation AS "byInstallation", account_id::text AS account, object_kind AS kind,
      object_id AS object, outcome::text, address, user_agent AS "userAgent", request_id AS request
    FROM audit_entry ORDER BY ctid`;
  return found;
}
async function lastSession(): Promise<string> {
  const [row] = await pages.prisma.session.findMany({ orderBy: { createdAt: 'desc' }, take: 1 });
  return row?.id ?? '';
}
const keyIdOf = async (session: string) =>
  (await pages.prisma.session.findUniqueOrThrow({ where: { id: session } })).apiKeyId;
/** A page that has a form of ours, whose token the next one sends. */
const aPage = () => pages.show('GET /sessions');
const headers = { 'user-agent': 'Firefox/140.0', 'x-request-id': 'of-the-test' };
const from = { address: '127.0.0.1', userAgent: 'Firefox/140.0', request: 'of-the-test' };

describe('the audit log', () => {
  it('says who signed in and out, whose session it was, and from where', async () => {
    const { token, account } = await customer('Shop', 'domains:read');
    await signedIn(token, headers);
    const session = await lastSession();
    const key = await keyIdOf(session);
    await aPage();
    await pages.show('POST /sign-out', { form: {}, headers });
    const by = { key, byInstallation: false, session, ...from };
    const about = { account: account.id, kind: 'session', object: session, outcome: 'done' };
    expect(await entries()).toEqual([
      { operation: 'signIn', ...by, ...about },
      { operation: 'signOut', ...by, ...about },
    ]);
  });

  it('says that it was the installation, whose sessions are no account’s', async () => {
    await signedIn(await pages.keyWith('admin'), headers);
    expect(await entries()).toMatchObject([
      { operation: 'signIn', byInstallation: true, account: null, kind: 'session' },
    ]);
  });

  it('has the session that a browser had before it signed in again as signed out', async () => {
    await signedIn(await pages.keyWith('domains:read'));
    const before = await lastSession();
    const keyBefore = await keyIdOf(before);
    pages.clock.now = new Date(pages.clock.now.getTime() + 1_000);
    await pages.signIn(await pages.keyWith('ops:read'));
    const after = await lastSession();
    expect(await entries()).toMatchObject([
      { operation: 'signIn', object: before },
      { operation: 'signIn', object: after, session: after },
      { operation: 'signOut', object: before, session: before, key: keyBefore },
    ]);
  });

  it('has signing out everywhere once, by the key whose sessions ended', async () => {
    const { token, account } = await customer('Shop', 'domains:read');
    await signedIn(token);
    pages.clock.now = new Date(pages.clock.now.getTime() + 1_000);
    await signedIn(token);
    const session = await lastSession();
    const key = await keyIdOf(session);
    await aPage();
    await pages.show('POST /sessions/end-own', { form: {}, headers });
    expect((await entries()).slice(2)).toMatchObject([
      {
        ...{ operation: 'signOutEverywhere', key, session, ...from },
        ...{ account: account.id, kind: 'key', object: key },
      },
    ]);
  });

  it('has a session that somebody else ended, by who did', async () => {
    const { token, account } = await customer('Shop', 'admin');
    await signedIn(token);
    const ended = await lastSession();
    pages.clock.now = new Date(pages.clock.now.getTime() + 1_000);
    await signedIn(token);
    const session = await lastSession();
    await aPage();
    await pages.show(`POST /sessions/${ended}/end`, { form: {}, headers });
    expect((await entries()).slice(2)).toMatchObject([
      { operation: 'endSession', session, account: account.id, object: ended, ...from },
    ]);
  });

  it('shows an account that the installation chose it, and that all are shown again', async () => {
    const { account } = await customer('Shop', 'admin');
    await signedIn(await pages.keyWith('admin'));
    const session = await lastSession();
    await aPage();
    await pages.show('POST /accounts/choose', { form: { account: account.id }, headers });
    await aPage();
    await pages.show('POST /accounts/choose', { form: { account: '' }, headers });
    const by = { operation: 'chooseAccount', session, byInstallation: true, ...from };
    expect((await entries()).slice(1)).toMatchObject([
      { ...by, account: account.id, kind: 'account', object: account.id },
      { ...by, account: null, kind: 'session', object: session },
    ]);
  });

  it('has nothing of what did not come about', async () => {
    const cookie = await signedIn(await pages.keyWith('admin'));
    await aPage();
    const before = await entries();
    await pages.show('POST /accounts/choose', { form: { account: 'Shop' } });
    await pages.show('POST /sign-out', { form: { csrf: '' } });
    await pages.prisma.session.updateMany({ data: { endedAt: pages.clock.now } });
    // This process remembers the session for a while yet.
    await pages.show('POST /sessions/end-own', { form: {} });
    pages.useCookie(cookie);
    await pages.show('POST /sign-out', { form: {} });
    expect(await entries()).toEqual(before);
  });

  it('has no sign-in that failed, for there is nobody to name', async () => {
    const { token } = await customer('Shop', 'admin');
    await pages.prisma.apiKey.updateMany({ data: { revokedAt: pages.clock.now } });
    for (const key of [token, 'signpost_madeup', '', `${token}x`]) {
      expect((await pages.signIn(key)).status).toBe(401);
    }
    expect(await entries()).toEqual([]);
  });

  it('has no part of a key or of a cookie', async () => {
    const key = await pages.keyWith('admin');
    const cookie = await signedIn(key, { 'user-agent': `curl ${key}` });
    const [, token = ''] = cookie?.split('=') ?? [];
    await aPage();
    await pages.show('POST /sign-out', { form: {}, headers: { 'user-agent': `curl ${key}` } });
    const stored = JSON.stringify(await entries());
    expect(stored).toContain('signOut');
    for (const secret of [key, token]) expect(stored).not.toContain(secret.slice(-30));
  });
});

describe('where the entry cannot be written', () => {
  it('nobody is signed in or out, and no account is chosen', async () => {
    const { account } = await customer('Shop', 'admin');
    const key = await pages.keyWith('admin');
    const cookie = await signedIn(key);
    await aPage();
    await pages.prisma.$executeRaw`
      CREATE FUNCTION no_entry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no entry'; END $$`;
    await pages.prisma.$executeRaw`
      CREATE TRIGGER no_entry BEFORE INSERT ON audit_entry EXECUTE FUNCTION no_entry()`;
    const before = await pages.prisma.session.findMany();
    const acts = [
      ['/accounts/choose', { account: account.id }],
      ['/sessions/end-own', {}],
      ['/sign-out', {}],
    ] as const;
    for (const [path, form] of acts) {
      expect((await pages.show(`POST ${path}`, { form })).status).toBe(500);
    }
    pages.forgetCookie();
    expect((await pages.signIn(key)).status).toBe(500);
    expect(await pages.prisma.session.findMany()).toEqual(before);
    await pages.prisma.$executeRaw`DROP TRIGGER no_entry ON audit_entry`;
    expect(await isIn(cookie)).toBe(true);
  });
});
