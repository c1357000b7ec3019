/** A database from before accounts, with data in it: an upgrade changes nothing for anyone. */
import { createHash } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, mintKey } from '../../src/config/api-key.ts';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/records.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { migrate } from '../../src/db/engine/migrate.ts';
import { renderJson } from '../../src/net/json.ts';
import { errorBody } from '../http/support.ts';
import { migrateBefore } from '../support/older-schema.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';
import { API_KEY, startOn } from './two-accounts.ts';

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const [shop, gone, webhook] = [id(1), id(2), id(21)];
/** The slug of a deleted project is free again. */
const data = `
  INSERT INTO project (id, name, slug, plan, deployed_at, last_event_number, metadata, deleted_at) VALUES
    ('${shop}', 'Shop', 'shop', 'pro', now(), 0, '{"customer": "42"}', NULL),
    ('${gone}', 'Gone', 'shop', 'pro', now(), 0, '{}', now());
  INSERT INTO deploy (id, project_id, status, upstream) VALUES
    ('${id(11)}', '${shop}', 'succeeded', 'http://127.0.0.1:9/');
  INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, verified_at, removed_at) VALUES
    ('${id(31)}', '${shop}', 'live.shop.test', 't', 'live', now(), now(), now(), NULL),
    ('${id(32)}', '${shop}', 'new.shop.test', 't', 'pending', now(), now(), NULL, NULL),
    ('${id(33)}', '${gone}', 'old.shop.test', 't', 'live', now(), now(), now(), now());
  INSERT INTO webhook (id, project_id, url, event_types, sealed_secret) VALUES
    ('${webhook}', '${shop}', 'https://shop.test/hook', '{}', '\\x00'),
    ('${id(22)}', NULL, 'https://operator.test/hook', '{}', '\\x00');
  SELECT record_events('[
    {"domain_id": "${id(31)}", "type": "domain.added", "data": {}, "at": "2026-11-01Z"},
    {"domain_id": "${id(31)}", "type": "domain.live", "data": {}, "at": "2026-11-02Z"},
    {"domain_id": "${id(33)}", "type": "domain.live", "data": {}, "at": "2026-11-03Z"}]');`;

const scopesOf = {
  admin: ['admin'],
  writer: ['domains:read', 'domains:write'],
  store: ['pets:read', 'pets:write'],
  operator: ['ops:read'],
  revoked: ['domains:read'],
} as const;
type Name = keyof typeof scopesOf;

/** A request that a key sent before the upgrade, with its stored response. */
const attempt = { 'idempotency-key': 'before the upgrade' };
const json = { name: 'Shop', slug: 'shop', plan: 'pro' };
const stored = { id: shop, name: 'Shop', slug: 'shop', plan: 'pro' };

async function fillBefore({ pool }: Database): Promise<Readonly<Record<Name, string>>> {
  await pool.query(data);
  const tokens: Partial<Record<Name, string>> = {};
  for (const [name, scopes] of Object.entries(scopesOf)) {
    const { id: keyId, token } = mintKey();
    await pool.query(
      'INSERT INTO api_key (id, name, digest, scopes, revoked_at) VALUES ($1, $2, $3, $4, $5)',
      [keyId, name, digestOf(token), scopes, name === 'revoked' ? new Date() : null],
    );
    tokens[name as Name] = token;
    if (name !== 'writer') continue;
    const sent = createHash('sha256').update('POST /v1/projects\n').update(renderJson(json));
    await pool.query(
      `INSERT INTO idempotent_answer
        (api_key_id, operation_id, key, fingerprint, status, headers, body, expires_at)
        VALUES ($1, 'createProject', $2, $3, 201, '{}', $4, now() + interval '1 hour')`,
      [keyId, attempt['idempotency-key'], sent.digest(), renderJson(stored)],
    );
  }
  return tokens as Readonly<Record<Name, string>>;
}

/** The columns that existed: `*` would have the new ones, too. */
async function contentOf({ pool }: Database, columns: readonly Column[]): Promise<unknown> {
  const content: Record<string, unknown> = {};
  for (const table of new Set(columns.map(({ table_name }) => table_name))) {
    const own = columns.filter(({ table_name }) => table_name === table);
    const names = own.map(({ column_name }) => `"${column_name}"`).join(', ');
    const { rows } = await pool.query(`SELECT ${names} FROM "${table}"`);
    content[table] = rows.map((row) => JSON.stringify(row)).sort();
  }
  return content;
}
type Column = { readonly table_name: string; readonly column_name: string };

async function columnsOf({ pool }: Database): Promise<readonly Column[]> {
  const { rows } = await pool.query<Column>(
    `SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema = current_schema() AND table_name NOT LIKE '\\_%'
      ORDER BY table_name, ordinal_position`,
  );
  return rows;
}

const available = databases.filter((one) => one.available);

describe.each(available)('An upgrade from before accounts on $name', ({ name }) => {
  let fresh: FreshStorage;
  let keys: Readonly<Record<Name, string>>;
  let started: Awaited<ReturnType<typeof startOn>>;
  let contents: readonly [before: unknown, after: unknown];

  beforeAll(async () => {
    fresh = await freshStorage(name, { empty: true });
    const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    await migrateBefore(database, '20261202000000_former_holders');
    keys = await fillBefore(database);
    const columns = await columnsOf(database);
    const before = await contentOf(database, columns);
    await migrate(database.pool);
    contents = [before, await contentOf(database, columns)];
    await database.close();
    started = await startOn(fresh);
  }, 120_000);
  afterAll(async () => {
    await started?.close();
    await fresh?.close();
  });

  const asked = (line: string, key: string, more = {}) => started.call(line, { key, ...more });

  it('changes no value of any table', () => {
    expect(contents[1]).toEqual(contents[0]);
    expect(Object.keys(contents[0] as object)).toContain('api_key');
  });

  it('leaves each key with its scopes, as one of the installation', async () => {
    const { body } = await asked('GET /v1/keys', API_KEY);
    for (const [keyName, scopes] of Object.entries(scopesOf)) {
      expect(body).toContainEqual(
        expect.objectContaining({ name: keyName, scopes, accountId: null, projectIds: null }),
      );
    }
    const allowed: readonly (readonly [string, Name, number])[] = [
      ['GET /v1/projects', 'admin', 200],
      ['GET /v1/projects', 'writer', 200],
      ['GET /v1/projects', 'store', 403],
      ['GET /v1/projects', 'operator', 403],
      ['GET /v1/projects', 'revoked', 401],
      ['GET /v1/pets', 'store', 200],
      ['GET /v1/pets', 'writer', 403],
      ['GET /v1/operations/overview', 'operator', 200],
      ['GET /v1/keys', 'writer', 403],
    ];
    for (const [line, key, status] of allowed) {
      expect([line, key, (await asked(line, keys[key])).status]).toEqual([line, key, status]);
    }
  });

  it('has everything in the default account, which every key sees', async () => {
    const accounts = await asked('GET /v1/accounts', keys.admin);
    expect(accounts.body).toMatchObject([{ id: DEFAULT_ACCOUNT_ID, isDefault: true }]);
    expect(accounts.body).toHaveLength(1);
    const projects = await asked('GET /v1/projects', keys.writer);
    expect(projects.body).toMatchObject([{ ...stored, accountId: DEFAULT_ACCOUNT_ID }]);
    expect(projects.body).toHaveLength(1);
    const domains = await asked('GET /v1/domains', keys.writer);
    expect(domains.body).toHaveLength(2);
    const webhooks = await asked(`GET /v1/projects/${shop}/webhooks`, keys.writer);
    expect(webhooks.body).toMatchObject([{ id: webhook, url: 'https://shop.test/hook' }]);
    const operators = await asked('GET /v1/webhooks', keys.admin);
    expect(operators.body).toMatchObject([{ id: id(22) }]);
  });

  it('lets keys add, change and remove without limits', async () => {
    const path = `/v1/projects/${shop}/domains`;
    const added = await asked(`POST ${path}`, keys.writer, { json: { hostname: 'x.shop.test' } });
    expect(added.status).toBe(201);
    expect((await asked(`DELETE ${path}/x.shop.test`, keys.writer)).status).toBe(204);
    const another = { json: { name: 'Another', slug: 'another', plan: 'free' } };
    const created = await asked('POST /v1/projects', keys.writer, another);
    expect(created.body).toMatchObject({ accountId: DEFAULT_ACCOUNT_ID });
    const taken = await asked('POST /v1/projects', keys.writer, { json });
    expect(taken.body).toEqual(errorBody(409, 'slug_taken'));
    const { body } = await asked(`GET /v1/accounts/${DEFAULT_ACCOUNT_ID}/usage`, keys.writer);
    expect(body).toMatchObject({ domains: { used: 2n, limit: null }, projects: { used: 2n } });
  });

  it('replays a response from before', async () => {
    const again = await asked('POST /v1/projects', keys.writer, { headers: attempt, json });
    expect(again).toMatchObject({ status: 201, body: stored });
    expect(again.headers['idempotency-replayed']).toBe('true');
  });
});
