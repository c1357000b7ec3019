/** The names that are watched: which, since when, how a worker reads them, and how it brings their checks forward. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { watchedServersOf } from '../../../src/core/watch/watched-name.ts';
import type { Prisma } from '../../../src/db/generated/client.ts';
import { SHARDS } from '../../../src/db/watch/shard-leases.ts';
import {
  createWatchedNameStore,
  loadNames,
  type WatchedNameStore,
} from '../../../src/db/watch/watched-names.ts';
import { anObservation, later, missing, noon, right } from '../../support/builders.ts';
import { databasesOfRun, storages } from '../../support/storage.ts';
import { lease, openDueDomains, type StoredDueDomains } from '../due-domains.ts';

const HOUR = 3_600_000;
const servers = watchedServersOf(anObservation());
const all = Array.from({ length: SHARDS }, (_, shard) => shard);

describe.each(databasesOfRun())('on $name, the watched names', ({ name, available }) => {
  let db: StoredDueDomains;
  let names: WatchedNameStore;
  beforeAll(async () => {
    if (!available) return;
    db = await openDueDomains(name);
    names = createWatchedNameStore(db.database);
  });
  beforeEach(() => available && db.removeAll());
  afterAll(() => db?.close());

  /** Checked once, so that there is something to watch. */
  async function checked(data: Prisma.DomainUpdateInput) {
    const { id } = await db.pending(`${randomUUID()}.acme.test`);
    await db.check(await db.load(id), missing);
    await db.prisma.domain.update({ where: { id }, data });
    return db.prisma.domain.findUniqueOrThrow({ where: { id } });
  }

  async function loaded(shards: readonly number[], signal = new AbortController().signal) {
    const batches: (readonly { readonly id: string }[])[] = [];
    for await (const batch of names.load(shards, signal)) batches.push(batch);
    return batches.flat();
  }

  it.skipIf(!available)(
    'are those that are pending, live or drifted, each since its time',
    async () => {
      const pending = await checked({});
      const live = await checked({ status: 'live', verifiedAt: later(noon, HOUR), epoch: 3 });
      const drifted = await checked({ status: 'drifted', driftedAt: later(noon, 2 * HOUR) });
      const early = await checked({ status: 'drifted', driftedAt: null, verifiedAt: null });
      await checked({ status: 'verified', verifiedAt: noon });
      await checked({ status: 'failed', failedAt: noon });
      await checked({ removedAt: noon });
      await db.pending('never-checked.acme.test');
      const blind = await checked({});
      await db.prisma.storedObservation.update({
        where: { domainId: blind.id },
        data: { watchedServers: '' },
      });
      const expected = [
        [pending, noon],
        [live, later(noon, HOUR)],
        [drifted, later(noon, 2 * HOUR)],
        [early, noon],
      ] as const;
      const watched = expected.map(([{ id, epoch, hostname, status }, since]) => ({
        ...{ id, epoch, hostname, status, servers },
        since: since.getTime(),
      }));
      const everything = await loaded(all);
      expect(everything).toHaveLength(watched.length);
      expect(everything).toEqual(expect.arrayContaining(watched));
      const rows = await db.prisma.domain.findMany({ select: { id: true } });
      const found = await names.find(rows.map(({ id }) => id));
      expect(found).toHaveLength(watched.length);
      expect(found).toEqual(expect.arrayContaining(watched));
    },
  );

  it.skipIf(!available)('are in one shard each', async () => {
    const ids = [await checked({}), await checked({}), await checked({})].map(({ id }) => id);
    const found = new Map<string, number>();
    for (const shard of all) {
      for (const { id } of await loaded([shard])) {
        expect(found.has(id)).toBe(false);
        found.set(id, shard);
      }
    }
    expect([...found.keys()].toSorted()).toEqual(ids.toSorted());
  });

  it.skipIf(!available)('of a large shard come in batches, until the reader stops', async () => {
    await insertNames(db, 'WHERE hashtext(hostname) & 255 = 7 LIMIT 4500', 2_000_000);
    await insertNames(db, 'WHERE hashtext(hostname) & 255 = 8 LIMIT 10', 100_000);
    const stop = new AbortController();
    const sizes: number[] = [];
    const seen = new Set<string>();
    for await (const batch of names.load([7, 8, 9], stop.signal)) {
      sizes.push(batch.length);
      for (const { id } of batch) seen.add(id);
    }
    expect(sizes).toEqual([2_000, 2_000, 500, 10]);
    expect(seen.size).toBe(4_510);

    const reader = names.load([7], stop.signal)[Symbol.asyncIterator]();
    expect((await reader.next()).value).toHaveLength(2_000);
    stop.abort(new Error('stopped'));
    await expect(reader.next()).rejects.toThrow('stopped');
  });

  it.skipIf(!available)('that are live or drifted have their check brought forward', async () => {
    const now = later(noon, HOUR);
    const soon = later(now, 60_000);
    const live = await checked({ status: 'live', recheckAt: later(now, HOUR) });
    const drifted = await checked({ status: 'drifted', recheckAt: soon });
    const due = await checked({ status: 'live', recheckAt: noon });
    const forgotten = await checked({ status: 'live', recheckAt: null });
    const others = [
      await checked({ status: 'pending', recheckAt: soon }),
      await checked({ status: 'verified', recheckAt: soon }),
      await checked({ status: 'live', recheckAt: soon, removedAt: noon }),
    ];
    const wanted = [live, drifted, due, forgotten].map(({ id }) => id);
    const moved = await names.bringForward([...wanted, ...others.map(({ id }) => id)], now);
    expect(moved.toSorted()).toEqual(wanted.toSorted());
    const rows = await db.prisma.domain.findMany({ where: { recheckAt: { not: null } } });
    const times = new Map(rows.map(({ id, recheckAt }) => [id, recheckAt]));
    expect(wanted.map((id) => times.get(id))).toEqual([now, now, noon, now]);
    expect(others.map(({ id }) => times.get(id))).toEqual([soon, soon, soon]);
    expect((await db.takeFrom(db.sweeps.rechecks, now)).toSorted()).toEqual(wanted.toSorted());
  });

  it.skipIf(!available)(
    'do not lose a check that is under way when it is brought forward',
    async () => {
      const { id } = await checked({ status: 'live', verifiedAt: noon, recheckAt: noon });
      const domain = await db.load(id);
      expect(await db.takeFrom(db.sweeps.rechecks, noon)).toEqual([id]);
      expect((await db.load(id)).recheckAt).toEqual(lease);
      expect(await names.bringForward([id], later(noon, 1_000))).toEqual([id]);
      expect(await db.check(domain, right, later(noon, 2_000))).toMatchObject({ kind: 'saved' });
    },
  );
});

const [postgres] = storages.filter((storage) => storage.name === 'postgres' && storage.available);

describe.skipIf(postgres === undefined)('on PostgreSQL, watched names', () => {
  let db: StoredDueDomains;
  beforeAll(async () => {
    db = await openDueDomains('postgres');
  });
  afterAll(() => db?.close());

  it('are brought forward without waiting for those that are being saved', async () => {
    const names = createWatchedNameStore(db.database);
    const saved = await db.domainWith({ status: 'live' });
    const other = await db.domainWith({ status: 'live' });
    const client = await db.database.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT FROM domain WHERE id = $1 FOR NO KEY UPDATE', [saved]);
      expect(await names.bringForward([saved, other], noon)).toEqual([other]);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('of a shard are read without reading those of others', async () => {
    await insertNames(db, '', 20_000);
    const { rows } = await db.database.pool.query(
      `EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT JSON) ${loadNames.text}`,
      [7, '00000000-0000-0000-0000-000000000000', 2_000],
    );
    const plan = rows[0]['QUERY PLAN'][0].Plan;
    const text = JSON.stringify(plan);
    expect(text).toContain('"domain_watched_idx"');
    expect(text).not.toContain('"Seq Scan"');
    const found: number = plan['Actual Rows'];
    expect(found).toBeGreaterThan(30);
    // A page of the index, of the domain, of its observation's index (three levels at most) and of the observation.
    expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(6 * found + 20);
  });
});

/**
 * Pending names with one server each and an observation of the usual size (1 KB): `n1.many.test` to `n<most>.many.test`, as
 * far as `which` lets them.
 */
async function insertNames({ database }: StoredDueDomains, which: string, most: number) {
  const projectId = randomUUID();
  await database.prisma.project.create({ data: { id: projectId, name: 'Many', slug: projectId } });
  // However long a busy machine takes.
  const pool = database.openPool({ max: 1, statementTimeoutMs: 0 });
  try {
    await pool.query(
      `WITH added AS (
         INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since)
         SELECT gen_random_uuid(), $1, hostname, 't', 'pending', now(), now()
         FROM (SELECT 'n' || n || '.many.test' AS hostname FROM generate_series(1, $2::int) AS n) AS many ${which}
         RETURNING id)
       INSERT INTO observation (domain_id, value, watched_servers)
       SELECT id, (SELECT to_jsonb(string_agg(md5(id::text || n), '')) FROM generate_series(1, 32) AS n),
         'ns1.many.test 192.0.2.53 1'
       FROM added`,
      [projectId, most],
    );
    await pool.query('VACUUM ANALYZE domain, observation');
  } finally {
    await pool.end();
  }
}
