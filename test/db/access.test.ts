/** What an access reaches of projects, of the targets of host names, and of keys. What it does not reach is not there. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '../../src/config/api-key.ts';
import { type Access, installation } from '../../src/core/accounts/access.ts';
import { type AccountStore, createAccountStore } from '../../src/db/accounts.ts';
import { type ApiKeyStore, createApiKeyStore, type KeyOwner } from '../../src/db/api-keys.ts';
import { createDomainStore, findAttachedTarget } from '../../src/db/domains/domains.ts';
import {
  createProjectStore,
  type GrantedProject,
  type ProjectStore,
} from '../../src/db/projects.ts';
import { databases, openTestDatabase, type TestDatabase } from '../http/support.ts';
import { aStoredProject } from '../support/access.ts';
import { later, noon } from '../support/builders.ts';

/** Two of one account, one of another, and one of no account that anybody made. */
const names = ['shop', 'shop blog', 'bakery', 'default'] as const;
type Name = (typeof names)[number];

const within = (accountId: string, projectIds: readonly string[] | null = null): Access => ({
  kind: 'account',
  accountId,
  projectIds,
});

describe.each(databases)('an access on %s', (storage) => {
  let database: TestDatabase;
  let projects: ProjectStore;
  let accounts: AccountStore;
  let keys: ApiKeyStore;
  let stored: Readonly<Record<Name, GrantedProject>>;

  beforeAll(async () => {
    database = await openTestDatabase(storage);
    const { prisma } = database;
    projects = createProjectStore(prisma);
    accounts = createAccountStore(prisma);
    keys = createApiKeyStore(prisma);
    const [shop, bakery] = [await account('Shop'), await account('Bakery')];
    stored = {
      shop: await aStoredProject(prisma, { accountId: shop.id }),
      'shop blog': await aStoredProject(prisma, { accountId: shop.id }),
      bakery: await aStoredProject(prisma, { accountId: bakery.id }),
      default: await aStoredProject(prisma),
    };
    // The order of lists must not be chance.
    for (const [index, name] of names.entries()) {
      const createdAt = later(noon, index);
      await prisma.project.update({ where: { id: stored[name].id }, data: { createdAt } });
    }
  });
  afterAll(() => database.close());

  const account = (name: string) => accounts.create(installation, { name, limits: {} });
  const nameOf = (id: string) => names.find((name) => stored[name].id === id);
  const idsOf = (...some: readonly Name[]) => some.map((name) => stored[name].id);
  const ownerOf = (name: Name) => stored[name].accountId;

  const reach: readonly (readonly [of: string, access: () => Access, reaches: readonly Name[]])[] =
    [
      ['the installation', () => installation, names],
      ['an account', () => within(ownerOf('shop')), ['shop', 'shop blog']],
      ['another account', () => within(ownerOf('bakery')), ['bakery']],
      ['the default account', () => within(ownerOf('default')), ['default']],
      [
        'one project of an account',
        () => within(ownerOf('shop'), idsOf('shop blog')),
        ['shop blog'],
      ],
      [
        'all projects of an account by name',
        () => within(ownerOf('shop'), idsOf('shop blog', 'shop')),
        ['shop', 'shop blog'],
      ],
      ['no project of an account', () => within(ownerOf('shop'), []), []],
      [
        'a project that another account has',
        () => within(ownerOf('shop'), idsOf('bakery', 'shop')),
        ['shop'],
      ],
      ['an account that there is not', () => within(randomUUID()), []],
    ];

  describe.each(reach)('of %s', (_of, access, reaches) => {
    it(`lists ${reaches.join(', ') || 'nothing'}`, async () => {
      const found = await projects.list(access());
      expect(found.map(({ id }) => nameOf(id))).toEqual(reaches);
    });

    it('finds these and no others', async () => {
      for (const name of names) {
        const found = await projects.find(access(), stored[name].id);
        expect(found?.id ?? null, name).toBe(reaches.includes(name) ? stored[name].id : null);
      }
      expect(await projects.find(access(), randomUUID())).toBeNull();
    });

    it('is granted these and no others', async () => {
      const asked = [...idsOf(...names), randomUUID()];
      const granted = await projects.among(access(), asked);
      expect(granted.toSorted()).toEqual(idsOf(...reaches).sort());
      const ofTwo = await projects.among(access(), idsOf('bakery', 'shop'));
      const both = reaches.filter((name) => name === 'bakery' || name === 'shop');
      expect(ofTwo.toSorted()).toEqual(idsOf(...both).sort());
      expect(await projects.among(access(), [])).toEqual([]);
    });
  });

  it('finds the projects that have a host name, of those that it reaches', async () => {
    const domains = createDomainStore(database.prisma);
    const hostname = 'both.example';
    for (const name of ['shop', 'bakery'] as const) {
      await domains.add(
        { projectId: stored[name].id, hostname, target: `${name}.edge.test`, claimNonce: name },
        noon,
      );
    }
    const having = async (access: Access) =>
      (await projects.list(access, { hostname })).map(({ id }) => nameOf(id));
    expect(await having(installation)).toEqual(['shop', 'bakery']);
    expect(await having(within(ownerOf('shop')))).toEqual(['shop']);
    expect(await having(within(ownerOf('shop'), idsOf('shop blog')))).toEqual([]);
    expect(await having(within(ownerOf('default')))).toEqual([]);
  });

  it('is shown the target of a project that it reaches, whoever else holds the name', async () => {
    const { prisma } = database;
    const domains = createDomainStore(prisma);
    const hostname = 'held.example';
    const add = (name: Name, at: Date) =>
      domains.add(
        { projectId: stored[name].id, hostname, target: `${name[0]}.edge.test`, claimNonce: name },
        at,
      );
    const holder = await add('bakery', noon);
    await add('shop', later(noon, 1));
    await add('default', later(noon, 2));
    const status = { status: 'verified', verifiedAt: noon } as const;
    await prisma.domain.update({ where: { id: holder?.id ?? '' }, data: status });
    const target = (access: Access) => findAttachedTarget(prisma, access, hostname);
    expect(await target(installation)).toBe('b.edge.test'); // it holds the name
    expect(await target(within(ownerOf('bakery')))).toBe('b.edge.test');
    expect(await target(within(ownerOf('shop')))).toBe('s.edge.test');
    expect(await target(within(ownerOf('shop'), idsOf('shop blog')))).toBeNull();
    await prisma.domain.update({ where: { id: holder?.id ?? '' }, data: { status: 'pending' } });
    expect(await target(installation)).toBe('d.edge.test'); // the last that was added
  });

  describe('of keys', () => {
    const ids = { operator: 'operator', shop: 'shop', blog: 'blog', bakery: 'bakery' } as const;
    const all = Object.values(ids);
    const make = (owner: KeyOwner, id: string, more = {}) =>
      keys.create(owner, {
        id,
        name: id,
        digest: digestOf(id),
        scopes: ['admin'],
        createdAt: noon,
        ...more,
      });
    const grantedOf = async (name: Name) => {
      const found = await accounts.find(installation, ownerOf(name));
      return found?.id ?? expect.fail('no such account');
    };
    const rotation = (id: string) => ({
      successor: { id, digest: digestOf(id) },
      graceMs: 60_000,
      now: noon,
    });

    beforeAll(async () => {
      const shop = await grantedOf('shop');
      await make(installation, ids.operator);
      await make(shop, ids.shop, { createdAt: later(noon, 1) });
      const projectIds = [stored['shop blog'].id];
      await make(shop, ids.blog, {
        createdAt: later(noon, 2),
        scopes: ['domains:read'],
        projectIds,
      });
      await make(await grantedOf('bakery'), ids.bakery, { createdAt: later(noon, 3) });
    });

    const managed: readonly (readonly [of: string, () => Access, readonly string[]])[] = [
      ['the installation', () => installation, all],
      ['an account', () => within(ownerOf('shop')), ['shop', 'blog']],
      ['another account', () => within(ownerOf('bakery')), ['bakery']],
      ['the default account', () => within(ownerOf('default')), []],
      ['some projects', () => within(ownerOf('shop'), idsOf('shop blog')), []],
    ];
    it.each(managed)('that of %s manages its own', async (_of, access, reaches) => {
      expect((await keys.list(access())).map(({ id }) => id)).toEqual(reaches);
      for (const id of all) {
        const found = await keys.get(access(), id);
        expect(found?.id ?? null).toBe(reaches.includes(id) ? id : null);
        if (reaches.includes(id)) continue;
        const refused = { kind: 'not_found' };
        expect(await keys.rotate(access(), id, rotation('next'))).toEqual(refused);
        expect(await keys.revoke(access(), id, noon)).toBe('not_found');
      }
      expect(await keys.get(installation, 'next')).toBeNull();
      expect((await keys.list(installation)).every(({ revokedAt }) => revokedAt === null)).toBe(
        true,
      );
    });

    it('whatever its key reaches, it is shown itself', async () => {
      expect(await keys.self('blog')).toMatchObject({
        accountId: ownerOf('shop'),
        projectIds: [stored['shop blog'].id],
      });
    });

    it('a key is recognized with what it reaches, and when its account was closed', async () => {
      const claim = (id: string) => keys.find({ id, digest: digestOf(id) });
      const open = { accountClosedAt: null };
      expect(await claim('operator')).toMatchObject({ accountId: null, projectIds: [], ...open });
      expect(await claim('blog')).toMatchObject({
        accountId: ownerOf('shop'),
        projectIds: [stored['shop blog'].id],
        ...open,
      });
      const { id } = await account('Closed');
      await make(id, 'of a closed one');
      await accounts.close(installation, id, noon);
      expect(await claim('of a closed one')).toMatchObject({
        accountId: id,
        accountClosedAt: noon,
      });
    });

    it('a successor is of the same account, for the same projects', async () => {
      expect(await keys.rotate(within(ownerOf('shop')), 'blog', rotation('blog2'))).toMatchObject({
        kind: 'rotated',
        successor: { accountId: ownerOf('shop'), projectIds: [stored['shop blog'].id] },
      });
      expect((await keys.list(within(ownerOf('shop')))).map(({ id }) => id)).toContain('blog2');
    });

    it('no key of an account counts as one that may manage all keys', async () => {
      expect(await keys.revoke(installation, 'operator', noon)).toBe('last_admin');
      const atOnce = { ...rotation('operator2'), graceMs: 0 };
      const refused = { kind: 'last_admin' };
      expect(await keys.rotate(installation, 'operator', atOnce)).toEqual(refused);
      // An account can always be given another key, so its last one may go.
      expect(await keys.revoke(within(ownerOf('bakery')), 'bakery', noon)).toBe('revoked');
      const shopAtOnce = { ...rotation('shop2'), graceMs: 0 };
      expect(await keys.rotate(within(ownerOf('shop')), 'shop', shopAtOnce)).toMatchObject({
        kind: 'rotated',
      });
      await make(installation, 'another operator');
      expect(await keys.revoke(installation, 'operator', noon)).toBe('revoked');
    });
  });
});
