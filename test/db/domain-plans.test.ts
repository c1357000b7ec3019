/** How PostgreSQL finds a page of a project's domains among many: by an index, whatever is asked for. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GrantedProjectId } from '../../src/core/accounts/access.ts';
import { type DomainListQuery, domainPage } from '../../src/db/domains/domain-page.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';

const available = storages.some(({ name, available: is }) => name === 'postgres' && is);

/** A node of EXPLAIN (FORMAT JSON); the fields that matter here. */
type PlanNode = {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
};

const LIMIT = 20;
const large = randomUUID() as GrantedProjectId;

describe.skipIf(!available)('a project of 100,000 domains among others', () => {
  let fresh: FreshStorage;
  let client: pg.Client;

  beforeAll(async () => {
    fresh = await freshStorage('postgres');
    if (fresh.storage.kind !== 'postgres') throw new Error('asked for PostgreSQL');
    client = new pg.Client(fresh.storage.databaseUrl);
    await client.connect();
    await client.query('ALTER TABLE domain SET (autovacuum_enabled = off)');
    for (const [id, slug] of [
      [large, 'large'],
      [randomUUID(), 'other'],
    ]) {
      await client.query('INSERT INTO project (id, name, slug) VALUES ($1, $2, $2)', [id, slug]);
      await client.query(
        `INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since)
         SELECT gen_random_uuid(), $1,
           CASE WHEN n % 20000 = 7 THEN 'rare-name-' ELSE 'shop-' END || n || '.example.com', 't',
           (CASE WHEN n % 10000 = 5000 THEN 'failed' ELSE 'pending' END)::domain_status,
           '2026-11-20'::timestamptz + n * interval '1 s', now()
         FROM generate_series(1, 100000) AS n`,
        [id],
      );
    }
    await client.query('VACUUM ANALYZE domain');
  }, 180_000);
  afterAll(async () => {
    await client?.end();
    await fresh?.close();
  });

  async function explain(query: DomainListQuery) {
    const { text, values } = domainPage(large, { page: { after: null, limit: LIMIT }, ...query });
    const { rows: ids } = await client.query(text, values);
    const { rows } = await client.query(
      `EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT JSON) ${text}`,
      values,
    );
    const plan: PlanNode = rows[0]['QUERY PLAN'][0].Plan;
    const nodes = nodesOf(plan);
    return {
      found: ids.length,
      indexes: [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))],
      reads: new Set(nodes.map((node) => node['Node Type'])),
      buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    };
  }

  /** The place of the row that so many come before. */
  async function placeAfter(rows: number) {
    const found = await client.query<{ at: Date; id: string }>(
      'SELECT added_at AS at, id FROM domain WHERE project_id = $1 ORDER BY added_at, id OFFSET $2 LIMIT 1',
      [large, rows - 1],
    );
    const [place] = found.rows;
    if (place === undefined) throw new Error('there is no such row');
    return place;
  }

  it('has a last page that costs what the first one costs', async () => {
    const first = await explain({});
    const last = await explain({
      page: { after: await placeAfter(100_000 - LIMIT), limit: LIMIT },
    });
    expect(first).toMatchObject({ found: LIMIT, indexes: ['domain_listed_idx'] });
    expect(last).toMatchObject({ found: LIMIT, indexes: ['domain_listed_idx'] });
    expect(Math.max(first.buffers, last.buffers)).toBeLessThan(LIMIT + 12);
  });

  it('has its few failed domains listed without reading the others', async () => {
    const failed = await explain({ status: 'failed' });
    expect(failed).toMatchObject({ found: 10, indexes: ['domain_listed_status_idx'] });
    expect(failed.buffers).toBeLessThan(30);
  });

  it('has a part of a name found by its trigrams', async () => {
    const rare = await explain({ part: 'are-nam' });
    expect(rare).toMatchObject({ found: 5, indexes: ['domain_part_idx'] });
    expect(rare.buffers).toBeLessThan(100);
    const both = await explain({ part: 'rare-name', status: 'failed' });
    expect(both.found).toBe(0);
    expect(both.buffers).toBeLessThan(100);
  });

  it('has a part that every name has listed page by page', async () => {
    const common = await explain({ part: 'example.com' });
    expect(common).toMatchObject({ found: LIMIT, indexes: ['domain_listed_idx'] });
    expect(common.buffers).toBeLessThan(LIMIT + 12);
  });

  it('is read by an index of its own also for one or two letters', async () => {
    const short = await explain({ part: 'zz' });
    expect(short.found).toBe(0);
    expect(short.reads).not.toContain('Seq Scan');
  });
});

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
