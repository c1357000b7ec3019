import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { petStatements } from '../../src/db/pets.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';

const available = storages.some((storage) => storage.name === 'postgres' && storage.available);

const MILLION = 1_000_000;
const LIMIT = 20;
/** One in ten is pending, one in ten thousand is sold, scattered over the whole table. */
const STATUS = `CASE WHEN n % 10000 = 5000 THEN 'sold' WHEN n % 10 = 1 THEN 'pending' ELSE 'available' END`;

/** The relevant fields of a node of EXPLAIN (FORMAT JSON). */
type PlanNode = {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
};

describe.skipIf(!available)('a million pets', () => {
  let fresh: FreshStorage;
  let client: pg.Client;

  beforeAll(async () => {
    fresh = await freshStorage('postgres');
    if (fresh.storage.kind !== 'postgres') throw new Error('needs PostgreSQL');
    client = new pg.Client(fresh.storage.databaseUrl);
    await client.connect();
    await client.query('ALTER TABLE pet SET (autovacuum_enabled = off)');
    await client.query(`
      INSERT INTO pet (name, category_id, status)
      SELECT 'pet ' || n, n % 50, (${STATUS})::pet_status FROM generate_series(1, ${MILLION}) AS n`);
  });
  afterAll(async () => {
    await client?.end();
    await fresh?.close();
  });

  async function lastAfter(status: string | null): Promise<number> {
    const { rows } = await client.query<{ id: string }>(
      'SELECT id FROM pet WHERE status::text = $1 OR $1 IS NULL ORDER BY id DESC OFFSET $2 LIMIT 1',
      [status, LIMIT],
    );
    return Number(rows[0]?.id);
  }

  const pageTypes = 'bigint[], int[], pet_status[]';
  const lists = [
    ['of any status', 'listAll', null, 'pet_pkey'],
    ['that are available', 'listByStatus', 'available', 'pet_status_id_idx'],
    ['that are pending', 'listByStatus', 'pending', 'pet_status_id_idx'],
    ['that are sold, which are few', 'listByStatus', 'sold', 'pet_status_id_idx'],
  ] as const;

  for (const statistics of ['before the first ANALYZE', 'with statistics']) {
    describe(statistics, () => {
      beforeAll(async () => {
        if (statistics === 'with statistics') await client.query('VACUUM ANALYZE pet');
      });

      for (const planning of ['force_custom_plan', 'force_generic_plan']) {
        describe(`With ${planning}`, () => {
          it.each(lists)('the last page %s is not slower', async (_, name, status, index) => {
            const costOf = async (after: number) => {
              const asked = [[after + 1], [LIMIT], [status]];
              const plan = await explain(
                client,
                planning,
                petStatements[name].text,
                pageTypes,
                asked,
              );
              return { ...readsOf(plan), buffers: buffersOf(plan) };
            };
            const first = await costOf(0);
            const last = await costOf(await lastAfter(status));
            // One extra row shows whether there is a next page; the last page has none.
            expect(first).toMatchObject({ indexes: [index], rows: LIMIT + 1 });
            expect(last).toMatchObject({ indexes: [index], rows: LIMIT });
            // At most one block per row, plus the path down the tree.
            expect(first.buffers).toBeLessThanOrEqual(LIMIT + 1 + 8);
            expect(last.buffers).toBeLessThanOrEqual(LIMIT + 1 + 8);
            expect(Math.abs(last.buffers - first.buffers)).toBeLessThanOrEqual(4);
          });

          it('thirty pages at once cost thirty times one', async () => {
            const asked = [
              Array.from({ length: 30 }, (_, n) => n * 30_000),
              Array(30).fill(LIMIT),
              Array(30).fill('pending'),
            ];
            const plan = await explain(
              client,
              planning,
              petStatements.listByStatus.text,
              pageTypes,
              asked,
            );
            expect(readsOf(plan)).toEqual({
              indexes: ['pet_status_id_idx'],
              rows: 30 * (LIMIT + 1),
            });
            expect(buffersOf(plan)).toBeLessThanOrEqual(30 * (LIMIT + 1 + 8));
          });

          it('one pet and thirty are both found by primary key', async () => {
            for (const count of [1, 30]) {
              const ids = Array.from({ length: count }, (_, n) => MILLION - n * 30_000);
              const plan = await explain(client, planning, petStatements.get.text, 'bigint[]', [
                ids,
              ]);
              expect(readsOf(plan)).toEqual({ indexes: ['pet_pkey'], rows: count });
              expect(buffersOf(plan)).toBeLessThanOrEqual(count * 5);
            }
          });
        });
      }
    });
  }
});

/** The plan of a prepared statement; connections end up with the generic one. */
async function explain(
  client: pg.Client,
  planning: string,
  text: string,
  types: string,
  values: readonly (readonly (string | number | null)[])[],
): Promise<PlanNode> {
  const literals = values.map((each) => `'{${each.map((value) => value ?? 'NULL').join()}}'`);
  await client.query(`SET plan_cache_mode = ${planning}`);
  await client.query(`PREPARE asked (${types}) AS ${text}`);
  const asked = `EXECUTE asked (${literals.join()})`;
  await client.query(asked); // the first execution also reads the catalog
  const { rows } = await client.query(
    `EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT JSON) ${asked}`,
  );
  await client.query('DEALLOCATE asked');
  return rows[0]['QUERY PLAN'][0].Plan;
}

/** The buffers of a node include its children. */
function buffersOf(plan: PlanNode): number {
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

/** What was read of the table: the indexes and the number of rows, including filtered ones. */
function readsOf(plan: PlanNode): { readonly indexes: readonly string[]; readonly rows: number } {
  const scans = nodesOf(plan).filter(
    (node) => node['Relation Name'] === 'pet' || node['Index Name'],
  );
  const rows = scans
    .filter((node) => node['Relation Name'] === 'pet')
    .map(
      (node) =>
        (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    );
  return {
    indexes: [...new Set(scans.map((node) => node['Index Name'] ?? node['Node Type']))].filter(
      (name) => name !== 'Bitmap Heap Scan',
    ),
    rows: rows.reduce((sum, each) => sum + each, 0),
  };
}

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
