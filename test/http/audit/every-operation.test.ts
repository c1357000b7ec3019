/** No operation changes anything without an entry that says what: each of the document is asked. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mintKey } from '../../../src/config/api-key.ts';
import { DEFAULT_ACCOUNT_ID } from '../../../src/core/accounts/access.ts';
import { type Ask, adding } from '../../contract/requests.ts';
import { everyRoute } from '../../support/every-route.ts';
import { lacks } from '../../support/programs.ts';
import { type AuditedApi, asked, routeOf, startAuditedApi, type Things } from './fixture.ts';

/** Animals are the store's: the only change that leaves no entry. */
const unlogged = ['createPet'];
/** Reads that show a secret. */
const shown = ['getSigningSecret'];
/** What a key may not do, or reach, has an entry. */
const deniedAs = ['account_not_found', 'restricted_key', 'installation_only'];
/** What these are about belongs to no account. */
const ofInstallation =
  /^(?:create|update|delete|rotate|replay)OperatorWebhook|^(?:create|rotate|revoke)Key$|^endSession$/;

let api: AuditedApi;
let things: Things;
beforeAll(async () => {
  api = await startAuditedApi();
  things = await api.things();
}, 60_000);
afterAll(() => api?.close());

const logged = () => api.changing.filter(({ operationId }) => !unlogged.includes(operationId));
const idsOf = (list: readonly { operationId: string }[]) =>
  list.map(({ operationId }) => operationId).sort();

describe('every operation of /openapi.json', () => {
  it('is a route of the service, and the other way round', () => {
    expect(idsOf(api.operations)).toEqual(idsOf(everyRoute()));
  });

  it('leaves an entry where it may change something, but for those of the list', () => {
    const silent = api.changing.filter((operation) => routeOf(operation).audits === null);
    expect(idsOf(silent)).toEqual(unlogged);
    const reads = logged().filter(({ method }) => method === 'GET');
    expect(idsOf(reads)).toEqual(shown);
  });

  it('that succeeds leaves one entry, with its account and its object', async () => {
    for (const operation of logged()) {
      const { operationId } = operation;
      const requestId = randomUUID();
      await api.succeed(operation, things, requestId);
      const entries = await api.entriesOf(requestId);
      expect(entries, operationId).toHaveLength(1);
      const [entry] = entries;
      expect(entry, operationId).toMatchObject({
        operationId,
        outcome: 'done',
        code: null,
        keyId: 'configured',
        byInstallation: true,
        sessionId: null,
        address: expect.stringMatching(/^127\.0\.0\.1$|^::1$/),
        objectKind: routeOf(operation).audits,
        objectId: expect.stringMatching(/./),
      });
      const account = ofInstallation.test(operationId) ? null : expect.any(String);
      expect(entry?.accountId, operationId).toEqual(account);
      await expectObject(operationId, entry?.objectId ?? '');
      if (operation.path.includes('{projectId}')) {
        expect(entry, operationId).toMatchObject({
          projectId: things.projectId,
          accountId: DEFAULT_ACCOUNT_ID,
        });
      }
    }
  }, 60_000);

  it('that finds nothing to remove leaves none, whatever was typed', async () => {
    const typed = [randomUUID(), `${randomUUID()}.example.com`, 'no name'];
    for (const operation of logged().filter(({ method }) => method === 'DELETE')) {
      const { operationId } = operation;
      const last = /\{(\w+)\}(?:\/hsts)?$/.exec(operation.path)?.[1] ?? '';
      for (const text of typed) {
        const requestId = randomUUID();
        const ask = asked[operationId]?.success[1](things) ?? {};
        const nothing = { ...ask, params: { ...ask.params, [last]: text } };
        const answer = await api.ask(operation, adding(nothing, { 'x-request-id': requestId }));
        expect([204, 404], operationId).toContain(answer.status);
        // What a key may not reach has one, which names no object.
        const entries = (await api.entriesOf(requestId)).filter(
          ({ objectId }) => objectId !== null,
        );
        expect(entries, operationId).toEqual([]);
      }
    }
  });

  it('that a key may not do leaves an entry that names no object', async () => {
    for (const operation of logged()) {
      const { operationId } = operation;
      const requestId = randomUUID();
      const ask = asked[operationId]?.success[1](things) ?? {};
      const authorization = `Bearer ${things.petsKey}`;
      const answer = await api.ask(
        operation,
        adding(ask, { 'x-request-id': requestId, authorization }),
      );
      expect([operationId, answer.status]).toEqual([operationId, 403]);
      expect(await api.entriesOf(requestId), operationId).toMatchObject([
        { operationId, outcome: 'refused', code: 'insufficient_scope', objectId: null },
      ]);
    }
  });

  it('that nobody asked for who has a key leaves none, nor one of which nothing came', async () => {
    const before = await api.prisma.auditEntry.count();
    for (const operation of logged()) {
      const ask = asked[operation.operationId]?.success[1](things) ?? {};
      const unknown = adding(ask, { authorization: 'Bearer nobody' });
      expect((await api.ask(operation, unknown)).status).toBe(401);
      for (const [status, code, asking] of asked[operation.operationId]?.refusals ?? []) {
        if (deniedAs.includes(code)) continue;

        const answer = await api.ask(operation, asking(things));
        expect(answer.status).toBe(status);
      }
    }
    expect(await api.prisma.auditEntry.count()).toBe(before);
  }, 60_000);

  it('that only reads leaves none', async () => {
    const before = await api.prisma.auditEntry.count();
    for (const operation of api.operations) {
      if (api.changing.includes(operation) || operation.isEndless) continue;
      await api.ask(operation, asked[operation.operationId]?.success[1](things) ?? {});
    }
    expect(await api.prisma.auditEntry.count()).toBe(before);
  }, 60_000);
});

/** The object is the thing that was asked for, or one that was made. */
async function expectObject(operationId: string, id: string): Promise<void> {
  const { params = {}, json = {} } = asked[operationId]?.success[1](things) ?? {};
  const given = [...Object.values(params), ...Object.values(json)];
  if (/^create|Watched|^runDomainJob/.test(operationId)) expect(given).not.toContain(id);
  else expect(given, operationId).toContain(id);
}

// On embedded storage workers change rows meanwhile.
describe.skipIf(lacks('postgres', 'what an operation changes without its entry'))(
  'where the entry cannot be written',
  () => {
    beforeAll(async () => {
      things = await api.things();
      await api.prisma.$executeRaw`
      CREATE FUNCTION no_entry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no entry'; END $$`;
      await api.prisma.$executeRaw`
      CREATE TRIGGER no_entry BEFORE INSERT ON audit_entry EXECUTE FUNCTION no_entry()`;
    }, 60_000);
    afterAll(async () => {
      await api.prisma.$executeRaw`DROP TRIGGER no_entry ON audit_entry`;
    });

    it('nothing was changed, whatever was asked for', async () => {
      for (const operation of logged()) {
        const { operationId } = operation;
        const before = await contents();
        const ask = asked[operationId]?.success[1](things) ?? {};
        const repeated = { 'idempotency-key': randomUUID() };
        const plain = await api.ask(operation, ask);
        const once = await api.ask(operation, adding(ask, repeated));
        expect([operationId, plain.status, once.status]).toEqual([operationId, 500, 500]);
        expect(await contents(), operationId).toEqual(before);
      }
    }, 60_000);

    /** Of each table, all that is in it; not what notes that a key was used. */
    async function contents(): Promise<unknown> {
      const except = ['rate_limit', 'turn', '_prisma_migrations', 'api_key', 'deprecated_use'];
      const tables = await api.prisma.$queryRaw<{ name: string }[]>`
      SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'
        AND tablename <> ALL (${except}) ORDER BY 1`;
      const keys = await api.prisma.apiKey.findMany({
        omit: { lastUsedAt: true },
        orderBy: { id: 'asc' },
      });
      const found: [string, unknown][] = [['api_key', keys]];
      for (const { name } of tables) {
        const rows = await api.prisma.$queryRawUnsafe(
          `SELECT md5(coalesce(string_agg(row::text, ',' ORDER BY row::text), '')) FROM "${name}" AS row`,
        );
        found.push([name, rows]);
      }
      return found;
    }
  },
);

describe('a request that is sent again', () => {
  it('leaves one entry, as it has one effect', async () => {
    things = await api.things();
    const operation = api.operations.find((one) => one.operationId === 'addDomain');
    if (operation === undefined) throw new Error('there is no addDomain');
    const requestId = randomUUID();
    const ask = adding(
      { params: { projectId: things.projectId }, json: { hostname: `${requestId}.example.com` } },
      { 'idempotency-key': requestId, 'x-request-id': requestId },
    );
    const statuses = [await api.ask(operation, ask), await api.ask(operation, ask)];
    expect(statuses.map(({ status }) => status)).toEqual([201, 201]);
    expect(statuses[1]?.headers.get('idempotency-replayed')).toBe('true');
    expect(await api.entriesOf(requestId)).toHaveLength(1);
  });
});

describe('a secret', () => {
  const secrets: string[] = [];
  const planted = () => {
    const { token } = mintKey();
    secrets.push(token);
    return token;
  };
  afterEach(async () => {
    const rows = await api.prisma.$queryRaw<{ text: string }[]>`
      SELECT row::text AS text FROM audit_entry AS row`;
    const stored = rows.map(({ text }) => text.toLowerCase()).join('\n');
    expect(rows.length).toBeGreaterThan(10);
    expect(secrets.length).toBeGreaterThan(0);
    for (const secret of secrets) expect(stored).not.toContain(partOf(secret));
  });
  /** Of a token of ours, what follows its id, which is no secret. */
  const partOf = (secret: string) => secret.toLowerCase().replace(/^signpost_[0-9a-z]{12}_/, '');

  it('in a header is not stored', async () => {
    things = await api.things();
    for (const operation of logged()) {
      const requestId = planted();
      const headers = {
        'user-agent': `curl/8 ${planted()}`,
        'x-request-id': requestId,
        'x-forwarded-for': planted(),
        cookie: `a=${planted()}`,
        referer: `https://example.com/?${planted()}`,
        traceparent: planted(),
      };
      const ask = asked[operation.operationId]?.success[1](things) ?? {};
      expect((await api.ask(operation, adding(ask, headers))).status).toBeLessThan(300);
    }
    const agents = await api.prisma.auditEntry.findMany({
      where: { userAgent: { contains: 'curl' } },
    });
    expect(agents).toEqual([]);
  }, 60_000);

  it('in a field of a body, a part of a path or a query is not stored', async () => {
    things = await api.things();
    const statuses = new Set<number>();
    for (const operation of logged()) {
      const ask = asked[operation.operationId]?.success[1](things) ?? {};
      for (const one of plantedIn(ask, planted)) {
        const answer = await api.ask(operation, one);
        statuses.add(answer.status);
        expect(answer.status, operation.operationId).not.toBe(500);
      }
    }
    // Some of it is taken, as a name is, and some refused.
    for (const status of [200, 201, 400, 404]) expect(statuses).toContain(status);
  }, 60_000);

  it('that an answer shows is not stored', async () => {
    things = await api.things();
    for (const operation of logged()) {
      const { text } = await api.succeed(operation, things, randomUUID());
      const body = text === '' ? {} : (JSON.parse(text) as { key?: string; secret?: string });
      for (const secret of [body.key, body.secret]) if (secret !== undefined) secrets.push(secret);
    }
    expect(secrets.filter((secret) => secret.startsWith('whsec_')).length).toBeGreaterThan(0);
  }, 60_000);
});

/** The request once for each text in it, with a secret in that one's place; and once with one in its query. */
function plantedIn(ask: Ask, planted: () => string): Ask[] {
  const within = (value: unknown, put: (changed: unknown) => Ask): Ask[] => {
    if (typeof value === 'string') return [put(planted())];
    if (typeof value !== 'object' || value === null) return [];
    const copy = (key: string, changed: unknown) =>
      Array.isArray(value)
        ? value.map((one, at) => (String(at) === key ? changed : one))
        : { ...value, [key]: changed };
    return Object.entries(value).flatMap(([key, one]) =>
      within(one, (changed) => put(copy(key, changed))),
    );
  };
  return [
    ...within(ask.json ?? {}, (json) => ({ ...ask, json: json as object })),
    ...within(ask.params ?? {}, (params) => {
      return { ...ask, params: params as Readonly<Record<string, string>> };
    }),
    { ...ask, query: { q: planted() } },
  ];
}
