import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf, mintKey } from '../../src/config/api-key.ts';
import { installation } from '../../src/core/accounts/access.ts';
import { type ApiKeyStore, createApiKeyStore, isLive } from '../../src/db/api-keys.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { databases, openTestDatabase, type TestDatabase } from '../http/support.ts';
import { later, noon } from '../support/builders.ts';

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const rounds = [1, 2, 3, 4, 5]; // a race that is lost once in two rounds is seen

describe.each(databases)('keys on %s', (storage) => {
  let database: TestDatabase;
  let prisma: PrismaClient;
  let keys: ApiKeyStore;

  beforeAll(async () => {
    database = await openTestDatabase(storage);
    prisma = database.prisma;
    keys = createApiKeyStore(prisma);
  });
  beforeEach(async () => void (await prisma.apiKey.deleteMany()));
  afterAll(() => database.close());

  type Made = { readonly scopes?: readonly string[]; readonly expiresAt?: Date };
  async function make(id: string, { scopes = ['pets:read'], expiresAt }: Made = {}): Promise<void> {
    const digest = digestOf(`the key ${id}`);
    const end = expiresAt === undefined ? {} : { expiresAt };
    await keys.create(installation, {
      id,
      name: `of ${id}`,
      digest,
      scopes,
      createdAt: noon,
      ...end,
    });
  }

  const admin = { scopes: ['admin'] } as const;
  const aSuccessor = (id = mintKey().id) => ({ id, digest: digestOf(`the key ${id}`) });
  const rotate = (id: string, to: string, { graceMs = DAY, now = noon } = {}) =>
    keys.rotate(installation, id, { successor: aSuccessor(to), graceMs, now });
  const live = async (now: Date) =>
    (await keys.list(installation)).filter((key) => isLive(key, now)).map(({ id }) => id);

  it('are listed oldest first, with everything but their digests', async () => {
    await make('b');
    await make('a', { expiresAt: later(noon, DAY) });
    await prisma.apiKey.update({ where: { id: 'b' }, data: { createdAt: later(noon, -1) } });
    const shown = await keys.list(installation);
    expect(shown.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(shown[1]).toEqual({
      id: 'a',
      name: 'of a',
      accountId: null,
      projectIds: [],
      scopes: ['pets:read'],
      createdAt: noon,
      expiresAt: later(noon, DAY),
      revokedAt: null,
      lastUsedAt: null,
      successorId: null,
      deprecatedUses: [],
    });
    expect(await keys.get(installation, 'a')).toEqual(shown[1]);
    expect(await keys.get(installation, 'c')).toBeNull();
  });

  it('are found by their id, and by their digest where that is all there is', async () => {
    await make('a');
    const digest = digestOf('the key a');
    expect(await keys.find({ id: null, digest })).toMatchObject({ id: 'a' });
    expect(await keys.find({ id: 'of another installation', digest })).toMatchObject({ id: 'a' });
    expect(await keys.find({ id: 'a', digest: digestOf('wrong') })).toMatchObject({ id: 'a' });
    expect(await keys.find({ id: 'b', digest: digestOf('wrong') })).toBeNull();
  });

  it('that replace the one before under the same id have nothing of it', async () => {
    const put = (token: string) =>
      keys.put({
        id: 'c',
        name: token,
        digest: digestOf(token),
        scopes: ['admin'],
        createdAt: noon,
      });
    await put('the first');
    await rotate('c', 'd');
    const use = { operationId: 'getPet', count: 3n, lastUsedAt: noon };
    await prisma.deprecatedUse.create({ data: { apiKeyId: 'c', ...use } });
    await put('the first');
    expect(await keys.get(installation, 'c')).toMatchObject({
      successorId: 'd',
      deprecatedUses: [use],
    });
    await put('the second');
    const nothing = { expiresAt: null, successorId: null, revokedAt: null, deprecatedUses: [] };
    expect(await keys.get(installation, 'c')).toMatchObject({ name: 'the second', ...nothing });
  });

  describe('that are rotated', () => {
    it('live on beside their successors, and end after the grace', async () => {
      await make('a');
      expect(await rotate('a', 'b')).toMatchObject({
        kind: 'rotated',
        successor: { id: 'b', name: 'of a', scopes: ['pets:read'], createdAt: noon },
      });
      expect(await keys.get(installation, 'a')).toMatchObject({
        successorId: 'b',
        expiresAt: later(noon, DAY),
      });
      expect(await live(later(noon, DAY - 1))).toEqual(['a', 'b']);
      expect(await live(later(noon, DAY))).toEqual(['b']);
    });

    const ends: readonly (readonly [
      what: string,
      own: number | null,
      grace: number,
      old: number,
    ])[] = [
      ['a key without an end ends after the grace', null, DAY, DAY],
      ['a key that ends later ends after the grace', 90 * DAY, DAY, DAY],
      ['a key that ends within the grace keeps its end', MINUTE, DAY, MINUTE],
      ['without a grace a key ends now', null, 0, 0],
    ];
    it.each(ends)('%s', async (_what, own, graceMs, old) => {
      await make('a', own === null ? {} : { expiresAt: later(noon, own) });
      await rotate('a', 'b', { graceMs });
      expect((await keys.get(installation, 'a'))?.expiresAt).toEqual(later(noon, old));
    });

    it('give their successors as long a life as they had', async () => {
      await make('a', { expiresAt: later(noon, 90 * DAY) });
      const now = later(noon, 80 * DAY);
      await rotate('a', 'b', { now });
      expect((await keys.get(installation, 'b'))?.expiresAt).toEqual(later(now, 90 * DAY));
    });

    it('are not rotated again, nor are those that have ended', async () => {
      await make('a');
      await rotate('a', 'b');
      await make('c', { expiresAt: noon });
      await make('d');
      await keys.revoke(installation, 'd', noon);
      expect(await rotate('a', 'x')).toEqual({ kind: 'has_successor' });
      expect(await rotate('c', 'x')).toEqual({ kind: 'ended' });
      expect(await rotate('d', 'x')).toEqual({ kind: 'ended' });
      expect(await rotate('nobody', 'x')).toEqual({ kind: 'not_found' });
      expect(await keys.get(installation, 'x')).toBeNull();
    });

    it('are never three of one line at once', async () => {
      await make('a');
      await rotate('a', 'b', { graceMs: DAY });
      const refused = { kind: 'predecessor_live', predecessorId: 'a', endsAt: later(noon, DAY) };
      expect(await rotate('b', 'c')).toEqual(refused);
      expect(await rotate('b', 'c', { graceMs: 0 })).toMatchObject({ kind: 'rotated' });
      expect(await rotate('c', 'd')).toEqual(refused); // b, between them, has ended
      expect(await live(noon)).toEqual(['a', 'c']);
      await keys.revoke(installation, 'a', noon);
      expect(await rotate('c', 'd')).toMatchObject({ kind: 'rotated' });
      expect(await live(noon)).toEqual(['c', 'd']);
    });

    it.each(rounds)('by several at once get one successor (round %i)', async () => {
      await make('a');
      const results = await Promise.all(['b', 'c', 'd'].map((to) => rotate('a', to)));
      expect(results.filter(({ kind }) => kind === 'rotated')).toHaveLength(1);
      expect(await live(noon)).toHaveLength(2);
    });
  });

  describe('that are revoked', () => {
    it('end, and stay as they ended', async () => {
      await make('a');
      expect(await keys.revoke(installation, 'a', noon)).toBe('revoked');
      expect(await keys.revoke(installation, 'a', later(noon, MINUTE))).toBe('revoked');
      expect((await keys.get(installation, 'a'))?.revokedAt).toEqual(noon);
      expect(await keys.revoke(installation, 'b', noon)).toBe('not_found');
    });

    it('are not the last one that may manage keys', async () => {
      await make('a', admin);
      await make('b');
      await make('revoked', admin);
      await keys.revoke(installation, 'revoked', noon);
      await make('ended', { ...admin, expiresAt: noon });
      expect(await keys.revoke(installation, 'a', noon)).toBe('last_admin');
      expect(await keys.revoke(installation, 'ended', noon)).toBe('revoked');
      expect(await rotate('a', 'c', { graceMs: 0 })).toEqual({ kind: 'last_admin' });
      expect(await rotate('a', 'c')).toMatchObject({ kind: 'rotated' });
      expect(await keys.revoke(installation, 'a', noon)).toBe('revoked');
      expect(await live(noon)).toEqual(['b', 'c']);
    });

    it.each(rounds)('by several at once leave one that may manage keys (round %i)', async () => {
      const ids = ['a', 'b', 'c', 'd'];
      for (const id of ids) await make(id, admin);
      await Promise.all([
        ...ids.map((id) => keys.revoke(installation, id, noon)),
        rotate('a', 'x', { graceMs: 0 }),
      ]);
      expect(await live(noon)).toHaveLength(1);
    });
  });
});
