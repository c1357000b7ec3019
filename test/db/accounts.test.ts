/** Accounts in real databases: who finds them, what is changed, and when they can be closed. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Access, installation } from '../../src/core/accounts/access.ts';
import { type AccountStore, createAccountStore } from '../../src/db/accounts.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { databases, openTestDatabase, type TestDatabase } from '../http/support.ts';
import { aStoredProject, defaultAccount, granted } from '../support/access.ts';
import { later, noon } from '../support/builders.ts';

const within = (accountId: string, projectIds: readonly string[] | null = null): Access => ({
  kind: 'account',
  accountId,
  projectIds,
});

describe.each(databases)('accounts on %s', (storage) => {
  let database: TestDatabase;
  let accounts: AccountStore;

  beforeAll(async () => {
    database = await openTestDatabase(storage);
    accounts = createAccountStore(database.prisma);
  });
  afterAll(() => database.close());

  const make = (name: string, limits = {}) => accounts.create(installation, { name, limits });
  const load = (id: string) => accounts.find(installation, id);
  const idsFor = async (access: Access) => (await accounts.list(access)).map(({ id }) => id);

  it('begin with the one that everything without an account goes to', async () => {
    const [first] = await accounts.list(installation);
    expect(first).toMatchObject({ id: defaultAccount, name: 'Default', closedAt: null });
    const project = await aStoredProject(database.prisma);
    expect(project.accountId).toBe(defaultAccount);
  });

  it('are found as they were made, and may have the same name', async () => {
    const limits = { domains: 5, streams: null };
    const made = await make('Shop', limits);
    expect(made).toMatchObject({ name: 'Shop', limits, closedAt: null });
    expect(await load(made.id)).toEqual(made);
    expect((await make('Shop')).id).not.toBe(made.id);
    expect(await load(randomUUID())).toBeNull();
  });

  it('are listed oldest first, closed ones among them', async () => {
    const [first, second] = [await make('First'), await make('Second')];
    const createdAt = later(noon, -1);
    await database.prisma.account.update({
      where: { id: second.id },
      data: { createdAt, closedAt: noon },
    });
    const ids = await idsFor(installation);
    expect(ids.indexOf(second.id)).toBeLessThan(ids.indexOf(first.id));
    expect(new Set(ids).size).toBe(await database.prisma.account.count());
  });

  it('are found by their own keys alone, and by no others', async () => {
    const [own, other] = [await make('Own'), await make('Other')];
    for (const access of [within(own.id), within(own.id, [randomUUID()])]) {
      expect(await idsFor(access)).toEqual([own.id]);
      expect(await accounts.find(access, own.id)).toEqual(own);
      expect(await accounts.find(access, other.id)).toBeNull();
      expect(await accounts.find(access, defaultAccount)).toBeNull();
    }
  });

  it('are changed in the fields that are given', async () => {
    const { id } = await make('Shop', { domains: 5, keys: 2 });
    const change = (given: Parameters<AccountStore['update']>[2]) =>
      accounts.update(installation, id, given);
    expect(await change({})).toMatchObject({ name: 'Shop', limits: { domains: 5, keys: 2 } });
    expect(await change({ name: 'Store' })).toMatchObject({ name: 'Store', limits: { keys: 2 } });
    const limits = { projects: 1 };
    expect((await change({ limits })).limits).toEqual(limits);
    expect(await load(id)).toMatchObject({ name: 'Store', limits });
    expect((await change({ limits: {} })).limits).toEqual({});
  });

  it('are closed once, and keep the time', async () => {
    const { id } = await make('Shop');
    expect(await accounts.close(installation, id, noon)).toEqual({ kind: 'closed' });
    expect(await accounts.close(installation, id, later(noon, 1))).toEqual({ kind: 'closed' });
    expect((await load(id))?.closedAt).toEqual(noon);
  });

  it('are not closed while a domain is attached, of any of their projects', async () => {
    const { id } = await make('Shop');
    const other = await aStoredProject(database.prisma);
    await aStoredProject(database.prisma, { accountId: id });
    const project = await aStoredProject(database.prisma, { accountId: id });
    const domains = createDomainStore(database.prisma);
    const claim = { target: 'x.edge.test', claimNonce: 'n' };
    await domains.add({ projectId: other.id, hostname: 'theirs.example', ...claim }, noon);
    await domains.add({ projectId: project.id, hostname: 'docs.example', ...claim }, noon);
    expect(await accounts.close(installation, id, noon)).toEqual({ kind: 'in_use' });
    expect((await load(id))?.closedAt).toBeNull();
    await domains.remove(project.id, 'docs.example', noon);
    expect(await accounts.close(installation, id, noon)).toEqual({ kind: 'closed' });
  });

  it('are not closed where everything without an account goes', async () => {
    const closing = await accounts.close(installation, defaultAccount, noon);
    expect(closing).toEqual({ kind: 'default' });
    expect((await load(defaultAccount))?.closedAt).toBeNull();
  });

  it('may have the same slugs: one is taken within an account alone', async () => {
    const [shop, bakery] = [await make('Shop'), await make('Bakery')];
    const slug = 'docs';
    await aStoredProject(database.prisma, { slug, accountId: shop.id });
    const second = await aStoredProject(database.prisma, { slug, accountId: bakery.id });
    expect(second).toMatchObject({ slug, accountId: bakery.id });
    const again = aStoredProject(database.prisma, { slug, accountId: granted.account(shop.id) });
    await expect(again).rejects.toThrow('the slug is taken');
  });
});
