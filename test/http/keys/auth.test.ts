import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestOf, mintKey } from '../../../src/config/api-key.ts';
import { wholeInstallation } from '../../../src/core/access.ts';
import {
  type ApiKeyStore,
  createApiKeyStore,
  type KeyClaim,
  type StoredKey,
} from '../../../src/db/api-keys.ts';
import { createAuthenticate } from '../../../src/http/keys/auth.ts';
import { ensureApiKey } from '../../../src/http/keys/first-key.ts';
import { defaultConfig } from '../../support/plain-service.ts';
import { openTestDatabase, type TestDatabase } from '../support.ts';

/** Keys of the installation read no account. */
const accounts = { find: () => expect.fail('unexpected read of an account') };
const sessions = { find: () => expect.fail('unexpected read of a session') };
const NOW = new Date('2026-11-20T12:00:00Z');

describe('authenticate', () => {
  const { id, token } = mintKey();
  const stored: StoredKey = {
    id,
    digest: digestOf(token),
    scopes: ['pets:read', 'of:tomorrow'],
    accountId: null,
    projectIds: [],
    expiresAt: null,
    revokedAt: null,
  };
  function withKey(change: Partial<StoredKey> = {}) {
    const key: StoredKey | null = { ...stored, ...change };
    const state = { key: key as StoredKey | null, asked: [] as KeyClaim[], now: NOW };
    const find = async (claim: KeyClaim) => {
      state.asked.push(claim);
      return claim.id === id ? state.key : null;
    };
    const authenticate = createAuthenticate({
      accounts,
      config: defaultConfig,
      apiKeys: { find },
      sessions,
      now: () => state.now,
    });
    return { state, authenticate };
  }
  const ok = {
    kind: 'ok',
    key: { id, sessionId: null, scopes: ['pets:read'], access: wholeInstallation },
  };

  test.each([`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token} `])(
    'accepts %s',
    async (header) => {
      expect(await withKey().authenticate(header)).toEqual(ok);
    },
  );

  test.each([undefined, ''])('reports a missing key when there is no header', async (header) => {
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
  test.each(unasked)('rejects %s without a query', async (header) => {
    const { authenticate, state } = withKey();
    expect((await authenticate(header)).kind).toMatch(/^(not_bearer|unknown)$/);
    expect(state.asked).toEqual([]);
  });

  test.each([mintKey().token, 'a key that was never stored', `${token}, Bearer ${token}`])(
    'rejects the unknown key %s',
    async (unknown) => {
      expect(await withKey().authenticate(`Bearer ${unknown}`)).toEqual({ kind: 'unknown' });
    },
  );

  test.each([
    ['a revoked key', { revokedAt: NOW }, 'revoked'],
    ['a key that just expired', { expiresAt: NOW }, 'expired'],
    ['a key that expired and was revoked', { expiresAt: NOW, revokedAt: NOW }, 'revoked'],
  ])('rejects %s and says since when', async (_what, change, kind) => {
    const answer = await withKey(change).authenticate(`Bearer ${token}`);
    expect(answer).toEqual({ kind, at: NOW });
  });

  test('looks a key up once in five seconds and rejects a revoked one after that', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    state.key = { ...stored, revokedAt: NOW };
    state.now = new Date(NOW.getTime() + 4_999);
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
    expect(state.asked).toHaveLength(1);
    state.now = new Date(NOW.getTime() + 5_000);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'revoked', at: NOW });
  });

  test('rejects an expired key at once, cached or not', async () => {
    const { authenticate, state } = withKey({ expiresAt: new Date(NOW.getTime() + 1_000) });
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
    state.now = new Date(NOW.getTime() + 1_000);
    expect(await authenticate(`Bearer ${token}`)).toMatchObject({ kind: 'expired' });
    expect(state.asked).toHaveLength(1);
  });

  test('accepts a key that did not exist a moment ago', async () => {
    const { authenticate, state } = withKey();
    state.key = null;
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'unknown' });
    state.key = stored;
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
  });

  test('looks a generated key up by id and an operator’s own key by digest', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    await authenticate('Bearer an operators own key');
    expect(state.asked).toEqual([
      { id, digest: digestOf(token) },
      { id: null, digest: digestOf('an operators own key') },
    ]);
  });

  test('rejects a key with the right id and a wrong secret', async () => {
    const { authenticate } = withKey({ digest: digestOf(mintKey().token) });
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'unknown' });
  });

  test('looks a key up again once it is dropped from the cache', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    state.key = { ...stored, revokedAt: NOW };
    authenticate.forget('another');
    expect(await authenticate(`Bearer ${token}`)).toEqual(ok);
    authenticate.forget(id);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'revoked', at: NOW });
  });

  test('looks a key up once for concurrent requests', async () => {
    const { authenticate, state } = withKey();
    const answers = await Promise.all([1, 2, 3].map(() => authenticate(`Bearer ${token}`)));
    expect(answers).toEqual([ok, ok, ok]);
    expect(state.asked).toHaveLength(1);
  });

  test('does not cache a key that is dropped during its look-up', async () => {
    const answers: ((key: StoredKey) => void)[] = [];
    const find = () => new Promise<StoredKey>((resolve) => void answers.push(resolve));
    const authenticate = createAuthenticate({
      accounts,
      config: defaultConfig,
      apiKeys: { find },
      sessions,
      now: () => NOW,
    });
    const before = authenticate(`Bearer ${token}`);
    authenticate.forget(id);
    const after = authenticate(`Bearer ${token}`);
    answers[1]?.({ ...stored, revokedAt: NOW });
    expect(await after).toEqual({ kind: 'revoked', at: NOW });
    answers[0]?.(stored); // read before the revocation, delivered late
    expect(await before).toEqual(ok);
    expect(await authenticate(`Bearer ${token}`)).toEqual({ kind: 'revoked', at: NOW });
  });

  test('starts the five seconds when a look-up starts, however long it takes', async () => {
    const { authenticate, state } = withKey();
    const slow = authenticate(`Bearer ${token}`);
    state.now = new Date(NOW.getTime() + 5_000);
    await slow;
    await authenticate(`Bearer ${token}`);
    expect(state.asked).toHaveLength(2);
  });

  test('does not extend the cache time when the clock is set back', async () => {
    const { authenticate, state } = withKey();
    await authenticate(`Bearer ${token}`);
    state.now = new Date(NOW.getTime() - 3_600_000);
    await authenticate(`Bearer ${token}`);
    expect(state.asked).toHaveLength(2);
  });

  test('reports a failed look-up as a fault, not as a rejection', async () => {
    const find = () => Promise.reject(new Error('gone'));
    const authenticate = createAuthenticate({
      accounts,
      config: defaultConfig,
      apiKeys: { find },
      sessions,
      now: () => NOW,
    });
    await expect(authenticate(`Bearer ${token}`)).rejects.toThrow('gone');
  });
});

describe('The first key', () => {
  let database: TestDatabase;
  let keys: ApiKeyStore;
  beforeAll(async () => {
    database = await openTestDatabase();
    keys = createApiKeyStore(database.prisma);
  });
  afterAll(() => database.close());
  const find = (token: string) => keys.find({ id: null, digest: digestOf(token) });
  const record = async () => {};

  test('is created once when several processes start together on an empty database', async () => {
    const starts = [1, 2, 3].map(() =>
      ensureApiKey(keys, { configured: undefined, now: NOW, record }),
    );
    const created = (await Promise.all(starts)).flatMap((start) => start.created ?? []);
    expect(created).toHaveLength(1);
    expect(await find(created[0] ?? '')).toMatchObject({ scopes: ['admin'], revokedAt: null });
    expect(await ensureApiKey(keys, { configured: undefined, now: NOW, record })).toEqual({
      created: null,
    });
  });

  test('is stored as a digest only', async () => {
    const { token } = mintKey();
    await ensureApiKey(keys, { configured: token, now: NOW, record });
    const [table] = await database.prisma.$queryRaw<{ rows: string }[]>`
      SELECT json_agg(api_key)::text AS rows FROM api_key`;
    expect(table?.rows).toContain('configured');
    expect(table?.rows).not.toContain(token.slice(22, 54));
  });

  test('is accepted when the operator chose it, and replaces the one of an earlier start', async () => {
    await ensureApiKey(keys, { configured: 'the old key of an operator', now: NOW, record });
    for (const _start of [1, 2]) {
      const configured = 'the new key of an operator';
      expect(await ensureApiKey(keys, { configured, now: NOW, record })).toEqual({ created: null });
    }
    expect(await find('the old key of an operator')).toBeNull();
    expect(await find('the new key of an operator')).toMatchObject({ scopes: ['admin'] });
  });

  test('stays revoked when a process starts with it again', async () => {
    const configured = 'a key that leaked out';
    await ensureApiKey(keys, { configured, now: NOW, record });
    await database.prisma.apiKey.update({ where: { id: 'configured' }, data: { revokedAt: NOW } });
    await ensureApiKey(keys, { configured, now: NOW, record });
    expect((await find(configured))?.revokedAt).toEqual(NOW);
  });

  const { token } = mintKey();
  test.each([
    [`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`, /checksum/],
    ['ein Schlüssel mit Umlaut', /printable ASCII/],
    [' a key with a space before it', /printable ASCII/],
    ['x'.repeat(513), /at most 512 characters/],
  ])('is rejected at startup when no request could use it: %s', async (configured, words) => {
    await expect(ensureApiKey(keys, { configured, now: NOW, record })).rejects.toThrow(words);
  });
});
