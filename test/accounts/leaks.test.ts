import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { accountScopes } from '../../src/core/operations/scopes.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { errorBody } from '../http/support.ts';
import { everyRoute } from '../support/every-route.ts';
import { askingFor, leaksTo, type Stranger, strangersOf } from './strangers.ts';
import { API_KEY, startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

/** Those of /openapi.json, which documents exactly these routes. */
const routes = everyRoute().filter(({ scope }) => scope !== null);
let world: TwoAccounts;
let strangers: readonly Stranger[];

beforeAll(async () => {
  world = await startTwoAccounts();
  strangers = await strangersOf(world);
}, 60_000);
afterAll(() => world?.close());

/** Everything that the customer has, as stored. */
async function storedOf({ service, one }: TwoAccounts) {
  const { prisma } = service.database;
  const { accountId, projectId } = one;
  return {
    account: await prisma.account.findUnique({ where: { id: accountId } }),
    projects: await prisma.project.findMany({ where: { accountId }, orderBy: { id: 'asc' } }),
    deploys: await prisma.deploy.findMany({ where: { projectId } }),
    domains: await prisma.domain.findMany({ where: { projectId }, include: { hsts: true } }),
    events: await prisma.event.count({ where: { projectId } }),
    webhooks: await prisma.webhook.findMany({ where: { projectId } }),
    redirects: await prisma.redirect.findMany({ where: { projectId } }),
    keys: await prisma.apiKey.findMany({
      where: { accountId, projectIds: { isEmpty: true } },
      omit: { lastUsedAt: true },
    }),
  };
}

/** Streams stay open, and a check of DNS takes seconds; test/accounts/limits.test.ts has both. */
const isAnswered = ({ operationId }: Route) => operationId !== 'streamEvents';

describe('What belongs to an account does not exist for others', () => {
  it('in any operation, with any kind of key', async () => {
    const before = await storedOf(world);
    for (const stranger of strangers) {
      const leaks = await leaksTo(world, stranger, routes, world.one);
      expect(leaks, stranger.title).toEqual([]);
    }
    expect(await storedOf(world)).toEqual(before);
  }, 120_000);

  it('although the same requests succeed with the key of the account', async () => {
    const { call, one } = world;
    const reads = routes.filter(
      (route) =>
        route.method === 'GET' &&
        isAnswered(route) &&
        accountScopes.some((scope) => scope === route.scope),
    );
    expect(reads.length).toBeGreaterThan(15);
    for (const route of reads) {
      for (const { line, headers } of askingFor(route, one)) {
        const { status } = await call(line, { key: one.key, ...(headers && { headers }) });
        expect([line, status]).toEqual([line, expect.toSatisfy((code) => code < 300)]);
      }
    }
  }, 60_000);

  it('also after a cursor of the account, which starts the same page for others', async () => {
    const { call, one, other } = world;
    for (const path of ['/v1/projects', '/v1/domains', '/v1/keys']) {
      await call('POST /v1/keys', { key: one.key, json: { name: 'k', scopes: ['domains:read'] } });
      const { headers } = await call(`GET ${path}?limit=1`, { key: API_KEY });
      const [, next = ''] = /<([^>]+)>/.exec(headers['link'] ?? '') ?? [];
      expect(next).toContain('cursor=');
      const { status, text } = await call(`GET ${next}`, { key: other.key });
      expect(status).toBe(200);
      expect(text).not.toContain(one.mark);
      expect(text).not.toContain(one.accountId);
    }
  });

  it('nor does an Idempotency-Key of the account replay its response', async () => {
    const { call, one, other } = world;
    const headers = { 'idempotency-key': 'the same key' };
    const json = { name: 'Once', slug: 'once', plan: 'pro' };
    const first = await call('POST /v1/projects', { key: one.key, headers, json });
    expect(first.status).toBe(201);
    const second = await call('POST /v1/projects', { key: other.key, headers, json });
    expect(second).toMatchObject({ status: 201, body: { accountId: other.accountId } });
    const acting = { ...headers, 'signpost-account': one.accountId };
    const third = await call('POST /v1/projects', { key: API_KEY, headers: acting, json });
    expect(third.body).toEqual(errorBody(409, 'slug_taken'));
    const others = { ...headers, 'signpost-account': other.accountId };
    const fourth = await call('POST /v1/projects', { key: API_KEY, headers: others, json });
    expect(fourth.body).toEqual(errorBody(422, 'idempotency_key_reused'));
  });

  it('and a planted leak is found', async () => {
    const { service, one } = world;
    const { find } = service.projects;
    Object.assign(service.projects, {
      find: (_access: unknown, id: string) => find(wholeInstallation, id),
    });
    const [stranger] = strangers;
    const leaks = stranger && (await leaksTo(world, stranger, routes.filter(isAnswered), one));
    Object.assign(service.projects, { find });
    expect(leaks?.length).toBeGreaterThan(0);
  }, 60_000);
});
