/** Projects that a key of the installation moves to another account. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessTo } from '../../src/core/access.ts';
import { errorBody } from '../http/support.ts';
import { API_KEY, type Customer, startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

let world: TwoAccounts;
beforeAll(async () => {
  world = await startTwoAccounts();
}, 60_000);
afterAll(() => world?.close());

type Made = { readonly id: string; readonly key: string };
async function made(line: string, json: object): Promise<Made> {
  const { status, body } = await world.call(line, { key: API_KEY, json });
  expect([line, status]).toEqual([line, 201]);
  return body as Made;
}
const anAccount = () => made('POST /v1/accounts', { name: 'Empty' });
const aKeyOf = (accountId: string, more = {}) =>
  made('POST /v1/keys', { name: 'k', scopes: ['domains:read'], accountId, ...more });
const move = (projectId: string, accountId: string, key = API_KEY) =>
  world.call(`PATCH /v1/projects/${projectId}`, { key, json: { accountId } });
const usageOf = async (accountId: string) =>
  (await world.call(`GET /v1/accounts/${accountId}/usage`, { key: API_KEY })).body;

/** What a key reads of the customer's project. */
async function readsOf({ projectId, hostname, domainId, webhookId }: Customer, key: string) {
  const path = `/v1/projects/${projectId}`;
  const lines = [
    path,
    `${path}/deploys`,
    `${path}/domains/${hostname}`,
    `${path}/domains/${hostname}/timeline`,
    `${path}/domain-settings`,
    `${path}/webhooks/${webhookId}`,
    `${path}/webhooks/${webhookId}/deliveries`,
    `/v1/domains/${domainId}`,
  ];
  return Promise.all(
    lines.map(async (line) => {
      const { status, body } = await world.call(`GET ${line}`, { key });
      return { status, body };
    }),
  );
}

describe('A moved project', () => {
  it('is with everything in the other account, and gone for keys of the former one', async () => {
    const { call, one, service } = world;
    const { id: accountId } = await anAccount();
    const { key } = await aKeyOf(accountId);
    const former = await aKeyOf(one.accountId, { projectIds: [one.projectId] });
    const before = await readsOf(one, one.key);
    expect(before.map(({ status }) => status)).toEqual(before.map(() => 200));
    const counted = await usageOf(one.accountId);
    expect(await usageOf(accountId)).toMatchObject({
      projects: { used: 0n },
      domains: { used: 0n },
    });

    const moved = await move(one.projectId, accountId);
    expect(moved).toMatchObject({ status: 200, body: { id: one.projectId, accountId } });
    expect((await move(one.projectId, accountId)).body).toEqual(moved.body);

    const [project, ...rest] = await readsOf(one, key);
    expect(project?.body).toEqual({ ...(before[0]?.body as object), accountId });
    expect(rest).toEqual(before.slice(1));
    for (const each of [one.key, former.key]) {
      const found = await readsOf(one, each);
      expect(found.map(({ status }) => status)).toEqual(found.map(() => 404));
      const { text } = await call('GET /v1/domains', { key: each });
      expect(text).not.toContain(one.mark);
    }
    expect(await usageOf(accountId)).toMatchObject({
      projects: { used: 1n },
      domains: { used: 2n },
    });
    expect(counted).toMatchObject({ projects: { used: 2n }, domains: { used: 2n } });
    expect(await usageOf(one.accountId)).toMatchObject({
      projects: { used: 1n },
      domains: { used: 0n },
    });
    // What an open stream of the former account asks before each heartbeat.
    const numbers = await service.events.lastNumbers(accessTo(one.accountId), [one.projectId]);
    expect(numbers.size).toBe(0);

    expect((await move(one.projectId, one.accountId)).status).toBe(200);
    expect(await readsOf(one, one.key)).toEqual(before);
  });
});

describe('A move is refused', () => {
  it('to an account that is unknown, closed, or has the slug', async () => {
    const { one, other } = world;
    const { projectId } = one;
    const closed = await anAccount();
    await world.call(`DELETE /v1/accounts/${closed.id}`, { key: API_KEY });
    const notFound = errorBody(404, 'account_not_found');
    expect((await move(projectId, randomUUID())).body).toEqual(notFound);
    expect((await move(projectId, closed.id)).body).toEqual(errorBody(409, 'account_closed'));
    expect((await move(projectId, other.accountId)).body).toEqual(errorBody(409, 'slug_taken'));
    const malformed = await move(projectId, 'no-uuid');
    expect(malformed.status).toBeGreaterThanOrEqual(400);
    expect(malformed.status).toBeLessThan(500);
    const unknown = await move(randomUUID(), other.accountId);
    expect(unknown.body).toEqual(errorBody(404, 'project_not_found'));
    const { body } = await world.call(`GET /v1/projects/${projectId}`, { key: one.key });
    expect(body).toMatchObject({ accountId: one.accountId });
  });

  it("to another account by an account's key, as for an unknown one", async () => {
    const { one, other } = world;
    const refused = await move(one.otherProjectId, other.accountId, one.key);
    const unknown = await move(one.otherProjectId, randomUUID(), one.key);
    expect(refused.body).toEqual(errorBody(404, 'account_not_found'));
    const { requestId: _1, ...said } = refused.body as { requestId: string };
    const { requestId: _2, ...expected } = unknown.body as { requestId: string };
    expect(said).toEqual(expected);
    expect((await move(one.otherProjectId, one.accountId, one.key)).status).toBe(200);
    const stolen = await move(other.projectId, one.accountId, one.key);
    expect(stolen.body).toEqual(errorBody(404, 'project_not_found'));
  });

  it('to an account where a project with its slug is created at the same time', async () => {
    for (let nth = 0; nth < 10; nth += 1) {
      const about = { name: 'P', slug: `same-${nth}`, plan: 'pro' };
      const { id: projectId } = await made('POST /v1/projects', about);
      const { id: accountId } = await anAccount();
      const create = world.call('POST /v1/projects', {
        key: API_KEY,
        json: { ...about, accountId },
      });
      const answers = await Promise.all([move(projectId, accountId), create]);
      const refused = answers.filter(({ status }) => status >= 400);
      expect(refused.map(({ body }) => body)).toEqual([errorBody(409, 'slug_taken')]);
    }
  });

  it('once its account is closed with all projects, and else it is not deleted', async () => {
    const { prisma } = world.service.database;
    const { id: target } = await anAccount();
    for (let nth = 0; nth < 10; nth += 1) {
      const { id: accountId } = await anAccount();
      const about = { name: 'P', slug: `leaving-${nth}`, plan: 'pro', accountId };
      const { id } = await made('POST /v1/projects', about);
      const line = `DELETE /v1/accounts/${accountId}?projects=delete`;
      const close = world.call(line, { key: API_KEY });
      const [moved, closed] = await Promise.all([move(id, target), close]);
      expect(closed.status).toBe(204);
      const { deletedAt } = await prisma.project.findUniqueOrThrow({ where: { id } });
      expect([moved.status, deletedAt === null]).toEqual(
        moved.status === 200 ? [200, true] : [404, false],
      );
    }
  });

  it('to an account that is closed at the same time', async () => {
    const { prisma } = world.service.database;
    for (let nth = 0; nth < 10; nth += 1) {
      const about = { name: 'P', slug: `closing-${nth}`, plan: 'pro' };
      const { id } = await made('POST /v1/projects', about);
      const { id: accountId } = await anAccount();
      const close = world.call(`DELETE /v1/accounts/${accountId}`, { key: API_KEY });
      const [moved, closed] = await Promise.all([move(id, accountId), close]);
      const now = await prisma.project.findUniqueOrThrow({
        where: { id },
        include: { account: true },
      });
      const { account } = now;
      expect([moved.status, closed.status, account.closedAt === null]).toEqual(
        account.id === accountId ? [200, 409, true] : [409, 204, true],
      );
    }
  });
});
