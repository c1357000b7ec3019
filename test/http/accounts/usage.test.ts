import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noLimits } from '../../../src/core/accounts/limits.ts';
import type { Examine } from '../../../src/dns/examine.ts';
import { countDiagnoses, diagnosisRoutes } from '../../../src/http/routes/diagnosis.ts';
import { errorBody } from '../support.ts';
import { type Accounts, startAccounts } from './fixture.ts';

describe('what an account uses', () => {
  let at: Accounts;

  beforeAll(async () => {
    at = await startAccounts();
  });
  afterAll(() => at?.close());

  it('is shown beside each limit, to the account and to the installation', async () => {
    const { id, key, project } = await at.account({ additionsPerHour: 1, requestsPerMinute: null });
    const json = { hostname: 'used.example.com' };
    await at.call(`POST /v1/projects/${project}/domains`, { key, json });
    const webhook = { url: 'https://shop.example/hook' };
    await at.call(`POST /v1/projects/${project}/webhooks`, { key, json: webhook });
    const usage = await at.call(`GET /v1/accounts/${id}/usage`, { key });
    expect(usage.headers['cache-control']).toBe('no-store');
    expect(usage.body).toEqual({
      domains: { used: 1n, limit: 1_000n },
      additionsPerHour: {
        used: 1n,
        limit: 1n,
        nextAt: new Date(at.clock.now.getTime() + 3_600_000).toISOString(),
      },
      projects: { used: 1n, limit: 100n },
      keys: { used: 1n, limit: 100n },
      webhooks: { used: 1n, limit: 100n },
      streams: { used: 0n, limit: 100n },
      diagnoses: { used: 0n, limit: 2n },
      requestsPerMinute: { used: null, limit: null, resetAt: null },
    });
    expect((await at.call(`GET /v1/accounts/${id}/usage`)).body).toEqual(usage.body);
  });

  it('has the requests of this minute', async () => {
    const { id, key } = await at.account({ requestsPerMinute: 50 });
    const { body } = await at.call(`GET /v1/accounts/${id}/usage`, { key });
    // Making the project took two.
    expect(body).toMatchObject({
      requestsPerMinute: {
        used: 3n,
        limit: 50n,
        resetAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
  });

  it("is not another account's business", async () => {
    const [{ id }, { key }] = [await at.account(), await at.account()];
    const refused = await at.call(`GET /v1/accounts/${id}/usage`, { key });
    expect(refused.body).toEqual(errorBody(404, 'account_not_found'));
  });

  it('has the streams that are open, of all its keys together', async () => {
    const { id, key, project } = await at.account({ streams: 1 });
    const line = `/v1/projects/${project}/events`;
    const open = (token: string | undefined) =>
      at.api.handle({
        method: 'GET',
        target: line,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'text/event-stream',
        },
        readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
        remoteAddress: '127.0.0.1',
      });
    const first = await open(key);
    expect(first.status).toBe(200);
    const streams = async () =>
      ((await at.call(`GET /v1/accounts/${id}/usage`)).body as { streams: unknown }).streams;
    expect(await streams()).toEqual({ used: 1n, limit: 1n });
    const json = { name: 'K', scopes: ['domains:read'] };
    const { key: other } = (await at.call('POST /v1/keys', { key, json })).body as { key: string };
    const refused = await at.call(`GET ${line}`, { key: other });
    const until = new Date(at.clock.now.getTime() + 30_000).toISOString();
    expect(refused.headers['retry-after']).toBe('30');
    expect(refused.body).toEqual(
      errorBody(
        429,
        'too_many_streams',
        `This account has 1 of 1 streams open; close one, or try again at ${until}.`,
      ),
    );
    // The installation's own key takes none of the account's.
    const own = await at.api.handle({
      method: 'GET',
      target: line,
      headers: { authorization: `Bearer ${at.apiKey}` },
      readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
      remoteAddress: '127.0.0.1',
    });
    expect(own.status).toBe(200);
    own.stream?.discard();
    first.stream?.discard();
    expect(await streams()).toEqual({ used: 0n, limit: 1n });
  });
});

describe('diagnoses of an account', () => {
  it('are refused where as many are under way as it may have, and nobody else notices', async () => {
    let answer: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let begun = 0;
    const examine: Examine = async () => {
      begun += 1;
      await held;
      throw new Error('nobody reads the report');
    };
    const diagnoses = countDiagnoses();
    const now = new Date('2026-11-20T12:00:00Z');
    const [route] = diagnosisRoutes({
      platformDomain: 'edge.signpost.test',
      examine,
      examineReach: async () => ({ addresses: [], authorities: [] }),
      targetOf: async () => 'target.edge.signpost.test',
      diagnoses,
      now: () => now,
    });
    const ask = (accountId: string) => {
      const prepared = route?.prepare({
        params: { hostname: 'docs.example.com' },
        query: {},
        headers: {},
        body: undefined,
        key: {
          id: 'k',
          scopes: ['domains:read'],
          access: { kind: 'account', accountId, projectIds: null },
          limits: { ...noLimits, diagnoses: 2 },
        },
        requestId: 'r',
      });
      if (!prepared?.ok) throw new Error('refused before it ran');
      return prepared.run();
    };
    const burst = Array.from({ length: 20 }, () => ask('one'));
    const underWay = [...burst, ask('other')];
    for (const each of underWay) each.catch(() => {});
    await new Promise(setImmediate);
    expect([begun, diagnoses.of('one')]).toEqual([3, 2]);
    expect(await ask('one')).toMatchObject({
      status: 429,
      headers: { 'retry-after': '2' },
      body: {
        code: 'account_busy',
        message:
          'This account has 2 of 2 diagnoses under way; try again at 2026-11-20T12:00:02.000Z.',
      },
    });
    expect(diagnoses.of('other')).toBe(1);
    answer();
    const ended = await Promise.allSettled(burst);
    const refused = ended.filter((one) => one.status === 'fulfilled' && one.value.status === 429);
    expect(refused).toHaveLength(18);
    await Promise.allSettled(underWay);
    expect(diagnoses.of('one')).toBe(0);
    // Those that failed have left their places.
    await Promise.allSettled(Array.from({ length: 20 }, () => ask('one')));
    expect(begun).toBe(5);
  });
});
