/** The names that are watched between checks, as a worker holds them in memory: by shard at first, then by name. */
import {
  parseWatchedServers,
  type WatchedName,
  type WatchedStatus,
} from '../../core/watch/watched-name.ts';
import { bringForward } from '../domains/commit.ts';
import type { Database } from '../engine/client.ts';
import { createRunStatement, type Statement } from '../engine/statements.ts';

/** Reads watched names, and moves their checks. Rejects where the database does not answer. */
export type WatchedNameStore = {
  /**
   * Every watched name of these shards, in batches of up to 2,000. Each batch is a statement of its own: no transaction stays
   * open, and what changes meanwhile is notified. Rejects with the reason of `signal` once that is aborted.
   */
  load(shards: readonly number[], signal: AbortSignal): AsyncIterable<readonly WatchedName[]>;
  /** In any order. One that is missing is watched no longer, or not yet. */
  find(ids: readonly string[]): Promise<readonly WatchedName[]>;
  /**
   * Makes the next check of live and drifted domains due now, for the sweep `recheck-live`. Returns those whose check is; the
   * others are neither, or are being saved at this moment. Pending ones have jobs of their own.
   */
  bringForward(ids: readonly string[], now: Date): Promise<readonly string[]>;
};

/** Some 500 bytes each on the way here; a shard of 1,000,000 names has 3,900. */
const BATCH = 2_000;
/** Before every id. */
const FIRST = '00000000-0000-0000-0000-000000000000';

export function createWatchedNameStore(
  database: Pick<Database, 'prisma' | 'pool'>,
): WatchedNameStore {
  const run = createRunStatement(database);

  async function* loadShard(shard: number, signal: AbortSignal) {
    for (let after = FIRST; ; ) {
      signal.throwIfAborted();
      const rows = await run<Row>(loadNames, [shard, after, BATCH]);
      if (rows.length > 0) yield rows.map(toWatchedName);
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH) return;
      after = last.id;
    }
  }

  return {
    async *load(shards, signal) {
      for (const shard of shards) yield* loadShard(shard, signal);
    },
    async find(ids) {
      return (await run<Row>(findNames, [ids])).map(toWatchedName);
    },
    bringForward: (ids, now) => bringForward(database.prisma, ids, now),
  };
}

type Row = {
  readonly id: string;
  readonly epoch: string;
  readonly hostname: string;
  readonly status: string;
  readonly since: string;
  readonly watched_servers: string;
};

function toWatchedName({ id, epoch, hostname, status, since, watched_servers }: Row): WatchedName {
  return {
    id,
    epoch: Number(epoch),
    hostname,
    status: status as WatchedStatus, // as the statements have it
    since: Number(since),
    servers: parseWatchedServers(watched_servers),
  };
}

/** A live or drifted domain of an early version may lack its own time. */
const columns = `domain.id::text, epoch::text, hostname, status::text, watched_servers,
      round(1000 * extract(epoch FROM CASE status WHEN 'pending' THEN pending_since
        WHEN 'live' THEN COALESCE(verified_at, pending_since)
        ELSE COALESCE(drifted_at, pending_since) END))::bigint::text AS since`;
const isWatched = `removed_at IS NULL AND status IN ('pending', 'live', 'drifted') AND watched_servers <> ''`;

/** $1: the shard, as domain_watched_idx has it; $2: the id to go on after; $3: how many at most. */
export const loadNames: Statement = {
  name: 'watch_load_names',
  text: `
    SELECT ${columns}
    FROM domain JOIN observation ON observation.domain_id = domain.id
    WHERE hashtext(hostname) & 255 = $1::int AND domain.id > $2::uuid AND ${isWatched}
    ORDER BY domain.id LIMIT $3::int`,
};

/** $1: ids. */
const findNames: Statement = {
  name: 'watch_find_names',
  text: `
    SELECT ${columns}
    FROM domain JOIN observation ON observation.domain_id = domain.id
    WHERE domain.id = ANY($1::uuid[]) AND ${isWatched}`,
};
