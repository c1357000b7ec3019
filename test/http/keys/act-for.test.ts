/** `Signpost-Account`: a key of the installation reaches one account with it, and a key of an account no other one. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { installation } from '../../../src/core/accounts/access.ts';
import type { GrantedAccount } from '../../../src/db/accounts.ts';
import type { GrantedProject } from '../../../src/db/projects.ts';
import { createActFor } from '../../../src/http/keys/act-for.ts';
import { type Scope, scopes } from '../../../src/http/pipeline/route.ts';
import { aStoredProject, noLimits } from '../../support/access.ts';
import { later, noon } from '../../support/builders.ts';
import { type Accounts, idsOf, openAccounts } from '../account-fixture.ts';
import { plainRoute } from '../plain-route.ts';
import { errorBody } from '../support.ts';

type Owned = { readonly account: GrantedAccount; readonly project: GrantedProject };

let t: Accounts;
let shop: Owned;
let bakery: Owned;
let closed: Owned;
let ofNobody: GrantedProject;

beforeAll(async () => {
  t = await openAccounts([
    plainRoute({ path: '/v1/for-everybody' }),
    plainRoute({ path: '/v1/for-operators', scope: 'ops:read', operators: true }),
  ]);
  ofNobody = await aStoredProject(t.prisma);
  shop = await t.anAccount('Shop');
  bakery = await t.anAccount('Bakery');
  closed = await t.anAccount('Closed');
  await t.prisma.account.update({ where: { id: closed.account.id }, data: { closedAt: noon } });
});
afterAll(() => t.close());

const notFound = { status: 404, body: errorBody(404, 'account_not_found') };
const projectsOf = async (...asked: Parameters<Accounts['call']>) =>
  idsOf((await t.call(...asked)).body);

describe('a key of the installation', () => {
  it('reaches the projects of every account without the header', async () => {
    const all = [ofNobody, shop.project, bakery.project, closed.project].map(({ id }) => id);
    expect((await projectsOf('GET /v1/projects')).toSorted()).toEqual(all.sort());
  });

  it('reaches those of the account that the header names, and no others', async () => {
    const account = shop.account.id;
    expect(await projectsOf('GET /v1/projects', { account })).toEqual([shop.project.id]);
    const get = (project: GrantedProject) => t.call(`GET /v1/projects/${project.id}`, { account });
    expect(await get(shop.project)).toMatchObject({ status: 200, body: { accountId: account } });
    for (const one of [bakery.project, ofNobody]) {
      expect(await get(one)).toMatchObject({
        status: 404,
        body: errorBody(404, 'project_not_found'),
      });
    }
  });

  it.each<[what: string, account: () => string]>([
    ['is closed', () => closed.account.id],
    ['there is not', randomUUID],
    ['is a name', () => 'Shop'],
    ['is another spelling of one', () => shop.account.id.toUpperCase()],
    ['are two', () => `${shop.account.id}, ${bakery.account.id}`],
    ['is empty', () => ''],
  ])('reaches nothing where the account %s', async (_what, account) => {
    expect(await t.call('GET /v1/projects', { account: account() })).toMatchObject(notFound);
    expect(await t.call('GET /v1/keys/self', { account: account() })).toMatchObject(notFound);
    const json = { name: 'P', slug: `p-${randomUUID()}` };
    expect(await t.call('POST /v1/projects', { account: account(), json })).toMatchObject(notFound);
  });

  it('makes projects and keys in the account', async () => {
    const account = bakery.account.id;
    const json = { name: 'P', slug: 'made-for-the-bakery' };
    const made = await t.call('POST /v1/projects', { account, json });
    expect(made).toMatchObject({ status: 201, body: { accountId: account } });
    const key = { name: 'its own', scopes: ['domains:read'] };
    const minted = await t.call('POST /v1/keys', { account, json: key });
    expect(minted).toMatchObject({ status: 201, body: { accountId: account, projectIds: [] } });
    await t.prisma.project.deleteMany({ where: { slug: json.slug } });
  });

  it('is the same key still: it is shown as it is, and what it does is noted for it', async () => {
    const account = shop.account.id;
    const self = await t.call('GET /v1/keys/self', { account });
    expect(self).toMatchObject({ status: 200, body: { accountId: null, scopes: ['admin'] } });
    const { id } = self.body as { readonly id: string };
    expect(t.lines.at(-1)?.fields).toMatchObject({ keyId: id, accountId: account });
    await t.call('GET /v1/keys/self');
    expect(t.lines.at(-1)?.fields).not.toHaveProperty('accountId');
  });

  it('puts no header that nobody has checked into the log', async () => {
    for (const line of ['GET /v1/projects', 'GET /v1/pets', 'POST /v1/accounts']) {
      await t.call(line, { account: 'signpost_secret' });
      expect(JSON.stringify(t.lines.at(-1))).not.toContain('signpost_secret');
    }
  });

  const barred: readonly (readonly [line: string, code: string])[] = [
    ['GET /v1/pets', 'insufficient_scope'],
    ['POST /v1/pets', 'insufficient_scope'],
    ['GET /v1/for-operators', 'installation_only'],
    ['POST /v1/accounts', 'installation_only'],
    [`PATCH /v1/accounts/${randomUUID()}`, 'installation_only'],
    [`DELETE /v1/accounts/${randomUUID()}`, 'installation_only'],
  ];
  it.each(barred)('may not %s for an account, whichever it is', async (line, code) => {
    const refused = { status: 403, body: errorBody(403, code) };
    for (const account of [shop.account.id, closed.account.id, randomUUID(), 'Shop']) {
      expect(await t.call(line, { account })).toMatchObject(refused);
    }
    const { token } = await t.aKey(shop.account.id, ['admin']);
    expect(await t.call(line, { key: token })).toMatchObject(refused);
  });

  it('is not asked for its account where no key is needed', async () => {
    expect(await t.call('GET /v1/for-everybody', { account: 'Shop' })).toMatchObject({
      status: 200,
    });
  });
});

describe('a key of an account', () => {
  it('may name its own account, and no other', async () => {
    const { token: key } = await t.aKey(shop.account.id, ['domains:read']);
    const own = [shop.project.id];
    expect(await projectsOf('GET /v1/projects', { key })).toEqual(own);
    expect(await projectsOf('GET /v1/projects', { key, account: shop.account.id })).toEqual(own);
    for (const account of [bakery.account.id, randomUUID(), 'Shop']) {
      expect(await t.call('GET /v1/projects', { key, account })).toMatchObject(notFound);
    }
  });
});

describe('a request with an Idempotency-Key', () => {
  const create = async (slug: string, asked: { key?: string; account?: string }) => {
    const headers = { 'idempotency-key': `"${slug}"` };
    const json = { name: 'P', slug };
    const { status, headers: answered } = await t.call('POST /v1/projects', {
      ...asked,
      headers,
      json,
    });
    return answered['idempotency-replayed'] === 'true' ? `${status} replayed` : status;
  };

  it('belongs to the account that is acted for', async () => {
    const account = shop.account.id;
    expect(await create('one-account', { account })).toBe(201);
    expect(await create('one-account', { account })).toBe('201 replayed');
    expect(await create('one-account', { account: bakery.account.id })).toBe(201);
    expect(await create('one-account', {})).toBe(201);
    expect(await create('one-account', { account })).toBe('201 replayed');
  });

  it('is the same one whether a key of an account names it or not', async () => {
    const { token: key } = await t.aKey(shop.account.id, ['domains:write']);
    expect(await create('own-account', { key })).toBe(201);
    expect(await create('own-account', { key, account: shop.account.id })).toBe('201 replayed');
  });
});

describe('an account that a key acts for', () => {
  const id = randomUUID();
  const key = { id: 'k', scopes, access: installation };
  function withAccount() {
    const state = { closedAt: null as Date | null, asked: 0, now: noon };
    const actFor = createActFor({
      limits: noLimits,
      findAccount: async () => {
        state.asked += 1;
        return { closedAt: state.closedAt, limits: {} };
      },
      now: () => state.now,
    });
    return { state, actFor };
  }
  const refused = { status: 404 };

  test.each<[held: readonly Scope[], left: readonly Scope[]]>([
    [scopes, ['domains:read', 'domains:write', 'admin']],
    [['admin'], ['admin']],
    [['domains:read', 'ops:read'], ['domains:read']],
    [['pets:read', 'pets:write'], []],
  ])('leaves of %s what keys of accounts can have: %s', async (held, left) => {
    const acting = await withAccount().actFor({ ...key, scopes: held }, id);
    const access = { kind: 'account', accountId: id, projectIds: null };
    expect(acting).toEqual({ id: 'k', scopes: left, access, limits: noLimits, actsFor: true });
  });

  test('is looked up once in five seconds, and a closed one is refused after them', async () => {
    const { actFor, state } = withAccount();
    await actFor(key, id);
    state.closedAt = noon;
    state.now = later(noon, 4_999);
    expect(await actFor(key, id)).toMatchObject({ id: 'k' });
    expect(state.asked).toBe(1);
    state.now = later(noon, 5_000);
    expect(await actFor(key, id)).toMatchObject(refused);
  });

  test('is looked up each time while it is closed', async () => {
    const { actFor, state } = withAccount();
    state.closedAt = noon;
    expect(await actFor(key, id)).toMatchObject(refused);
    state.closedAt = null;
    expect(await actFor(key, id)).toMatchObject({ id: 'k' });
  });

  test('is not believed for longer because a clock is set back', async () => {
    const { actFor, state } = withAccount();
    await actFor(key, id);
    state.now = later(noon, -3_600_000);
    await actFor(key, id);
    expect(state.asked).toBe(2);
  });

  test('costs no query where its id is none, or the key is an account’s own', async () => {
    const { actFor, state } = withAccount();
    expect(await actFor(key, 'Shop')).toMatchObject(refused);
    const access = { kind: 'account', accountId: id, projectIds: ['p'] } as const;
    const own = { ...key, access };
    expect(await actFor(own, id)).toBe(own);
    expect(await actFor(own, randomUUID())).toMatchObject(refused);
    expect(state.asked).toBe(0);
  });
});
