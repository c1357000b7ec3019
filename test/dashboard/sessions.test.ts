/** Sessions are rows: who signs out is out everywhere, at once or within 5 s. */
import { once } from 'node:events';
import { EncryptJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSessions } from '../../src/dashboard/sessions.ts';
import { createStreamEnds } from '../../src/dashboard/stream-ends.ts';
import { createSessionStore } from '../../src/db/sessions.ts';
import { type Pages, startPages } from './support/pages.ts';
import { visitorsOf } from './support/visitors.ts';

let pages: Pages;
beforeAll(async () => {
  pages = await startPages();
});
beforeEach(async () => {
  pages.forgetCookie();
  await pages.prisma.session.deleteMany();
});
afterAll(() => pages?.close());

const { isIn, signedIn } = visitorsOf(() => pages);

const later = (ms: number) => {
  pages.clock.now = new Date(pages.clock.now.getTime() + ms);
};

describe('signing out', () => {
  it('ends every copy of the cookie: here at once, in every other process within 5 s', async () => {
    const cookie = await signedIn(await pages.keyWith('domains:read'));
    const other = pages.beside();
    expect([await isIn(cookie), await isIn(cookie, other)]).toEqual([true, true]);
    await pages.show('GET /sessions');
    await pages.show('POST /sign-out', { form: {} });
    expect(await isIn(cookie)).toBe(false);
    later(5_000);
    expect(await isIn(cookie, other)).toBe(false);
    expect(await isIn(cookie, pages.beside())).toBe(false);
  });

  it('everywhere ends all sessions of the key, and none of another one', async () => {
    const [key, another] = [await pages.keyWith('domains:read'), await pages.keyWith('ops:read')];
    const [first, kept] = [await signedIn(key), await signedIn(another)];
    const second = await signedIn(key);
    await pages.show('GET /sessions');
    const out = await pages.show('POST /sessions/end-own', { form: {} });
    expect([out.headers['location'], pages.cookie()]).toEqual(['/', undefined]);
    expect([await isIn(first), await isIn(second), await isIn(kept)]).toEqual([false, false, true]);
  });

  it('signing in again ends the session that the browser had', async () => {
    const key = await pages.keyWith('domains:read');
    const before = await signedIn(key);
    await pages.show('POST /sign-in', { form: { key } });
    expect([await isIn(before), await isIn(pages.cookie())]).toEqual([false, true]);
  });

  it('a cookie of before sessions were rows leads to the sign-in', async () => {
    const claims = { apiKey: await pages.keyWith('admin'), scopes: ['admin'], csrf: 'x' };
    const old = await new EncryptJWT(claims)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setExpirationTime('12h')
      .encrypt(new Uint8Array(32));
    pages.useCookie(`__Host-signpost=${old}`);
    const answer = await pages.show('GET /projects');
    expect([answer.status, answer.headers['location']]).toEqual([303, '/?then=%2Fprojects']);
  });
});

it('a token that somebody made up costs no query, and one that ended costs one', async () => {
  const cookie = await signedIn(await pages.keyWith('domains:read'));
  const [, token = ''] = cookie?.split('=') ?? [];
  const asked: string[] = [];
  const store = createSessionStore(pages.prisma);
  const { find, close } = createSessions({
    store: {
      ...store,
      find(digest, at) {
        asked.push('find');
        return store.find(digest, at);
      },
    },
    transact: (work) => work(),
    note: async () => {},
    secret: new Uint8Array(32),
    now: () => pages.clock.now,
    log: { warn: () => {} },
    accountPlans: [],
  });
  const changed = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`;
  for (const madeUp of [changed, 'A'.repeat(64), 'A'.repeat(43), '']) {
    expect(await find(madeUp)).toBeNull();
  }
  expect(asked).toEqual([]);
  await pages.prisma.session.deleteMany();
  expect([await find(token), await find(token)]).toEqual([null, null]);
  expect(asked).toEqual(['find']);
  close();
});

describe('a stream of events', () => {
  const endless = {
    discard: () => {},
    async *open(signal: AbortSignal) {
      yield 'first';
      await once(signal, 'abort');
    },
  };

  it('ends with its session, which another process ended, and with no other', async () => {
    const key = await pages.keyWith('domains:read');
    const [cookie, kept] = [await signedIn(key), await signedIn(key)];
    const other = pages.sessionsBeside();
    const [ending, staying] = await Promise.all(
      [cookie, kept].map((one) => other.find(one?.split('=')[1])),
    );
    if (!ending || !staying) throw new Error('both are signed in');
    const reader = new AbortController();
    let isOver = false;
    const stay = (async () => {
      for await (const _ of other.bind(staying, endless).open(reader.signal));
      isOver = true;
    })();
    const seen: string[] = [];
    for await (const text of other.bind(ending, endless).open(reader.signal)) {
      seen.push(text);
      await pages.sessions.end(ending);
    }
    expect([seen, isOver]).toEqual([['first'], false]);
    reader.abort();
    await stay;
  });

  it('ends at once where its session had ended elsewhere when it was opened', async () => {
    const cookie = await signedIn(await pages.keyWith('domains:read'));
    const store = createSessionStore(pages.prisma);
    vi.useFakeTimers({ toFake: ['setInterval'] }); // nobody is asked later
    const ends = createStreamEnds({
      amongOpen: (ids) => store.amongOpen(ids, pages.clock.now),
      log: { warn: () => {} },
    });
    vi.useRealTimers();
    const remembered = await pages.sessions.find(cookie?.split('=')[1]);
    if (remembered === null) throw new Error('nobody is signed in');
    await store.signOut(remembered.id, pages.clock.now);
    const seen: string[] = [];
    const reader = new AbortController();
    for await (const text of ends.bind(remembered.id, endless).open(reader.signal)) seen.push(text);
    expect([seen, reader.signal.aborted]).toEqual([['first'], false]);
    ends.close();
  });
});

it('while the database is away every page says so, and nobody is signed out', async () => {
  const cookie = await signedIn(await pages.keyWith('admin'));
  const away = () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
  const api = pages.beside({ find: away });
  for (const target of ['/projects', '/']) {
    const answer = await api.handle({
      method: 'GET',
      target,
      headers: { accept: 'text/html', cookie },
      readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
      remoteAddress: '127.0.0.1',
    });
    expect(answer).toMatchObject({
      status: 503,
      body: expect.stringContaining('Temporarily unavailable'),
    });
    expect(answer.headers).not.toHaveProperty('set-cookie');
  }
  expect(await isIn(cookie)).toBe(true);
});

describe('what is stored', () => {
  it('signs nobody in and shows no key', async () => {
    const key = await pages.keyWith('admin');
    const cookie = await signedIn(key);
    const [row] = await pages.prisma.session.findMany();
    const stored = Object.values(row ?? {}).map((value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
    );
    const [, token = ''] = cookie?.split('=') ?? [];
    const secrets = [key, token, Buffer.from(token, 'base64url').toString('latin1')];
    for (const secret of secrets) expect(stored.join('\n')).not.toContain(secret);
    expect(row?.sealedKey?.length).toBeGreaterThan(key.length);
    pages.clock.now = new Date(pages.clock.now.getTime() + 1_000);
    await pages.show('GET /sessions');
    await pages.show('POST /sign-out', { form: {} });
    expect((await pages.prisma.session.findMany())[0]).toMatchObject({
      sealedKey: null,
      endedAt: pages.clock.now,
    });
  });

  it('goes once it has expired', async () => {
    await signedIn(await pages.keyWith('admin'));
    const { dropExpired } = createSessionStore(pages.prisma);
    await dropExpired(new Date(pages.clock.now.getTime() + 11 * 3_600_000));
    expect(await pages.prisma.session.count()).toBe(1);
    await dropExpired(new Date(pages.clock.now.getTime() + 13 * 3_600_000));
    expect(await pages.prisma.session.count()).toBe(0);
  });

  it('says when it was last used, a minute late at most', async () => {
    const cookie = await signedIn(await pages.keyWith('admin'));
    const lastUse = async () => (await pages.prisma.session.findFirstOrThrow()).lastUsedAt;
    const begun = await lastUse();
    later(50_000);
    await isIn(cookie);
    expect(await lastUse()).toEqual(begun);
    later(20_000);
    await isIn(cookie);
    expect(await lastUse()).toEqual(pages.clock.now);
  });
});
