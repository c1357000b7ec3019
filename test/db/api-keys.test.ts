import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf, mintKey } from '../../src/config/api-key.ts';
import { wholeInstallation } from '../../src/core/access.ts';
import { DAY, MINUTE } from '../../src/core/time.ts';
import { type ApiKeyStore, createApiKeyStore, isLive } from '../../src/db/api-keys.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { databases, openTestDatabase, type TestDatabase } from '../http/support.ts';
import { later, noon } from '../support/builders.ts';

const rounds = [1, 2, 3, 4, 5]; // finds a race that is lost in every second round

describe.each(databases)('API keys on %s', (storage) => {
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
    await keys.create(wholeInstallation, {
      id,
      name: `of ${id}`,
      digest,
      scopes,
      createdAt: noon,
      ...end,
    });
  }

  const everyKey = { after: null, limit: 100 } as const;
  const admin = { scopes: ['admin'] } as const;
  const aSuccessor = (id = mintKey().id) => ({ id, digest: digestOf(`the key ${id}`) });
  const rotate = (id: string, to: string, { graceMs = DAY, now = noon } = {}) =>
    keys.rotate(wholeInstallation, id, { askerId: null, successor: aSuccessor(to), graceMs, now });
  const live = async (now: Date) =>
    (await keys.list(wholeInstallation, everyKey)).rows
      .filter((key) => isLive(key, now))
      .map(({ id }) => id);

  it('are listed oldest first without their digests', async () => {
    await make('b');
    await make('a', { expiresAt: later(noon, DAY) });
    await prisma.apiKey.update({ where: { id: 'b' }, data: { createdAt: later(noon, -1) } });
    const { rows: shown } = await keys.list(wholeInstallation, everyKey);
    expect(shown.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(shown[1]).toEqual({
      id: 'a',
      name: 'of a',
      scopes: ['pets:read'],
      accountId: null,
      projectIds: [],
      createdAt: noon,
      expiresAt: later(noon, DAY),
      revokedAt: null,
      lastUsedAt: null,
      successorId: null,
      madeBy: null,
      deprecatedUses: [],
    });
    expect(await keys.get(wholeInstallation, 'a')).toEqual(shown[1]);
    expect(await keys.get(wholeInstallation, 'c')).toBeNull();
  });

  it('give another key no longer life than their own, and never rotate their maker', async () => {
    const end = later(noon, DAY);
    await make('maker', admin);
    await make('short', { ...admin, expiresAt: end });
    await make('later', { expiresAt: later(noon, 2 * DAY) });
    await prisma.apiKey.update({ where: { id: 'short' }, data: { madeBy: 'maker' } });
    const rotateBy = async (askerId: string, id: string) => {
      const rotation = { askerId, successor: aSuccessor(), graceMs: DAY, now: noon };
      return keys.rotate(wholeInstallation, id, rotation);
    };
    expect(await rotateBy('short', 'maker')).toEqual({ kind: 'made_asker' });
    expect(await rotateBy('short', 'later')).toEqual({ kind: 'outlives_asker', endsAt: end });
    expect(await keys.list(wholeInstallation, everyKey)).toMatchObject({ rows: { length: 3 } });
    expect(await rotateBy('maker', 'later')).toMatchObject({ kind: 'rotated' });
    const own = await rotateBy('short', 'short');
    expect(own).toMatchObject({ kind: 'rotated', successor: { expiresAt: end } });
  });

  it('are found by their ID, or by their digest alone', async () => {
    await make('a');
    const digest = digestOf('the key a');
    expect(await keys.find({ id: null, digest })).toMatchObject({ id: 'a' });
    expect(await keys.find({ id: 'of another installation', digest })).toMatchObject({ id: 'a' });
    expect(await keys.find({ id: 'a', digest: digestOf('wrong') })).toMatchObject({ id: 'a' });
    expect(await keys.find({ id: 'b', digest: digestOf('wrong') })).toBeNull();
  });

  it('with a reused ID inherit nothing from the previous one', async () => {
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
    expect(await keys.get(wholeInstallation, 'c')).toMatchObject({
      successorId: 'd',
      deprecatedUses: [use],
    });
    await put('the second');
    const nothing = { expiresAt: null, successorId: null, revokedAt: null, deprecatedUses: [] };
    expect(await keys.get(wholeInstallation, 'c')).toMatchObject({
      name: 'the second',
      ...nothing,
    });
  });

  describe('with a rotation', () => {
    it('stay valid beside their successors until the grace period ends', async () => {
      await make('a');
      expect(await rotate('a', 'b')).toMatchObject({
        kind: 'rotated',
        successor: { id: 'b', name: 'of a', scopes: ['pets:read'], createdAt: noon },
      });
      expect(await keys.get(wholeInstallation, 'a')).toMatchObject({
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
      ['a key without an expiry ends after the grace period', null, DAY, DAY],
      ['a key that expires later ends after the grace period', 90 * DAY, DAY, DAY],
      ['a key that expires within the grace period keeps its expiry', MINUTE, DAY, MINUTE],
      ['without a grace period a key ends now', null, 0, 0],
    ];
    it.each(ends)('%s', async (_what, own, graceMs, old) => {
      await make('a', own === null ? {} : { expiresAt: later(noon, own) });
      await rotate('a', 'b', { graceMs });
      expect((await keys.get(wholeInstallation, 'a'))?.expiresAt).toEqual(later(noon, old));
    });

    it('give their successors the same lifetime', async () => {
      await make('a', { expiresAt: later(noon, 90 * DAY) });
      const now = later(noon, 80 * DAY);
      await rotate('a', 'b', { now });
      expect((await keys.get(wholeInstallation, 'b'))?.expiresAt).toEqual(later(now, 90 * DAY));
    });

    it('are not rotated twice, nor after they have ended', async () => {
      await make('a');
      await rotate('a', 'b');
      await make('c', { expiresAt: noon });
      await make('d');
      await keys.revoke(wholeInstallation, 'd', noon);
      expect(await rotate('a', 'x')).toEqual({ kind: 'has_successor' });
      expect(await rotate('c', 'x')).toEqual({ kind: 'ended' });
      expect(await rotate('d', 'x')).toEqual({ kind: 'ended' });
      expect(await rotate('nobody', 'x')).toEqual({ kind: 'not_found' });
      expect(await keys.get(wholeInstallation, 'x')).toBeNull();
    });

    it('are never three of one line at once', async () => {
      await make('a');
      await rotate('a', 'b', { graceMs: DAY });
      const refused = { kind: 'predecessor_live', predecessorId: 'a', endsAt: later(noon, DAY) };
      expect(await rotate('b', 'c')).toEqual(refused);
      expect(await rotate('b', 'c', { graceMs: 0 })).toMatchObject({ kind: 'rotated' });
      expect(await rotate('c', 'd')).toEqual(refused); // b, between them, has ended
      expect(await live(noon)).toEqual(['a', 'c']);
      await keys.revoke(wholeInstallation, 'a', noon);
      expect(await rotate('c', 'd')).toMatchObject({ kind: 'rotated' });
      expect(await live(noon)).toEqual(['c', 'd']);
    });

    it.each(rounds)('by concurrent calls get one successor (round %i)', async () => {
      await make('a');
      const results = await Promise.all(['b', 'c', 'd'].map((to) => rotate('a', to)));
      expect(results.filter(({ kind }) => kind === 'rotated')).toHaveLength(1);
      expect(await live(noon)).toHaveLength(2);
    });
  });

  describe('with a revocation', () => {
    it('end once and keep that time', async () => {
      await make('a');
      expect(await keys.revoke(wholeInstallation, 'a', noon)).toMatchObject({ kind: 'revoked' });
      expect(await keys.revoke(wholeInstallation, 'a', later(noon, MINUTE))).toMatchObject({
        kind: 'revoked',
      });
      expect((await keys.get(wholeInstallation, 'a'))?.revokedAt).toEqual(noon);
      expect(await keys.revoke(wholeInstallation, 'b', noon)).toMatchObject({ kind: 'not_found' });
    });

    it('include at least one that can manage keys', async () => {
      await make('a', admin);
      await make('b');
      await make('revoked', admin);
      await keys.revoke(wholeInstallation, 'revoked', noon);
      await make('ended', { ...admin, expiresAt: noon });
      expect(await keys.revoke(wholeInstallation, 'a', noon)).toMatchObject({ kind: 'last_admin' });
      expect(await keys.revoke(wholeInstallation, 'ended', noon)).toMatchObject({
        kind: 'revoked',
      });
      expect(await rotate('a', 'c', { graceMs: 0 })).toEqual({ kind: 'last_admin' });
      expect(await rotate('a', 'c')).toMatchObject({ kind: 'rotated' });
      expect(await keys.revoke(wholeInstallation, 'a', noon)).toMatchObject({ kind: 'revoked' });
      expect(await live(noon)).toEqual(['b', 'c']);
    });

    it.each(rounds)('by concurrent calls keep one that can manage keys (round %i)', async () => {
      const ids = ['a', 'b', 'c', 'd'];
      for (const id of ids) await make(id, admin);
      await Promise.all([
        ...ids.map((id) => keys.revoke(wholeInstallation, id, noon)),
        rotate('a', 'x', { graceMs: 0 }),
      ]);
      expect(await live(noon)).toHaveLength(1);
    });
  });
});
