/** What a new key may reach: never more than the key that makes it. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { granted } from '../../support/access.ts';
import { type Accounts, idsOf, type MadeKey, openAccounts } from '../account-fixture.ts';
import { errorBody } from '../support.ts';

/** What the table below names. */
type World = {
  readonly shop: string;
  readonly shopProject: string;
  readonly bakery: string;
  readonly bakeryProject: string;
  readonly closed: string;
};
/** Who asks: an operator, one who acts for the shop, or the shop's own administrator. */
const askers = ['an operator', 'for the shop', 'the shop'] as const;
type Asker = (typeof askers)[number];

let t: Accounts;
let world: World;
let ofShop: MadeKey;

beforeAll(async () => {
  t = await openAccounts();
  const [shop, bakery, closed] = [
    await t.anAccount('Shop'),
    await t.anAccount('Bakery'),
    await t.anAccount('Closed'),
  ];
  await t.call(`DELETE /v1/accounts/${closed.account.id}`);
  ofShop = await t.aKey(shop.account.id, ['admin']);
  world = {
    shop: shop.account.id,
    shopProject: shop.project.id,
    bakery: bakery.account.id,
    bakeryProject: bakery.project.id,
    closed: closed.account.id,
  };
});
afterAll(() => t.close());

const make = (by: Asker, wanted: object) =>
  t.call('POST /v1/keys', {
    ...(by === 'the shop' && { key: ofShop.token }),
    ...(by === 'for the shop' && { account: world.shop }),
    json: { name: 'k', scopes: ['domains:read'], ...wanted },
  });

type Row = readonly [
  what: string,
  by: readonly Asker[],
  wanted: (of: World) => object,
  answer: (of: World) => object,
];
const made = (accountId: string | null, ...projectIds: readonly string[]) => ({
  status: 201,
  body: { accountId, projectIds },
});
const refused = (status: number, code: string, words?: string) => ({
  status,
  body: errorBody(status, code, words),
});
const shops: readonly Asker[] = ['for the shop', 'the shop'];
const operator: readonly Asker[] = ['an operator'];

const rows: readonly Row[] = [
  ['without an account', operator, () => ({}), () => made(null)],
  ['without an account', shops, () => ({}), ({ shop }) => made(shop)],
  ['with an empty list of projects', shops, () => ({ projectIds: [] }), ({ shop }) => made(shop)],
  ['for the account', askers, ({ shop }) => ({ accountId: shop }), ({ shop }) => made(shop)],
  [
    'that manages the account',
    askers,
    ({ shop }) => ({ accountId: shop, scopes: ['admin'] }),
    ({ shop }) => made(shop),
  ],
  [
    'for one project of the account',
    askers,
    ({ shop, shopProject }) => ({ accountId: shop, projectIds: [shopProject] }),
    ({ shop, shopProject }) => made(shop, shopProject),
  ],
  [
    'for one project, named twice',
    askers,
    ({ shop, shopProject }) => ({ accountId: shop, projectIds: [shopProject, shopProject] }),
    ({ shop, shopProject }) => made(shop, shopProject),
  ],
  [
    'for a project without its account',
    shops,
    ({ shopProject }) => ({ projectIds: [shopProject] }),
    ({ shop, shopProject }) => made(shop, shopProject),
  ],
  [
    'for a project without its account',
    operator,
    ({ shopProject }) => ({ projectIds: [shopProject] }),
    () => refused(400, 'invalid_body', 'projectIds: need an accountId'),
  ],
  [
    'for another account',
    operator,
    ({ bakery }) => ({ accountId: bakery }),
    ({ bakery }) => made(bakery),
  ],
  [
    'for another account',
    shops,
    ({ bakery }) => ({ accountId: bakery }),
    () => refused(404, 'account_not_found'),
  ],
  [
    'for an account that there is not',
    askers,
    () => ({ accountId: randomUUID() }),
    () => refused(404, 'account_not_found'),
  ],
  [
    'for an account that is closed',
    askers,
    ({ closed }) => ({ accountId: closed }),
    () => refused(404, 'account_not_found'),
  ],
  [
    'for a project of another account',
    askers,
    ({ shop, shopProject, bakeryProject }) => ({
      accountId: shop,
      projectIds: [shopProject, bakeryProject],
    }),
    () => refused(404, 'project_not_found', 'projectIds: the account has no such project'),
  ],
  [
    'for a project that there is not',
    askers,
    ({ shop }) => ({ accountId: shop, projectIds: [randomUUID()] }),
    () => refused(404, 'project_not_found', 'projectIds: the account has no such project'),
  ],
  [
    'that manages some projects alone',
    askers,
    ({ shop, shopProject }) => ({ accountId: shop, scopes: ['admin'], projectIds: [shopProject] }),
    () => refused(400, 'invalid_body', 'projectIds: a key with admin is for the whole account'),
  ],
  ...(['pets:read', 'pets:write', 'ops:read'] as const).map(
    (scope): Row => [
      `of an account with ${scope}`,
      askers,
      ({ shop }) => ({ accountId: shop, scopes: ['domains:read', scope] }),
      () => refused(400, 'invalid_body', `scopes: ${scope} is for keys of the installation alone`),
    ],
  ),
  [
    'with ids that are none',
    askers,
    () => ({ accountId: 'shop', projectIds: ['docs'] }),
    () => refused(400, 'invalid_body'),
  ],
];

describe.each(askers)('a key that %s makes', (by) => {
  it.each(rows.filter(([, asking]) => asking.includes(by)))(
    '%s',
    async (_what, _by, wanted, answer) => {
      const before = await t.prisma.apiKey.count();
      const answered = await make(by, wanted(world));
      expect(answered).toMatchObject(answer(world));
      const more = answered.status === 201 ? 1 : 0;
      expect(await t.prisma.apiKey.count()).toBe(before + more);
    },
  );
});

describe('a key of an account', () => {
  it('sees and ends the keys of its account, and no others', async () => {
    const { id: sibling } = await t.aKey(granted.account(world.shop), ['domains:read']);
    const { body } = await make('an operator', { accountId: world.bakery });
    const stranger = (body as { readonly id: string }).id;
    const key = ofShop.token;
    const ids = idsOf((await t.call('GET /v1/keys', { key })).body);
    expect(ids).toEqual(expect.arrayContaining([ofShop.id, sibling]));
    const owners = await t.prisma.apiKey.findMany({ where: { id: { in: [...ids] } } });
    expect(new Set(owners.map(({ accountId }) => accountId))).toEqual(new Set([world.shop]));
    const notFound = refused(404, 'key_not_found');
    for (const line of [`GET /v1/keys/${stranger}`, `DELETE /v1/keys/${stranger}`]) {
      expect(await t.call(line, { key })).toMatchObject(notFound);
      expect(await t.call(line, { account: world.shop })).toMatchObject(notFound);
    }
    const rotate = `POST /v1/keys/${stranger}/rotate`;
    expect(await t.call(rotate, { key })).toMatchObject(notFound);
    expect(await t.call(`DELETE /v1/keys/${sibling}`, { key })).toMatchObject({ status: 204 });
  });

  it('manages none where it is for some projects alone, whatever its scopes say', async () => {
    const project = await t.prisma.project.findUniqueOrThrow({ where: { id: world.shopProject } });
    const { id, token: key } = await t.aKey(
      granted.account(world.shop),
      ['admin'],
      [{ ...project, id: granted.project(project.id) }],
    );
    expect((await t.call('GET /v1/keys', { key })).body).toEqual([]);
    expect(await t.call(`DELETE /v1/keys/${id}`, { key })).toMatchObject(
      refused(404, 'key_not_found'),
    );
  });
});
