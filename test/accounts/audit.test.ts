import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessTo, wholeInstallation } from '../../src/core/access.ts';
import { accountScopes } from '../../src/core/operations/scopes.ts';
import { AUDIT_KEPT_MS } from '../../src/db/audit.ts';
import { inTransaction } from '../../src/db/engine/transaction.ts';
import { createAuditing, isAudited } from '../../src/http/pipeline/audit.ts';
import { everyRoute } from '../support/every-route.ts';
import { askingFor } from './strangers.ts';
import { API_KEY, type Customer, startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

type Entry = {
  readonly operation: string;
  readonly object: string;
  readonly fields: readonly string[];
  readonly accountId: string | null;
  readonly projectId: string | null;
  readonly status: number | null;
  readonly code: string | null;
  readonly count: number;
  readonly summary: string;
  readonly actor: {
    readonly kind: string;
    readonly keyId: string | null;
    readonly sessionId: string | null;
    readonly address: string | null;
  };
};

let world: TwoAccounts;
beforeAll(async () => {
  world = await startTwoAccounts();
}, 60_000);
afterAll(() => world?.close());

async function entries(query = '', key = API_KEY): Promise<readonly Entry[]> {
  const { text, status } = await world.call(`GET /v1/audit${query}`, { key });
  expect(status).toBe(200);
  return JSON.parse(text);
}

const done = async () =>
  (await world.service.database.prisma.auditEntry.aggregate({ _sum: { count: true } }))._sum
    .count ?? 0;

async function made(customer: Customer, line: string, json?: unknown) {
  const answer = await world.call(line, { key: customer.key, ...(json !== undefined && { json }) });
  expect(answer.status, line).toBeLessThan(300);
  return answer;
}

/** Without a project or account, which later requests need. */
const last = ['deleteProject', 'closeAccount', 'revokeKey', 'endSession'];

describe('The audit log', () => {
  it('has an entry for each operation that changed something or showed a secret', async () => {
    const { call, one } = world;
    const routes = everyRoute().filter(
      (route) =>
        isAudited(route) &&
        accountScopes.some((scope) => scope === route.scope) &&
        !last.includes(route.operationId),
    );
    expect(routes.length).toBeGreaterThan(15);
    const succeeded = new Set<string>();
    for (const route of routes) {
      for (const { line, json, headers } of askingFor(route, one)) {
        const before = await done();
        const { status } = await call(line, {
          key: one.key,
          headers,
          ...(json !== undefined && { json }),
        });
        const isRecorded = status < 400 || status === 403;
        if (status < 400) succeeded.add(route.operationId);
        expect([line, status, await done()]).toEqual([line, status, before + Number(isRecorded)]);
      }
    }
    expect(succeeded.size).toBeGreaterThan(14);
  }, 60_000);

  it('says who did what, on which object, from which address and with which result', async () => {
    const { one } = world;
    const path = `/v1/projects/${one.projectId}`;
    await made(one, `PATCH ${path}`, { plan: 'pro', metadata: { of: 'the secret of a customer' } });
    const [entry] = await entries('?operation=updateProject&limit=1');
    expect(entry).toMatchObject({
      object: path,
      fields: ['plan', 'metadata'],
      accountId: one.accountId,
      projectId: one.projectId,
      status: 200,
      code: null,
      count: 1,
      summary: 'Change a project',
      actor: { kind: 'key', keyId: one.keyId, sessionId: null, address: '127.0.0.1' },
    });
    const raw = `key=${one.key}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const signedIn = await world.call('POST /sign-in', { raw, headers });
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
    const [signIn] = await entries('?operation=signIn&limit=1', one.key);
    expect(signIn).toMatchObject({ actor: { keyId: one.keyId }, accountId: one.accountId });
    const page = await world.call('GET /keys', { headers: { cookie } });
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text ?? '')?.[1];
    const form = {
      raw: `csrf=${csrf}&name=x&scopes=domains:read`,
      headers: { ...headers, cookie },
    };
    expect((await world.call('POST /keys', form)).status).toBe(200);
    const [byPage] = await entries('?operation=createKey&limit=1', one.key);
    expect(byPage?.actor).toMatchObject({
      keyId: one.keyId,
      sessionId: signIn?.actor.sessionId,
    });
    const out = { raw: `csrf=${csrf}`, headers: { ...headers, cookie } };
    expect((await world.call('POST /sign-out', out)).status).toBe(303);
    const [signOut] = await entries('?operation=signOut&limit=1', one.key);
    expect(signOut?.object).toBe(signIn?.object);
  });

  it('counts a repetition within an hour, and nothing else, in the same entry', async () => {
    const { one } = world;
    const path = `/v1/projects/${one.otherProjectId}`;
    const names = ['a', 'b', 'c'];
    for (const name of names) await made(one, `PATCH ${path}`, { name });
    await made(one, `PATCH ${path}`, { plan: 'pro' });
    const found = await entries(`?object=${encodeURIComponent(path)}&operation=updateProject`);
    expect(found.map(({ fields, count }) => [fields.join(), count])).toEqual([
      ['plan', 1],
      ['name', 3],
    ]);
  });

  it('shows an account its own entries only, and no operator’s key or address', async () => {
    const { one, other } = world;
    await world.call(`PATCH /v1/projects/${other.projectId}`, {
      key: API_KEY,
      json: { plan: 'pro' },
    });
    const seen = await entries('', other.key);
    expect(new Set(seen.map(({ accountId }) => accountId))).toEqual(new Set([other.accountId]));
    expect(seen.find(({ operation }) => operation === 'updateProject')?.actor).toEqual(
      expect.objectContaining({ kind: 'operator', keyId: null, address: null, sessionId: null }),
    );
    const some = accessTo(one.accountId, [one.projectId]);
    const { rows: restricted } = await world.service.audit.list(
      some,
      {},
      { after: null, limit: 99 },
    );
    expect(restricted.length).toBeGreaterThan(0);
    expect(new Set(restricted.map(({ projectId }) => projectId))).toEqual(new Set([one.projectId]));
  });

  it('has a request without the right, and no other refused one', async () => {
    const { call, one } = world;
    const reader = { name: 'reads', scopes: ['domains:read'] };
    const { body } = await made(one, 'POST /v1/keys', reader);
    const { key, id } = body as { key: string; id: string };
    const before = await done();
    const line = `DELETE /v1/projects/${one.otherProjectId}`;
    expect((await call(line, { key })).status).toBe(403);
    const [refused] = await entries(`?keyId=${id}`);
    expect(refused).toMatchObject({
      operation: 'deleteProject',
      status: 403,
      code: 'insufficient_scope',
      object: '/v1/projects/:projectId',
      accountId: one.accountId,
    });
    // Neither a secret nor a text that PostgreSQL refuses, and both refusals are one entry.
    for (const id of [one.key, 'x'.repeat(4_000), '%00']) {
      expect((await call(`DELETE /v1/keys/${id}`, { key })).status).toBe(403);
    }
    const [, ...others] = await entries(`?keyId=${id}`);
    const [forKeys] = await entries(`?keyId=${id}&operation=revokeKey`);
    expect([others.length, forKeys?.object, forKeys?.count]).toEqual([1, '/v1/keys/:keyId', 3]);
    for (const wrong of ['keyId=%00', 'object=%00', 'since=0000-01-01T00:00:00Z']) {
      expect((await call(`GET /v1/audit?${wrong}`, { key: one.key })).status).toBe(400);
    }
    const nowhere = 'DELETE /v1/projects/nonsense';
    expect((await call(nowhere, { key: one.key })).status).toBe(404);
    expect(await done()).toBe(before + 4);
  });

  it('has an operation of several steps from its first one on', async () => {
    const { call, service } = world;
    const closed = await call('POST /v1/accounts', { key: API_KEY, json: { name: 'Closing' } });
    const { id } = closed.body as { id: string };
    const { accounts } = service;
    const { close } = accounts;
    const states: unknown[] = [];
    Object.assign(accounts, {
      async close(...given: Parameters<typeof close>) {
        states.push((await entries('?operation=closeAccount'))[0]?.status);
        return close(...given);
      },
    });
    expect((await call(`DELETE /v1/accounts/${id}`, { key: API_KEY })).status).toBe(204);
    Object.assign(accounts, { close });
    const [entry] = await entries('?operation=closeAccount');
    expect([...states, entry?.status, entry?.accountId]).toEqual([null, 204, id]);
  });

  it('holds a transaction around a change, but not while a handler waits for others', async () => {
    const { one, service } = world;
    const auditing = createAuditing(service);
    const inside = new Map<string, boolean>();
    for (const route of everyRoute().filter(isAudited)) {
      const key = { id: one.keyId, sessionId: null, scopes: [], access: wholeInstallation };
      const about = { route, params: {}, key, access: key.access, requestId: 'x', address: '::1' };
      await auditing({ ...about, body: undefined }).run(async () => {
        inside.set(route.operationId, inTransaction());
        return { status: 200 };
      });
    }
    const without = [...inside].flatMap(([operation, holds]) => (holds ? [] : [operation]));
    expect(without.sort()).toEqual([
      'closeAccount',
      'deleteProject',
      'testOperatorWebhook',
      'testWebhook',
    ]);
  });

  it('undoes a change that it cannot record', async () => {
    const { call, one, service } = world;
    const { prisma } = service.database;
    const path = `/v1/projects/${one.projectId}`;
    await prisma.$executeRaw`ALTER TABLE audit_entry RENAME TO audit_elsewhere`;
    try {
      const answer = await call(`PATCH ${path}`, { key: one.key, json: { name: 'unrecorded' } });
      expect(answer.status).toBe(500);
    } finally {
      await prisma.$executeRaw`ALTER TABLE audit_elsewhere RENAME TO audit_entry`;
    }
    const { body } = await call(`GET ${path}`, { key: one.key });
    expect(body).not.toMatchObject({ name: 'unrecorded' });
  });

  it('is filtered by time and read in pages', async () => {
    const { call } = world;
    const all = await entries();
    const names: string[] = [];
    let line = 'GET /v1/audit?limit=7';
    while (line !== '') {
      const { body, headers } = await call(line, { key: API_KEY });
      names.push(...(body as readonly Entry[]).map(({ operation }) => operation));
      const next = /^<([^>]+)>/.exec(headers['link'] ?? '')?.[1];
      line = next === undefined ? '' : `GET ${next}`;
    }
    expect(names.slice(0, all.length)).toEqual(all.map(({ operation }) => operation));
    expect(await entries('?until=2020-01-01T00:00:00Z')).toEqual([]);
    expect(await entries('?since=2020-01-01T00:00:00%2B02:00')).toHaveLength(all.length);
    const wrong = await call('GET /v1/audit?since=yesterday', { key: API_KEY });
    expect(wrong.status).toBe(400);
  });

  it('loses entries by their age only, the oldest first', async () => {
    const { audit } = world.service;
    const before = await world.service.database.prisma.auditEntry.count();
    const now = Date.now();
    expect(await audit.prune(new Date(now - AUDIT_KEPT_MS), 5)).toBe(0);
    expect(await audit.prune(new Date(now + 1_000), 5)).toBe(5);
    expect(await world.service.database.prisma.auditEntry.count()).toBe(before - 5);
  });
});
