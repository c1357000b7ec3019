import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Access, accessTo, wholeInstallation } from '../../src/core/access.ts';
import { type DomainFilters, placesOf } from '../../src/db/domains/domain-list.ts';
import type { ListPlace } from '../../src/db/page.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';

const available = storages.some((storage) => storage.name === 'postgres' && storage.available);

const DOMAINS = 100_000;
const LIMIT = 100;
const projectId = '00000000-0000-4000-8000-000000000001';
const otherProjectId = '00000000-0000-4000-8000-000000000002';

/**
 * All in one project, except for one in ten. One in 1,000 is failed, one in ten pending. Each has a customer of
 * its own, and half have the tier gold. Some were removed.
 */
const fill = `
  INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, removed_at, metadata)
  SELECT gen_random_uuid(),
    (CASE WHEN n % 10 = 3 THEN '${otherProjectId}' ELSE '${projectId}' END)::uuid,
    'shop' || n || '.customer' || (n * 7919 % ${DOMAINS}) || '.com', 'x.edge.test',
    (CASE WHEN n % 1000 = 5 THEN 'failed' WHEN n % 10 = 1 THEN 'pending' ELSE 'live' END)::domain_status,
    '2026-11-20T12:00:00Z'::timestamptz + (n / 3) * interval '1 second',
    '2026-11-20T12:00:00Z',
    CASE WHEN n % 50 = 7 THEN '2026-11-21T12:00:00Z'::timestamptz END,
    jsonb_build_object('customer', 'c' || n, 'tier', CASE WHEN n % 2 = 0 THEN 'gold' ELSE 'tin' END)
  FROM generate_series(1, ${DOMAINS}) AS n`;

/** Of another account, among all the others. */
const smallAccountId = '00000000-0000-4000-8000-00000000000a';
const smallProjectId = '00000000-0000-4000-8000-000000000003';
const SMALL = 5;
const fillSmall = `
  INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, metadata)
  SELECT gen_random_uuid(), '${smallProjectId}', 'small' || n || '.customer.com', 'x.edge.test', 'live',
    '2026-11-20T12:00:00Z'::timestamptz + n * interval '1 hour', '2026-11-20T12:00:00Z', '{"tier": "gold"}'
  FROM generate_series(1, ${SMALL}) AS n`;

const every: DomainFilters = {
  projectId: undefined,
  hostname: undefined,
  status: undefined,
  search: undefined,
  metadata: undefined,
};
const lists: readonly (readonly [string, Partial<DomainFilters>])[] = [
  ['of a project', { projectId }],
  ['of all projects', {}],
  ['that are live', { projectId, status: 'live' }],
  ['that are failed, which are few', { projectId, status: 'failed' }],
  ['that are failed, of all projects', { status: 'failed' }],
  ['that are live, of all projects', { status: 'live' }],
  ['with a part that most have', { projectId, search: 'customer' }],
  ['with a part that one has', { projectId, search: 'shop77777.' }],
  ['with a part that none has', { projectId, search: 'nothing-like-it' }],
  ['with metadata that half have', { projectId, metadata: { tier: 'gold' } }],
  ['with metadata that one has', { projectId, metadata: { customer: 'c77777' } }],
  ['with a host name', { hostname: 'shop77777.customer2063.com' }],
  ['with metadata that one has, of all projects', { metadata: { customer: 'c77777' } }],
  ['with a part that one has, of all projects', { search: 'shop77777.' }],
];

/** A page of the table's rows is at most a block per row; filters read some in vain. */
const BUFFERS_MAX = 1_000;

type Explained = { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number };

describe.skipIf(!available)(`${DOMAINS} domains`, () => {
  let fresh: FreshStorage;
  let client: pg.Client;

  beforeAll(async () => {
    fresh = await freshStorage('postgres');
    if (fresh.storage.kind !== 'postgres') throw new Error('needs PostgreSQL');
    client = new pg.Client(fresh.storage.databaseUrl);
    await client.connect();
    await client.query('ALTER TABLE domain SET (autovacuum_enabled = off)');
    await client.query(
      `INSERT INTO project (id, name, slug) VALUES ('${projectId}', 'P', 'p'), ('${otherProjectId}', 'Q', 'q')`,
    );
    await client.query(`INSERT INTO account (id, name) VALUES ('${smallAccountId}', 'Small')`);
    await client.query(
      `INSERT INTO project (id, account_id, name, slug) VALUES ('${smallProjectId}', '${smallAccountId}', 'R', 'r')`,
    );
    await client.query(fill);
    await client.query(fillSmall);
    await client.query('ANALYZE domain');
  });
  afterAll(async () => {
    await client?.end();
    await fresh?.close();
  });

  const run = async <Row extends pg.QueryResultRow>(
    filters: Partial<DomainFilters>,
    after: ListPlace | null,
    explain = '',
    access: Access = wholeInstallation,
  ) => {
    const { text, values } = placesOf(access, { ...every, ...filters }, { after, limit: LIMIT });
    return (await client.query<Row>(`${explain}${text}`, [...values])).rows;
  };

  async function buffersOf(
    filters: Partial<DomainFilters>,
    after: ListPlace | null,
    access?: Access,
  ): Promise<number> {
    const explain = 'EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT JSON) ';
    const [row] = await run<{ 'QUERY PLAN': [{ Plan: Explained }] }>(
      filters,
      after,
      explain,
      access,
    );
    const plan = row?.['QUERY PLAN'][0].Plan;
    if (plan === undefined) throw new Error('no plan');
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  }

  /** The end of every 50th page. */
  async function placesIn(filters: Partial<DomainFilters>): Promise<readonly ListPlace[]> {
    const places: ListPlace[] = [];
    let after: ListPlace | null = null;
    for (let page = 1; ; page += 1) {
      const rows: ListPlace[] = await run<ListPlace>(filters, after);
      after = rows[LIMIT - 1] ?? null;
      if (rows.length <= LIMIT || after === null) return places;
      if (page % 50 === 0) places.push(after);
    }
  }

  it.each(lists)('a later page %s reads no more than the first', async (_what, filters) => {
    const first = await buffersOf(filters, null);
    expect(first).toBeLessThanOrEqual(BUFFERS_MAX);
    for (const place of await placesIn(filters)) {
      const later = await buffersOf(filters, place);
      expect(later).toBeLessThanOrEqual(Math.max(2 * first, 20));
    }
  });

  const ofOthers: readonly (readonly [string, Partial<DomainFilters>])[] = [
    ['without a filter', {}],
    ['that are live', { status: 'live' }],
    ['with a part that all others have', { search: 'customer' }],
    ['with a part that no name has', { search: 'nothing-like-it' }],
    ['with metadata that half of the others have', { metadata: { tier: 'gold' } }],
    ['of one project', { projectId: smallProjectId, search: 'customer' }],
  ];
  it.each(ofOthers)(
    'a list of another account %s reads its own rows only',
    async (_what, filters) => {
      const rows = await run<ListPlace>(filters, null, '', accessTo(smallAccountId));
      expect(rows.length).toBeLessThanOrEqual(SMALL);
      const buffers = await buffersOf(filters, null, accessTo(smallAccountId));
      expect(buffers).toBeLessThanOrEqual(4 * SMALL);
    },
  );
});
