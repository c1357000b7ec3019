import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiKeyStore, createApiKeyStore } from '../../src/db/api-keys.ts';
import { digestOf, mintKey, parseKey } from '../../src/http/api-key.ts';
import { createAuthenticate, type StoredKey } from '../../src/http/auth.ts';
import { ensureApiKey } from '../../src/http/first-key.ts';
import { openTestDatabase, type TestDatabase } from './support.ts';

const NOW = new Date('2026-11-20T12:00:00Z');

describe('a key', () => {
  test('shows what it is, and carries a checksum', () => {
    const { id, token } = mintKey();
    expect(token).toMatch(/^signpost_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/);
    expect(parseKey(token)).toEqual({ kind: 'ours', id });
    expect(mintKey().token).not.toBe(token);
  });

  test('has the published checksum: CRC-32 in base 62', () => {
    const rest = `signpost_${'0'.repeat(12)}_${'0'.repeat(32)}`; // its CRC-32 is 1507724809
    expect(parseKey(`${rest}1e2G65`)).toEqual({ kind: 'ours', id: '0'.repeat(12) });
    expect(parseKey(`${rest}000000`)).toEqual({ kind: 'mistyped' });
  });

  test('with any one character changed is recognised as mistyped', () => {
    const { token } = mintKey();
    for (let at = token.length - 38; at < token.length; at++) {
      const other = token[at] === 'x' ? 'y' : 'x';
      expect(parseKey(token.slice(0, at) + other + token.slice(at + 1)).kind).toBe('mistyped');
    }
  });

  test.each(['', 'an operators own key', `${mintKey().token}x`, ` ${mintKey().token}`])(
    '%j is not of our making',
    (token) => expect(parseKey(token).kind).toBe('foreign'),
  );
});

describe('authenticate', () => {
  const { id, token } = mintKey();
  function withKey(change: Partial<StoredKey> = {}) {
    const state = {
      key: {
        id,
        scopes: ['pets:read', 'of:tomorrow'],
        expiresAt: null,
        revokedAt: null,
        ...change,
      } as StoredKey | null,
      asked: 0,
      now: NOW,
    };
    const authenticate = createAuthenticate({
      findKey: async (digest) => {
        state.asked++;
        return Buffer.compare(digest, digestOf(token)) === 0 ? state.key : null;
      },
      now: () => state.now,
    });
    return { state, authenticate };
  }
  const ok = { kind: 'ok', key: { id, scopes: ['pets:read'] } };

  test.each([`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token} `])(
    '%s is accepted',
    async (header) => {
      expect(await withKey().authenticate(header)).toEqual(ok);
    },
  );

  test.each([undefined, ''])('without a header a key is missing', async (header) => {
    expect(await withKey().authenticate(header)).toEqual({ kind: 'missing' });
  });

  const unasked = [
    'Bearer',
    'Bearer ',
    `Basic ${token}`,
    token,
    `Bearer\t${token}`,
    `Bearer ${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`,
    `Bearer ${'x'.repeat(513)}`,
  ];
  test.each(unasked)('%s is refused without a query', async (header) => {
    const { authenticate, state } = withKey();
    expect(await authenticate(header)).toEqual({ kind: 'invalid' });
    expect(state.asked).toBe(0);
  });

  test.each([mintKey().token, 'a key that nobody stored', `${token}, Bearer ${token}`])(
    '%s is nobody’s key',
    async (unknown) => {
      expect(await withKey().authenticate(`Bearer ${unknown}`)).toEqual({ kind: 'invalid' });
    },
  );

  test.each([
    ['a revoked key', { revokedAt: NOW }],
    ['a key that ended this moment', { expiresAt: NOW }],
  ])('%s is refused', async (_what, change) => {
    expect(await withKey(change).authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
  });

  test('a key is looked up once in five seconds, and a revoked one is refused after them', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    state.key = { id, scopes: [], expiresAt: null, revokedAt: NOW };
    state.now = new Date(NOW.getTime() + 4_999);
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
    expect(state.asked).toBe(1);
    state.now = new Date(NOW.getTime() + 5_000);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
  });

  test('a key that ends is refused at that moment, remembered or not', async () => {
    const { authenticate, state } = withKey({ expiresAt: new Date(NOW.getTime() + 1_000) });
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
    state.now = new Date(NOW.getTime() + 1_000);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
    expect(state.asked).toBe(1);
  });

  test('a key that did not exist a moment ago works at once', async () => {
    const { authenticate, state } = withKey();
    const stored = state.key;
    state.key = null;
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
    state.key = stored;
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
  });

  test('a look-up that fails is a fault, not a refusal', async () => {
    const findKey = () => Promise.reject(new Error('gone'));
    const authenticate = createAuthenticate({ findKey, now: () => NOW });
    await expect(authenticate(`Bearer ${token}`)).rejects.toThrow('gone');
  });
});

describe('the first key', () => {
  let database: TestDatabase;
  let keys: ApiKeyStore;
  beforeAll(async () => {
    database = await openTestDatabase();
    keys = createApiKeyStore(database.prisma);
  });
  afterAll(() => database.close());
  const find = (token: string) => keys.find(digestOf(token));

  test('is made where there is none, by one of several processes that start at once', async () => {
    const starts = [1, 2, 3].map(() => ensureApiKey(keys, { configured: undefined, now: NOW }));
    const created = (await Promise.all(starts)).flatMap((start) => start.created ?? []);
    expect(created).toHaveLength(1);
    expect(await find(created[0] ?? '')).toMatchObject({ scopes: ['admin'], revokedAt: null });
    expect(await ensureApiKey(keys, { configured: undefined, now: NOW })).toEqual({
      created: null,
    });
  });

  test('is kept as a digest only', async () => {
    const { token } = mintKey();
    await ensureApiKey(keys, { configured: token, now: NOW });
    const [table] = await database.prisma.$queryRaw<{ rows: string }[]>`
      SELECT json_agg(api_key)::text AS rows FROM api_key`;
    expect(table?.rows).toContain('configured');
    expect(table?.rows).not.toContain(token.slice(22, 54));
  });

  test('that an operator chose is accepted, and replaces the one of an earlier start', async () => {
    await ensureApiKey(keys, { configured: 'the old key of an operator', now: NOW });
    for (const _start of [1, 2]) {
      const configured = 'the new key of an operator';
      expect(await ensureApiKey(keys, { configured, now: NOW })).toEqual({ created: null });
    }
    expect(await find('the old key of an operator')).toBeNull();
    expect(await find('the new key of an operator')).toMatchObject({ scopes: ['admin'] });
  });

  test('stays revoked when a process starts with it again', async () => {
    const configured = 'a key that leaked out';
    await ensureApiKey(keys, { configured, now: NOW });
    await database.prisma.apiKey.update({ where: { id: 'configured' }, data: { revokedAt: NOW } });
    await ensureApiKey(keys, { configured, now: NOW });
    expect((await find(configured))?.revokedAt).toEqual(NOW);
  });

  const { token } = mintKey();
  test.each([
    [`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`, /checksum/],
    ['ein Schlüssel mit Umlaut', /printable ASCII/],
    [' a key with a space before it', /printable ASCII/],
    ['x'.repeat(513), /at most 512 characters/],
  ])(
    '%s is refused at the start, because no request could ever use it',
    async (configured, words) => {
      await expect(ensureApiKey(keys, { configured, now: NOW })).rejects.toThrow(words);
    },
  );
});
