/** Accounts over HTTP: made, changed and closed by the installation, and seen by their own keys. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import type { Scope } from '../../src/http/pipeline/route.ts';
import { account as accountSchema } from '../../src/http/schemas/accounts.ts';
import { defaultAccount, granted } from '../support/access.ts';
import { later, noon } from '../support/builders.ts';
import { type Accounts, configuredLimits, idsOf, openAccounts } from './account-fixture.ts';
import { errorBody } from './support.ts';

let t: Accounts;
beforeAll(async () => {
  t = await openAccounts();
});
afterAll(() => t.close());

const refusal = (status: number, code: string) => ({ status, body: errorBody(status, code) });
const notFound = refusal(404, 'account_not_found');
const installationOnly = refusal(403, 'installation_only');
/** As answers have them: whole numbers are bigint. */
const limitsWith = (own: Readonly<Record<string, number | null>>) =>
  Object.fromEntries(
    Object.entries({ ...configuredLimits, ...own }).map(([name, limit]) => [
      name,
      limit === null ? null : BigInt(limit),
    ]),
  );
async function make(json: object = { name: 'Shop' }): Promise<string> {
  const { status, body } = await t.call('POST /v1/accounts', { json });
  expect(status).toBe(201);
  return (body as { readonly id: string }).id;
}
const adminOf = async (id: string) => (await t.aKey(granted.account(id), ['admin'])).token;

describe('an account that is made', () => {
  it('has its name and the configured limits', async () => {
    const answer = await t.call('POST /v1/accounts', { json: { name: 'Shop №1' } });
    const { id } = answer.body as { readonly id: string };
    expect(answer.status).toBe(201);
    expect(answer.headers['location']).toBe(`/v1/accounts/${id}`);
    expect(answer.body).toEqual({
      id,
      name: 'Shop №1',
      limits: limitsWith({}),
      createdAt: expect.any(String),
      closedAt: null,
    });
    expect(accountSchema.safeParse(answer.body).error).toBeUndefined();
    expect(await t.call(`GET /v1/accounts/${id}`)).toMatchObject({
      status: 200,
      body: answer.body as object,
    });
  });

  it('has limits of its own beside the configured ones', async () => {
    const id = await make({ name: 'Shop', limits: { domains: 5, streams: null, keys: 0 } });
    const { body } = await t.call(`GET /v1/accounts/${id}`);
    expect(body).toMatchObject({ limits: limitsWith({ domains: 5, streams: null, keys: 0 }) });
  });

  it('is made once for an Idempotency-Key', async () => {
    const asked = { json: { name: 'Once' }, headers: { 'idempotency-key': '"once"' } };
    const [first, second] = [
      await t.call('POST /v1/accounts', asked),
      await t.call('POST /v1/accounts', asked),
    ];
    expect(second.text).toBe(first.text);
    expect(await t.prisma.account.count({ where: { name: 'Once' } })).toBe(1);
  });

  const whole = 'must be a whole number from 0 to 1000000000';
  it.each<[json: object, words: string]>([
    [{}, 'name: is required'],
    [{ name: '' }, 'name: must be a string of 1 to 255 characters'],
    [{ name: 'Shop\u202etxt' }, 'name: must be a string of 1 to 255 characters'],
    [{ name: 'Shop', colour: 'red' }, 'colour: is not a known field'],
    [{ name: 'Shop', limits: { colours: 1 } }, 'limits.colours: is not a known field'],
    [{ name: 'Shop', limits: { domains: -1 } }, `limits.domains: ${whole}`],
    [{ name: 'Shop', limits: { domains: 1.5 } }, `limits.domains: ${whole}`],
    [{ name: 'Shop', limits: { domains: '5' } }, `limits.domains: ${whole}`],
    [{ name: 'Shop', limits: { domains: 1_000_000_001 } }, `limits.domains: ${whole}`],
    [{ name: 'Shop', limits: null }, 'limits: '],
  ])('has to fit: %j', async (json, words) => {
    const message = expect.stringContaining(words);
    const expected = { status: 400, body: errorBody(400, 'invalid_body', message) };
    expect(await t.call('POST /v1/accounts', { json })).toMatchObject(expected);
    if (!('name' in json)) return;
    const id = await make();
    expect(await t.call(`PATCH /v1/accounts/${id}`, { json })).toMatchObject(expected);
  });
});

describe('accounts', () => {
  it('are listed oldest first, the default one and closed ones among them', async () => {
    const id = await make();
    const closed = await make();
    await t.call(`DELETE /v1/accounts/${closed}`);
    await t.prisma.account.update({
      where: { id },
      data: { createdAt: later(new Date(), 60_000) },
    });
    const ids = idsOf((await t.call('GET /v1/accounts')).body);
    expect(ids).toEqual(expect.arrayContaining([defaultAccount, closed]));
    expect(ids.at(-1)).toBe(id);
    expect(ids).toHaveLength(await t.prisma.account.count());
    await t.prisma.account.update({ where: { id }, data: { createdAt: noon } });
  });

  it('are seen by their own keys alone', async () => {
    const [own, other] = [await make({ name: 'Own' }), await make({ name: 'Other' })];
    const key = await adminOf(own);
    for (const asked of [{ key }, { account: own }]) {
      expect(idsOf((await t.call('GET /v1/accounts', asked)).body)).toEqual([own]);
      expect(await t.call(`GET /v1/accounts/${own}`, asked)).toMatchObject({
        status: 200,
        body: { id: own, name: 'Own', limits: limitsWith({}) },
      });
      for (const id of [other, defaultAccount, randomUUID()]) {
        expect(await t.call(`GET /v1/accounts/${id}`, asked)).toMatchObject(notFound);
      }
    }
  });

  it.each<Scope>(['domains:read', 'domains:write'])(
    'are not seen by a key of theirs with %s',
    async (scope) => {
      const { token: key } = await t.aKey(granted.account(await make()), [scope]);
      const refused = refusal(403, 'insufficient_scope');
      expect(await t.call('GET /v1/accounts', { key })).toMatchObject(refused);
    },
  );

  it.each(['shop', '%00', defaultAccount.slice(1), `${defaultAccount}0`])(
    'have ids that are UUIDs, which %s is not',
    async (id) => {
      expect(await t.call(`GET /v1/accounts/${id}`)).toMatchObject(notFound);
      expect(await t.call(`PATCH /v1/accounts/${id}`, { json: {} })).toMatchObject(notFound);
      expect(await t.call(`DELETE /v1/accounts/${id}`)).toMatchObject(notFound);
    },
  );
});

describe('an account that is changed', () => {
  it('has what was given, and keeps the rest', async () => {
    const id = await make({ name: 'Shop', limits: { domains: 5 } });
    const change = async (json: object) =>
      (await t.call(`PATCH /v1/accounts/${id}`, { json })).body;
    expect(await change({})).toMatchObject({ name: 'Shop', limits: limitsWith({ domains: 5 }) });
    expect(await change({ name: 'Store' })).toMatchObject({
      name: 'Store',
      limits: limitsWith({ domains: 5 }),
    });
    // All of its own limits are replaced: the others follow the configuration again.
    const limits = limitsWith({ webhooks: null });
    expect(await change({ limits: { webhooks: null } })).toMatchObject({ name: 'Store', limits });
    expect(await change({ limits: {} })).toMatchObject({ limits: limitsWith({}) });
  });

  it('is changed, made and closed by the installation alone', async () => {
    const id = await make();
    const key = await adminOf(id);
    for (const asked of [{ key }, { account: id }]) {
      const json = { name: 'Store' };
      expect(await t.call('POST /v1/accounts', { ...asked, json })).toMatchObject(installationOnly);
      const changed = await t.call(`PATCH /v1/accounts/${id}`, { ...asked, json });
      expect(changed).toMatchObject(installationOnly);
      expect(await t.call(`DELETE /v1/accounts/${id}`, asked)).toMatchObject(installationOnly);
    }
    expect((await t.call(`GET /v1/accounts/${id}`)).body).toMatchObject({
      name: 'Shop',
      closedAt: null,
    });
  });

  it('has to be there', async () => {
    const answer = await t.call(`PATCH /v1/accounts/${randomUUID()}`, { json: { name: 'Store' } });
    expect(answer).toMatchObject(notFound);
  });
});

describe('an account that is closed', () => {
  it('keeps the time of the first closing', async () => {
    const id = await make();
    const line = `DELETE /v1/accounts/${id}`;
    expect(await t.call(line)).toMatchObject({ status: 204, text: '' });
    t.clock.now = later(noon, 60_000);
    expect(await t.call(line)).toMatchObject({ status: 204 });
    t.clock.now = noon;
    const { body } = await t.call(`GET /v1/accounts/${id}`);
    expect(body).toMatchObject({ closedAt: noon.toISOString() });
  });

  it('has no domain attached any more', async () => {
    const { account, project } = await t.anAccount('In use');
    const hostname = 'in-use.example';
    const domains = createDomainStore(t.prisma);
    const claim = { target: 'x.edge.test', claimNonce: 'n' };
    await domains.add({ projectId: project.id, hostname, ...claim }, noon);
    const close = () => t.call(`DELETE /v1/accounts/${account.id}`);
    expect(await close()).toMatchObject(refusal(409, 'account_in_use'));
    const { token: key } = await t.aKey(account.id, ['domains:write']);
    const removed = await t.call(`DELETE /v1/projects/${project.id}/domains/${hostname}`, { key });
    expect(removed.status).toBe(204);
    expect(await close()).toMatchObject({ status: 204 });
  });

  it('is not the one that everything without an account goes to, nor one that there is not', async () => {
    expect(await t.call(`DELETE /v1/accounts/${defaultAccount}`)).toMatchObject(
      refusal(409, 'default_account'),
    );
    expect(await t.call(`DELETE /v1/accounts/${randomUUID()}`)).toMatchObject(notFound);
  });

  it('has keys that are refused within five seconds, and is acted for no more', async () => {
    const { account, project } = await t.anAccount('Closing');
    const keys = [
      await t.aKey(account.id, ['admin']),
      await t.aKey(account.id, ['domains:read'], [project]),
    ];
    const statuses = async () => [
      ...(await Promise.all(
        keys.map(async ({ token }) => (await t.call('GET /v1/projects', { key: token })).status),
      )),
      (await t.call('GET /v1/projects', { account: account.id })).status,
    ];
    expect(await statuses()).toEqual([200, 200, 200]);
    await t.call(`DELETE /v1/accounts/${account.id}`);
    t.clock.now = later(noon, 5_000);
    expect(await statuses()).toEqual([401, 401, 404]);
    t.clock.now = noon;
  });

  it('is there still, with its projects, and nothing is made in it', async () => {
    const { account, project } = await t.anAccount('Closed');
    await t.call(`DELETE /v1/accounts/${account.id}`);
    expect(await t.call(`GET /v1/projects/${project.id}`)).toMatchObject({ status: 200 });
    const accountId = account.id;
    const json = { name: 'P', slug: `p-${randomUUID()}`, accountId };
    expect(await t.call('POST /v1/projects', { json })).toMatchObject(notFound);
    const key = { name: 'k', scopes: ['domains:read'], accountId };
    expect(await t.call('POST /v1/keys', { json: key })).toMatchObject(notFound);
  });
});

describe('a project', () => {
  it.each<[by: string, asked: (id: string) => Promise<object>, json: (id: string) => object]>([
    ['that an operator makes for an account', async () => ({}), (accountId) => ({ accountId })],
    ['that an operator makes as an account', async (account) => ({ account }), () => ({})],
    ['that an account makes', async (id) => ({ key: await adminOf(id) }), () => ({})],
    [
      'that an account makes for itself',
      async (id) => ({ key: await adminOf(id) }),
      (accountId) => ({ accountId }),
    ],
  ])('%s belongs to it', async (_by, asked, json) => {
    const id = await make();
    const body = { name: 'P', slug: 'docs', ...json(id) };
    const made = await t.call('POST /v1/projects', { ...(await asked(id)), json: body });
    expect(made).toMatchObject({ status: 201, body: { accountId: id, slug: 'docs' } });
    const again = await t.call('POST /v1/projects', { ...(await asked(id)), json: body });
    expect(again).toMatchObject(refusal(409, 'slug_taken'));
  });

  it('of no account that is named goes to the default one', async () => {
    const json = { name: 'P', slug: 'of-nobody' };
    const made = await t.call('POST /v1/projects', { json });
    expect(made).toMatchObject({ status: 201, body: { accountId: defaultAccount } });
  });

  it('is made in no account that the key does not reach', async () => {
    const [own, other] = [await make(), await make()];
    const key = await adminOf(own);
    for (const accountId of [other, defaultAccount, randomUUID()]) {
      const json = { name: 'P', slug: 'docs', accountId };
      expect(await t.call('POST /v1/projects', { key, json })).toMatchObject(notFound);
      const acting = await t.call('POST /v1/projects', { account: own, json });
      expect(acting).toMatchObject(notFound);
    }
  });

  it('is made by no key that is for named projects, which changes those', async () => {
    const { account, project } = await t.anAccount('Restricted');
    const { token: key } = await t.aKey(account.id, ['domains:read', 'domains:write'], [project]);
    const json = { name: 'P', slug: `p-${randomUUID()}` };
    const refused = refusal(403, 'restricted_key');
    expect(await t.call('POST /v1/projects', { key, json })).toMatchObject(refused);
    const change = { name: 'Renamed' };
    const changed = await t.call(`PATCH /v1/projects/${project.id}`, { key, json: change });
    expect(changed).toMatchObject({ status: 200, body: { name: 'Renamed' } });
  });
});
