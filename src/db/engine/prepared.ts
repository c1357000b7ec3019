/** What a process needs of a database that it may not change: an edge, which waits for those that may. */
import type pg from 'pg';
import { unappliedMigrations } from './migrate.ts';
import { isNotThere } from './unavailable.ts';

/** The database is not, or not yet, what this process needs, and another process brings it there. */
export class NotPrepared extends Error {
  override readonly name = 'NotPrepared';
}

/** Rejects with NotPrepared where a migration is missing: for an edge, which changes nothing and whose role may not. */
export async function requireMigrated(pool: Pick<pg.Pool, 'query'>): Promise<void> {
  const unapplied = await unappliedMigrations(pool).catch((cause: unknown) => {
    throw isNotThere(cause)
      ? new NotPrepared('an edge may not read the database', { cause })
      : cause;
  });
  if (unapplied.length === 0) return;
  throw new NotPrepared(`the database lacks ${unapplied.length} migrations of this version`);
}
