import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestOf, mintKey } from '../../../src/config/api-key.ts';
import { type Access, installation } from '../../../src/core/accounts/access.ts';
import { type ApiKeyStore, createApiKeyStore } from '../../../src/db/api-keys.ts';
import {
  allows,
  createAuthenticate,
  type KeyClaim,
  type StoredKey,
} from '../../../src/http/keys/auth.ts';
import { ensureApiKey } from '../../../src/http/keys/first-key.ts';
import { scopes } from '../../../src/http/pipeline/route.ts';
import { noLimits } from '../../support/access.ts';
import { openTestDatabase, type TestDatabase } from '../support.ts';

const NOW = new Date('2026-11-20T12:00:00Z');

describe('authenticate', () => {
  const { id, token } = mintKey();
  const stored: StoredKey = {
    id,
    digest: digestOf(token),
    scopes: ['pets:read', 'of:tomorrow'],
    expiresAt: null,
    revokedAt: null,
    accountId: null,
    projectIds: [],
    accountClosedAt: null,
    accountLimits: null,
  };
  function withKey(change: Partial<StoredKey> = {}) {
    const key: StoredKey | null = { ...stored, ...change };
    const state = { key: key as StoredKey | null, asked: [] as KeyClaim[], now: NOW };
    const authenticate = createAuthenticate({
      limits: noLimits,
      findKey: async (claim) => {
        state.asked.push(claim);
        return claim.id === id ? state.key : null;
      },
      now: () => state.now,
    });
    return { state, authenticate };
  }
  const ok = { kind: 'ok', key: { id, scopes: ['pets:read'], access: installation } };

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
    expect(state.asked).toEqual([]);
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
    ['a key of an account that is closed', { accountId: 'a', accountClosedAt: NOW }],
  ])('%s is refused', async (_what, change) => {
    expect(await withKey(change).authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
  });

  const ofAccounts = [
    ['the installation', {}, { scopes, access: installation }],
    [
      'an account',
      { accountId: 'a' },
      {
        scopes: ['domains:read', 'domains:write', 'admin'],
        access: { kind: 'account', accountId: 'a', projectIds: null },
      },
    ],
    [
      'two projects of an account',
      { accountId: 'a', projectIds: ['p', 'q'], scopes: ['pets:read', 'domains:read'] },
      {
        scopes: ['domains:read'],
        access: { kind: 'account', accountId: 'a', projectIds: ['p', 'q'] },
      },
    ],
  ] as const;
  test.each(ofAccounts)('a key of %s reaches it, and no more', async (_of, change, key) => {
    const { authenticate } = withKey({ scopes, ...change });
    const limits = key.access.kind === 'account' && { limits: noLimits };
    const identity = { id, ...key, ...limits };
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'ok', key: identity });
  });

  test('admin implies every scope, and of an account those of accounts alone', () => {
    const implied = (access: Access) =>
      scopes.filter((scope) => allows({ id, scopes: ['admin'], access }, scope));
    const account = { kind: 'account', accountId: 'a', projectIds: null } as const;
    expect(implied(installation)).toEqual(scopes);
    expect(implied(account)).toEqual(['domains:read', 'domains:write', 'admin']);
  });

  test('a key is looked up once in five seconds, and a revoked one is refused after them', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    state.key = { ...stored, revokedAt: NOW };
    state.now = new Date(NOW.getTime() + 4_999);
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
    expect(state.asked).toHaveLength(1);
    state.now = new Date(NOW.getTime() + 5_000);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
  });

  test('a key that ends is refused at that moment, remembered or not', async () => {
    const { authenticate, state } = withKey({ expiresAt: new Date(NOW.getTime() + 1_000) });
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
    state.now = new Date(NOW.getTime() + 1_000);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
    expect(state.asked).toHaveLength(1);
  });

  test('a key that did not exist a moment ago works at once', async () => {
    const { authenticate, state } = withKey();
    state.key = null;
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
    state.key = stored;
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
  });

  test('a key is asked for by its id, one that an operator chose by its digest', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    await authenticate('Bearer an operators own key');
    expect(state.asked).toEqual([
      { id, digest: digestOf(token) },
      { id: null, digest: digestOf('an operators own key') },
    ]);
  });

  test('the right id is not enough: the rest of the key has to be right, too', async () => {
    const { authenticate } = withKey({ digest: digestOf(mintKey().token) });
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
  });

  test('a key that is forgotten is looked up at its next use', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    state.key = { ...stored, revokedAt: NOW };
    authenticate.forget('another');
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
    authenticate.forget(id);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
  });

  test('requests that come together look their key up once', async () => {
    const { authenticate, state } = withKey();
    const answers = await Promise.all([1, 2, 3].map(() => authenticate(`Bearer ${token}`)));
    expect(answers).toEqual([ok, ok, ok]);
    expect(state.asked).toHaveLength(1);
  });

  test('a key that is forgotten while it is looked up is not remembered', async () => {
    const answers: ((key: StoredKey) => void)[] = [];
    const findKey = () => new Promise<StoredKey>((resolve) => void answers.push(resolve));
    const authenticate = createAuthenticate({ limits: noLimits, findKey, now: () => NOW });
    const before = authenticate(`Bearer ${token}`);
    authenticate.forget(id);
    const after = authenticate(`Bearer ${token}`);
    answers[1]?.({ ...stored, revokedAt: NOW });
    expect(await after).toEqual({ kind: 'invalid' });
    answers[0]?.(stored); // read before it was revoked, and late
    expect(await before).toEqual(ok);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'invalid' });
  });

  test('the five seconds begin when a look-up does, however long it takes', async () => {
    const { authenticate, state } = withKey();
    const slow = authenticate(`Bearer ${token}`);
    state.now = new Date(NOW.getTime() + 5_000);
    await slow;
    await authenticate(`Bearer ${token}`);
    expect(state.asked).toHaveLength(2);
  });

  test('a clock that is set back makes no key be believed for longer', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    state.now = new Date(NOW.getTime() - 3_600_000);
    await authenticate(`Bearer ${token}`);
    expect(state.asked).toHaveLength(2);
  });

  test('a look-up that fails is a fault, not a refusal', async () => {
    const findKey = () => Promise.reject(new Error('gone'));
    const authenticate = createAuthenticate({ limits: noLimits, findKey, now: () => NOW });
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
  const find = (token: string) => keys.find({ id: null, digest: digestOf(token) });

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
