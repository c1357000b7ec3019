import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallResult, databases, errorBody } from '../support.ts';
import { type Accounts, startAccounts } from './fixture.ts';

describe.each(databases)('an account with limits on %s', (storage) => {
  let at: Accounts;

  beforeAll(async () => {
    at = await startAccounts(storage);
  });
  afterAll(() => at?.close());

  const add = (project: string, hostname: string, key: string, idempotencyKey?: string) =>
    at.call(`POST /v1/projects/${project}/domains`, {
      key,
      json: { hostname },
      ...(idempotencyKey && { headers: { 'idempotency-key': idempotencyKey } }),
    });
  const statuses = (answers: readonly CallResult[]) => answers.map(({ status }) => status).sort();
  const refusalIn = (answers: readonly CallResult[]) =>
    answers.find(({ status }) => status >= 400)?.body;

  it('has exactly so many domains, however many requests come at once', async () => {
    const { key, project } = await at.account({ domains: 3 });
    const other = await at.project(key);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        add(n % 2 ? project : other, `at-once-${n}.example.com`, key, n % 3 ? undefined : `k${n}`),
      ),
    );
    expect(statuses(answers)).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
    expect(refusalIn(answers)).toEqual(
      errorBody(
        409,
        'account_limit',
        'This account has 3 of 3 domains; remove one first, or have its limit raised.',
      ),
    );
  });

  it('may add another domain once one is removed', async () => {
    const { key, project } = await at.account({ domains: 1 });
    expect(await add(project, 'first.example.com', key)).toMatchObject({ status: 201 });
    expect(await add(project, 'second.example.com', key)).toMatchObject({ status: 409 });
    await at.call(`DELETE /v1/projects/${project}/domains/first.example.com`, { key });
    expect(await add(project, 'second.example.com', key)).toMatchObject({ status: 201 });
  });

  it('adds so many domains an hour, and learns when it may add the next one', async () => {
    const { key, project } = await at.account({ additionsPerHour: 3 });
    const begun = at.clock.now;
    const path = `/v1/projects/${project}/domains/again.example.com`;
    await add(project, 'again.example.com', key);
    at.clock.now = new Date(begun.getTime() + 60_000);
    await at.call(`DELETE ${path}`, { key });
    await add(project, 'again.example.com', key);
    await at.call(`DELETE ${path}`, { key });
    await add(project, 'again.example.com', key);
    const refused = await add(project, 'more.example.com', key);
    const next = new Date(begun.getTime() + 3_600_000);
    expect(refused.headers['retry-after']).toBe('3540');
    expect(refused.body).toEqual(
      errorBody(
        429,
        'too_many_domains',
        `This account added 3 of 3 domains within the last hour; it can add the next one at ${next.toISOString()}.`,
      ),
    );
    at.clock.now = next;
    expect(await add(project, 'more.example.com', key)).toMatchObject({ status: 201 });
    expect(await add(project, 'even-more.example.com', key)).toMatchObject({ status: 429 });
  });

  it('adds and removes at once without waiting for itself', async () => {
    const { key, project } = await at.account({ domains: 100 });
    const names = Array.from({ length: 10 }, (_, n) => `busy-${n}.example.com`);
    await Promise.all(names.map((name) => add(project, name, key)));
    const mixed = await Promise.all(
      names.flatMap((name) => [
        add(project, `more-${name}`, key),
        at.call(`DELETE /v1/projects/${project}/domains/${name}`, { key }),
      ]),
    );
    expect(new Set(statuses(mixed))).toEqual(new Set([201, 204]));
  });

  it('has so many projects, keys and webhooks', async () => {
    const { key, project } = await at.account({ projects: 3, keys: 3, webhooks: 2 });
    const making = [
      ['projects', 2, '/v1/projects', (n: number) => ({ name: 'P', slug: `p-${n}`, plan: 'pro' })],
      ['keys', 2, '/v1/keys', () => ({ name: 'K', scopes: ['domains:read'] })],
      [
        'webhooks',
        2,
        `/v1/projects/${project}/webhooks`,
        () => ({ url: 'https://shop.example/hook' }),
      ],
    ] as const;
    for (const [what, room, path, body] of making) {
      const answers = await Promise.all(
        Array.from({ length: 4 }, (_, n) => at.call(`POST ${path}`, { key, json: body(n) })),
      );
      expect([what, statuses(answers)]).toEqual([
        what,
        [...Array(room).fill(201), ...Array(4 - room).fill(409)],
      ]);
      expect(refusalIn(answers)).toMatchObject({
        code: 'account_limit',
        message: expect.stringMatching(new RegExp(`^This account has \\d of \\d ${what}; `)),
      });
    }
  });

  it('counts the keys that are accepted', async () => {
    const { id, key } = await at.account({ keys: 2 });
    const json = { name: 'K', scopes: ['domains:read'] };
    const made = (await at.call('POST /v1/keys', { key, json })).body as { id: string };
    expect(await at.call('POST /v1/keys', { key, json })).toMatchObject({ status: 409 });
    // The installation's own key does not get past them, either.
    const theirs = { json: { ...json, accountId: id } };
    expect(await at.call('POST /v1/keys', theirs)).toMatchObject({ status: 409 });
    const rotated = await at.call(`POST /v1/keys/${made.id}/rotate`, { key });
    expect(rotated).toMatchObject({ status: 201 });
    await at.call(`DELETE /v1/keys/${made.id}`, { key });
    await at.call(`DELETE /v1/keys/${(rotated.body as { id: string }).id}`, { key });
    expect(await at.call('POST /v1/keys', { key, json })).toMatchObject({ status: 201 });
  });

  it('makes nothing any more once it is closed', async () => {
    const { id, project } = await at.account();
    expect(await at.call(`DELETE /v1/accounts/${id}`)).toMatchObject({ status: 204 });
    const refused = errorBody(404, 'account_not_found');
    const json = { hostname: 'closed.example.com' };
    const domain = await at.call(`POST /v1/projects/${project}/domains`, { json });
    expect(domain.body).toEqual(refused);
    const webhook = { json: { url: 'https://shop.example/hook' } };
    const hook = await at.call(`POST /v1/projects/${project}/webhooks`, webhook);
    expect(hook.body).toEqual(refused);
  });

  it('refuses what is more than lowered limits allow, and takes nothing away', async () => {
    const { id, key, project } = await at.account({ domains: 5 });
    await add(project, 'one.example.org', key);
    await add(project, 'two.example.org', key);
    await at.call(`PATCH /v1/accounts/${id}`, { json: { limits: { domains: 1 } } });
    const refused = await add(project, 'three.example.org', key);
    expect(refused.body).toMatchObject({ message: expect.stringContaining('2 of 1 domains') });
    const listed = await at.call(`GET /v1/projects/${project}/domains`, { key });
    expect(listed.body).toHaveLength(2);
  });

  it('makes so many requests a minute, with all of its keys together', async () => {
    const { id, key } = await at.account({ requestsPerMinute: 20 });
    const json = { name: 'K', scopes: ['domains:read'] };
    const { key: other } = (await at.call('POST /v1/keys', { key, json })).body as { key: string };
    at.clock.now = new Date(at.clock.now.getTime() + 61_000);
    const first = await at.call('GET /v1/keys/self', { key });
    expect(first.headers['ratelimit-policy']).toMatch(
      /^"key";q=\d+;w=60, "account";q=20;w=60, "address";q=\d+;w=60$/,
    );
    expect(first.headers['ratelimit']).toMatch(/"account";r=19;t=\d+/);
    for (let n = 0; n < 10; n += 1) await at.call('GET /v1/keys/self', { key: other });
    const acting = { headers: { 'signpost-account': id } };
    for (let n = 0; n < 9; n += 1) await at.call('GET /v1/projects', acting);
    const refused = await at.call('GET /v1/projects', acting);
    expect(refused.body).toEqual(
      errorBody(
        429,
        'rate_limited',
        expect.stringMatching(
          /^20 requests of this account are allowed in 60 seconds; try again in \d+ seconds\.$/,
        ),
      ),
    );
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(await at.call('GET /v1/keys/self', { key })).toMatchObject({ status: 429 });
    // Whoever acts for no account goes on.
    const own = await at.call('GET /v1/projects');
    expect(own.status).toBe(200);
    expect(own.headers['ratelimit-policy']).not.toContain('account');
    await at.call(`PATCH /v1/accounts/${id}`, { json: { limits: { requestsPerMinute: 30 } } });
    at.clock.now = new Date(at.clock.now.getTime() + 5_001);
    expect(await at.call('GET /v1/keys/self', { key })).toMatchObject({ status: 200 });
  });
});

describe('what belongs to no account', () => {
  let at: Accounts;

  beforeAll(async () => {
    at = await startAccounts(undefined, {
      ACCOUNT_DOMAINS: '1',
      ACCOUNT_PROJECTS: '1',
      ACCOUNT_ADDITIONS_PER_HOUR: '1',
    });
  });
  afterAll(() => at?.close());

  it('has no limits, whatever is configured', async () => {
    const project = await at.project();
    await at.project();
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((name) =>
        at.call(`POST /v1/projects/${project}/domains`, {
          json: { hostname: `${name}.example.com` },
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  });

  it('follows the configuration where an account has no limits of its own', async () => {
    const { key, project } = await at.account();
    const json = { name: 'Q', slug: 'q', plan: 'pro' };
    expect(await at.call('POST /v1/projects', { key, json })).toMatchObject({ status: 409 });
    const add = (hostname: string) =>
      at.call(`POST /v1/projects/${project}/domains`, { key, json: { hostname } });
    expect(await add('one.example.com')).toMatchObject({ status: 201 });
    expect((await add('two.example.com')).body).toMatchObject({ code: 'account_limit' });
  });
});
