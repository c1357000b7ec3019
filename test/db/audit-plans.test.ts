/** What each kind of question to the audit log reads: one page, whatever else is in it. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Access, installation } from '../../src/core/accounts/access.ts';
import { type AuditQuery, createAuditStore } from '../../src/db/audit.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { later } from '../support/builders.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';

const available = storages.some((storage) => storage.name === 'postgres' && storage.available);

const PAGE = 21;
const newest: AuditQuery = {
  keyId: null,
  projectId: null,
  operationId: null,
  from: null,
  to: null,
  after: null,
  limit: PAGE,
  hidesOperators: false,
};
const accountId = randomUUID();
const projectId = randomUUID();
const account: Access = { kind: 'account', accountId, projectIds: null };
const place = { at: new Date('2026-01-10T00:00:00Z'), id: randomUUID() };

describe.skipIf(!available)('of 200,000 entries', () => {
  let fresh: FreshStorage;
  let database: Database;
  beforeAll(async () => {
    fresh = await freshStorage('postgres');
    if (fresh.storage.kind !== 'postgres') throw new Error('asked for PostgreSQL');
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    // No statement timeout: the rows take as long as they take.
    const client = new pg.Client(fresh.storage.databaseUrl);
    await client.connect();
    // One account has a hundredth of all; a project, an operation and a key are rare.
    await client.query(
      `INSERT INTO audit_entry (id, at, key_id, by_installation, account_id, project_id, operation_id,
        object_kind, object_id, outcome)
      SELECT gen_random_uuid(), timestamptz '2026-01-01' + n * interval '10 s',
        CASE WHEN n % 1000 = 7 THEN 'rare' ELSE 'k' || n % 50 END, false,
        CASE WHEN n % 100 = 5 THEN $1::uuid ELSE md5((n % 20)::text)::uuid END,
        CASE WHEN n % 10000 = 5 THEN $2::uuid END,
        CASE WHEN n % 5000 = 5 THEN 'closeAccount' ELSE 'addDomain' END, 'domain', 'a.example', 'done'
      FROM generate_series(1, 200000) AS n`,
      [accountId, projectId],
    );
    await client.query('VACUUM ANALYZE audit_entry');
    await client.end();
  }, 120_000);
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  it.each<[string, Access, Partial<AuditQuery>]>([
    ['the newest', installation, {}],
    ['a page in the middle', installation, { after: place }],
    ['an account’s', account, {}],
    ['an account’s, in the middle', account, { after: place }],
    ['an account’s rare operation', account, { operationId: 'closeAccount' }],
    ['a rare operation', installation, { operationId: 'closeAccount' }],
    ['a rare key’s', installation, { keyId: 'rare' }],
    ['a project’s', installation, { projectId }],
    ['a project’s, for its account', account, { projectId }],
    ['a day’s', installation, { from: place.at, to: later(place.at, 86_400_000) }],
  ])('%s are found by an index', async (_, access, query) => {
    const log = createAuditStore(database.prisma);
    const { text, values } = await statementOf(database, () =>
      log.list(access, { ...newest, ...query }),
    );
    const plan = await database.pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values]);
    const nodes = nodesOf(plan.rows[0]['QUERY PLAN'][0].Plan);
    const reads = nodes.filter((node) => node['Relation Name'] === 'audit_entry');
    expect(reads.map((node) => node['Node Type'])).toEqual([
      expect.stringMatching(/^(?:Index|Bitmap Heap) /),
    ]);
    for (const read of reads) {
      // One more than the page may be passed over: the entry that the page comes after.
      const passedOver = read['Rows Removed by Filter'] ?? 0;
      expect(read['Actual Rows'] + passedOver).toBeLessThanOrEqual(PAGE + 1);
    }
  });
});

type PlanNode = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
};

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

type Statement = { readonly text: string; readonly values: readonly unknown[] };

/** What a store asked of its pool. */
async function statementOf(
  { pool }: Database,
  ask: () => Promise<readonly unknown[]>,
): Promise<Statement> {
  const asked: Statement[] = [];
  const original = pool.query;
  pool.query = ((statement: Statement, ...rest: unknown[]) => {
    asked.push(statement);
    return Reflect.apply(original, pool, [statement, ...rest]);
  }) as typeof pool.query;
  try {
    expect((await ask()).length).toBeGreaterThan(0);
  } finally {
    pool.query = original;
  }
  const [statement, ...more] = asked;
  if (statement === undefined || more.length > 0) throw new Error(`asked ${asked.length} times`);
  return statement;
}
