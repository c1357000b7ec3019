import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { usualAccountLimits } from '../../src/core/operations/account-limits.ts';
import { errorBody } from '../http/support.ts';
import { API_KEY, startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

let world: TwoAccounts;
beforeAll(async () => {
  world = await startTwoAccounts();
}, 60_000);
afterAll(() => world?.close());

const call = (line: string, json?: object, key = API_KEY) =>
  world.call(line, { key, ...(json !== undefined && { json }) });

type Made = { readonly id: string; readonly key: string };

async function made(line: string, json: object): Promise<Made> {
  const { status, body } = await call(line, json);
  expect([line, status]).toEqual([line, 201]);
  return body as Made;
}

/** With a project, a deploy and a key. */
async function anAccount(limits: object) {
  const { id: accountId } = await made('POST /v1/accounts', { name: 'Limited' });
  const project = { name: 'Docs', slug: 'docs', plan: 'pro', accountId };
  const { id: projectId } = await made('POST /v1/projects', project);
  const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9/' };
  await made(`POST /v1/projects/${projectId}/deploys`, deploy);
  const scopes = ['domains:read', 'domains:write', 'projects:write', 'keys:write'];
  const { key } = await made('POST /v1/keys', { name: 'k', scopes, accountId });
  const changed = await call(`PATCH /v1/accounts/${accountId}`, { limits });
  expect(changed).toMatchObject({ status: 200, body: { limits } });
  return { accountId, projectId, key };
}

let count = 0;
const anotherName = () => {
  count += 1;
  return `d${count}.limits.example`;
};

type Account = Awaited<ReturnType<typeof anAccount>>;
const additions: readonly (readonly [string, (account: Account) => readonly [string, object]])[] = [
  [
    'domains',
    ({ projectId }) => [`/v1/projects/${projectId}/domains`, { hostname: anotherName() }],
  ],
  ['projects', () => ['/v1/projects', { name: 'P', slug: `p-${anotherName().split('.')[0]}` }]],
  ['keys', () => ['/v1/keys', { name: 'k', scopes: ['domains:read'] }]],
  [
    'webhooks',
    ({ projectId }) => [`/v1/projects/${projectId}/webhooks`, { url: 'https://x.example/' }],
  ],
];

describe('An account that has as much as its limit', () => {
  it.each(additions)(
    'gets no more %s, also from concurrent requests',
    async (name, additionFor) => {
      const limit = name === 'domains' || name === 'webhooks' ? 3n : 4n;
      const account = await anAccount({ [name]: limit });
      const add = () => {
        const [path, json] = additionFor(account);
        return call(`POST ${path}`, json, account.key);
      };
      const answers = await Promise.all(Array.from({ length: 8 }, add));
      const ok = answers.filter(({ status }) => status === 201);
      // The account already has one project and one key.
      expect(ok).toHaveLength(3);
      for (const { body } of answers.filter(({ status }) => status !== 201)) {
        const words = expect.stringContaining(`limit is ${limit} `);
        expect(body).toEqual(errorBody(409, 'limit_reached', words));
        expect(body).toMatchObject({ limit: { name, value: limit } });
      }
      const usage = await call(
        `GET /v1/accounts/${account.accountId}/usage`,
        undefined,
        account.key,
      );
      expect(usage.body).toMatchObject({ [name]: { used: limit, limit } });
      await call(`PATCH /v1/accounts/${account.accountId}`, { limits: { [name]: null } });
      expect((await add()).status).toBe(201);
    },
  );

  it('gets no more new domains an hour, also after removing one', async () => {
    const account = await anAccount({ domainsPerHour: 2n });
    const path = `/v1/projects/${account.projectId}/domains`;
    const names = [anotherName(), anotherName()];
    for (const hostname of names) {
      expect((await call(`POST ${path}`, { hostname })).status).toBe(201);
    }
    await call(`DELETE ${path}/${names[0]}`);
    const refused = await call(`POST ${path}`, { hostname: anotherName() });
    expect(refused.body).toEqual(errorBody(429, 'too_many_domains'));
    expect(refused.body).toMatchObject({ limit: { name: 'domainsPerHour', value: 2n } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500);
  });

  it('rotates a key although it has as many as its limit', async () => {
    const { accountId } = await anAccount({ keys: 1n });
    const { body } = await world.call('GET /v1/keys', {
      key: API_KEY,
      headers: { 'signpost-account': accountId },
    });
    const [{ id } = { id: '' }] = body as Made[];
    expect((await call(`POST /v1/keys/${id}/rotate`)).status).toBe(201);
    const usage = await call(`GET /v1/accounts/${accountId}/usage`);
    expect(usage.body).toMatchObject({ keys: { used: 1n, limit: 1n } });
  });

  it('stores no refused key', async () => {
    const account = await anAccount({ keys: 1n });
    const before = await world.service.database.prisma.apiKey.count();
    const refused = await call(
      'POST /v1/keys',
      { name: 'k', scopes: ['domains:read'] },
      account.key,
    );
    expect(refused.status).toBe(409);
    expect(await world.service.database.prisma.apiKey.count()).toBe(before);
  });

  it('has its own requests a minute, which the headers name', async () => {
    const { key, accountId } = await anAccount({ requestsPerMinute: 2n });
    const first = await call('GET /v1/projects', undefined, key);
    expect(first.headers['ratelimit-policy']).toContain('"account";q=2;w=60');
    await call('GET /v1/projects', undefined, key);
    const refused = await call('GET /v1/projects', undefined, key);
    const words = expect.stringContaining('2 requests for this account');
    expect(refused.body).toEqual(errorBody(429, 'rate_limited', words));
    expect(refused.body).toMatchObject({ limit: { name: 'requestsPerMinute', value: 2n } });
    const acting = { key: API_KEY, headers: { 'signpost-account': accountId } };
    expect((await world.call('GET /v1/projects', acting)).status).toBe(429);
    expect((await call('GET /v1/projects')).status).toBe(200);
  });

  it('has its own open streams and diagnoses', async () => {
    const { key, projectId } = await anAccount({ streams: 1n, diagnoses: 1n });
    const events = `GET /v1/projects/${projectId}/events`;
    expect((await call(events, undefined, key)).status).toBe(200);
    const second = await call(events, undefined, key);
    expect(second.body).toEqual(errorBody(429, 'too_many_streams'));
    expect(second.body).toMatchObject({ limit: { name: 'streams', value: 1n } });
    const diagnose = () =>
      call('GET /v1/diagnosis/a.limits.example?target=x.edge.signpost.test', undefined, key);
    const answers = await Promise.all([diagnose(), diagnose()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429]);
    const busy = answers.find(({ status }) => status === 429);
    expect(busy?.body).toEqual(errorBody(429, 'too_many_at_once'));
    expect(busy?.body).toMatchObject({ limit: { name: 'diagnoses', value: 1n } });
  });
});

describe('An account with the default limits', () => {
  it('has two diagnoses at once, while others have theirs', async () => {
    const [account, another] = [await anAccount({}), await anAccount({})];
    const { observer } = world.service;
    const { observe } = observer;
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const observeLater: typeof observe = async (...asked) => {
      await held;
      return observe(...asked);
    };
    Object.assign(observer, { observe: observeLater });
    onTestFinished(() => void Object.assign(observer, { observe }));
    const diagnose = async ({ key }: Account) => {
      const line = 'GET /v1/diagnosis/b.limits.example?target=x.edge.signpost.test';
      const answer = await call(line, undefined, key);
      if (answer.status === 429) letGo();
      return answer;
    };
    const all = [account, another, account, another, account];
    const answers = await Promise.all(all.map((one) => diagnose(one)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toMatchObject([
      { status: 429, body: { code: 'too_many_at_once', limit: { name: 'diagnoses', value: 2n } } },
    ]);
  }, 60_000);
});

describe('The default account', () => {
  it('has no limits', async () => {
    const [account] = (await call('GET /v1/accounts?limit=1')).body as { limits: object }[];
    expect(new Set(Object.values(account?.limits ?? {}))).toEqual(new Set([null]));
  });
});

describe('A limit', () => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ domains: 0n }, 'limits.domains: must be a whole number from 1 to'],
    [{ domains: -1n }, 'limits.domains: must be a whole number'],
    [{ keys: 'many' }, 'limits.keys: must be a whole number'],
    [{ pets: 1n }, 'limits.pets'],
  ];
  it.each(wrong)('is refused as %o', async (limits, words) => {
    const message = expect.stringContaining(words);
    const refused = await call('POST /v1/accounts', { name: 'x', limits });
    expect(refused.body).toEqual(errorBody(400, 'invalid_body', message));
    const path = `/v1/accounts/${world.one.accountId}`;
    expect((await call(`PATCH ${path}`, { limits })).status).toBe(400);
    expect((await call(`GET ${path}`)).body).toMatchObject({
      limits: { domains: BigInt(usualAccountLimits.domains) },
    });
  });

  it('is set for all accounts by ACCOUNT_LIMITS', () => {
    const loaded = loadConfig({ ACCOUNT_LIMITS: 'domains=5, keys=7' });
    const accountLimits = { ...usualAccountLimits, domains: 5, keys: 7 };
    expect(loaded).toMatchObject({ ok: true, config: { api: { accountLimits } } });
  });

  it.each(['domains', 'domains=0', 'domain=1', 'domains=1.5', 'domains=1;keys=1'])(
    'ACCOUNT_LIMITS=%s is refused',
    (given) => {
      expect(loadConfig({ ACCOUNT_LIMITS: given })).toMatchObject({
        ok: false,
        problems: [
          { variable: 'ACCOUNT_LIMITS', problem: expect.stringContaining('must be limits') },
        ],
      });
    },
  );
});
