/** By how much this machine's clock differs from the database's, which all processes share. */
import type pg from 'pg';

/**
 * Milliseconds: positive where ours is ahead, 0 where they agree as far as the time that the question took can tell.
 * Rejects where the database does not answer.
 */
export async function clockSkewMs(
  pool: Pick<pg.Pool, 'query'>,
  now: () => number = Date.now,
): Promise<number> {
  const before = now();
  const { rows } = await pool.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  const after = now();
  const theirs = rows[0]?.ms ?? Number.NaN;
  if (theirs < before) return before - theirs;
  return theirs > after ? after - theirs : 0;
}
