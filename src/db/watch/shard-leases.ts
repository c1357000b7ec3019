/**
 * Which worker watches which names: each of 256 shards is leased to one worker at a time, on the database's clock, and all
 * workers that are alive have their fair share. One statement a heartbeat; it waits for no row that another one holds.
 */
import type { Database } from '../engine/client.ts';
import { createRunStatement, type Statement } from '../engine/statements.ts';

/** How many shards there are, as the migration made them. */
export const SHARDS = 256;

/** What a worker has after a heartbeat. */
export type Share = {
  /** Those that nobody else has until the lease ends, in order. */
  readonly shards: readonly number[];
  /** How many workers are alive, this one included. */
  readonly workers: number;
};

/** The shards of one worker. */
export type ShardLeases = {
  /**
   * A heartbeat: extends the leases of its shards, takes free ones up to its fair share, and gives back what it has above
   * that. The first one, and one that comes after the end of its lease, only announces the worker and takes none: workers
   * that start together share from the beginning. The lease ends `leaseMs` after the statement began, so a caller counts
   * from before its call. Rejects where the database is away; then what it had holds until the end of the last lease.
   */
  renew(lease: { readonly leaseMs: number }): Promise<Share>;
  /** Gives all back, and leaves. Not while a `renew` is under way, which would take them again. */
  release(): Promise<void>;
};

/** `worker`: a UUID of its own for each process, new with every start. */
export function createShardLeases(
  database: Pick<Database, 'prisma' | 'pool'>,
  worker: string,
): ShardLeases {
  const run = createRunStatement(database);
  return {
    async renew({ leaseMs }) {
      const [row] = await run<Row>(renewLeases, [worker, leaseMs]);
      if (row === undefined) throw new Error('a SELECT of aggregates has one row');
      if (row.is_new === 'true') await run(forgetWorkers, []);
      return { shards: JSON.parse(row.shards), workers: Number(row.workers) };
    },
    async release() {
      await run(releaseLeases, [worker]);
    },
  };
}

type Row = { readonly shards: string; readonly workers: string; readonly is_new: string };

/**
 * $1: the worker, $2: how long its leases are, in ms. All parts see what was there before. Its own rows are locked first, so
 * that those above the fair share are left for giving back; a row that another one took meanwhile fails the condition once
 * it is locked. That a free row which is not taken is emptied changes nothing.
 */
export const renewLeases: Statement = {
  name: 'watch_renew_leases',
  text: `
    WITH known AS MATERIALIZED (
      SELECT count(*) FILTER (WHERE worker <> $1::uuid) + 1 AS workers, COALESCE(bool_or(worker = $1::uuid), false) AS has_me
      FROM watch_worker WHERE alive_until > now()
    ), share AS MATERIALIZED (
      SELECT (${SHARDS} + workers - 1) / workers AS fair, has_me,
        (SELECT count(*) FROM watch_shard WHERE worker = $1::uuid) AS own
      FROM known
    ), announced AS (
      INSERT INTO watch_worker (worker, alive_until) VALUES ($1::uuid, now() + make_interval(secs => $2::float8 / 1000))
      ON CONFLICT (worker) DO UPDATE SET alive_until = EXCLUDED.alive_until
    ), locked AS MATERIALIZED (
      SELECT shard, worker FROM watch_shard
      WHERE worker = $1::uuid OR leased_until IS NULL OR leased_until <= now()
      ORDER BY (worker = $1::uuid) IS TRUE DESC, shard
      LIMIT (SELECT CASE WHEN has_me THEN GREATEST(fair, own) ELSE own END FROM share)
      FOR UPDATE SKIP LOCKED
    ), ranked AS (
      SELECT shard, row_number() OVER (ORDER BY (worker = $1::uuid) IS TRUE DESC, shard) <= (SELECT fair FROM share) AS is_kept
      FROM locked
    ), saved AS (
      UPDATE watch_shard SET worker = CASE WHEN is_kept THEN $1::uuid END,
        leased_until = CASE WHEN is_kept THEN now() + make_interval(secs => $2::float8 / 1000) END
      FROM ranked WHERE watch_shard.shard = ranked.shard
      RETURNING watch_shard.shard, is_kept
    )
    SELECT (SELECT COALESCE(json_agg(shard ORDER BY shard) FILTER (WHERE is_kept), '[]')::text FROM saved) AS shards,
      (SELECT workers::text FROM known) AS workers, (SELECT (NOT has_me)::text FROM known) AS is_new`,
};

/** Those that left without a word, long after they could come back. */
const forgetWorkers: Statement = {
  name: 'watch_forget_workers',
  text: `
    DELETE FROM watch_worker WHERE worker IN (
      SELECT worker FROM watch_worker WHERE alive_until < now() - interval '1 hour' FOR UPDATE SKIP LOCKED)`,
};

const releaseLeases: Statement = {
  name: 'watch_release_leases',
  text: `
    WITH gone AS (DELETE FROM watch_worker WHERE worker = $1::uuid)
    UPDATE watch_shard SET worker = NULL, leased_until = NULL WHERE worker = $1::uuid`,
};
