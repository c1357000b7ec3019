/** Keeps Prisma's records, so `prisma migrate deploy` works on the same database. */

import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { projectRoot } from '../../config/root-folder.ts';

export type Migration = {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file, in hex. */
  readonly checksum: string;
};

type Recorded = {
  readonly migration_name: string;
  readonly checksum: string;
  readonly started_at: Date;
  readonly finished_at: Date | null;
};

/** Ends with a slash. */
const migrationsFolder = new URL('prisma/migrations/', projectRoot);

/** The lock key of Prisma's migrator; transaction-level, so a crash releases it. */
const MIGRATION_LOCK = 72_707_369;

/** Prisma's own definition. */
const bookkeeping = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id"                  VARCHAR(36) PRIMARY KEY NOT NULL,
  "checksum"            VARCHAR(64) NOT NULL,
  "finished_at"         TIMESTAMPTZ,
  "migration_name"      VARCHAR(255) NOT NULL,
  "logs"                TEXT,
  "rolled_back_at"      TIMESTAMPTZ,
  "started_at"          TIMESTAMPTZ NOT NULL DEFAULT now(),
  "applied_steps_count" INTEGER NOT NULL DEFAULT 0
)`;

/**
 * Returns the applied names. Each file is one transaction; an error names it. Safe for concurrent
 * starts. Rejects if an applied file was edited, or an earlier migration did not finish.
 */
export async function migrate(
  pool: Pick<pg.Pool, 'connect'>,
  folder: URL = migrationsFolder,
): Promise<readonly string[]> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect();
  const applied: string[] = [];
  // After a failure the connection can still be in a transaction, so it is closed.
  let broken = true;
  try {
    for (;;) {
      const name = await applyNext(client, migrations);
      if (name === null) break;
      applied.push(name);
    }
    broken = false;
    return applied;
  } finally {
    client.release(broken);
  }
}

/** An older backup has fewer. Rejects if the database was never migrated. */
export async function unappliedMigrations(
  pool: Pick<pg.Pool, 'query'>,
  folder: URL = migrationsFolder,
): Promise<readonly string[]> {
  const wanted = await migrationNames(folder);
  const { rows } = await pool.query<{ migration_name: string }>(
    `SELECT migration_name FROM "_prisma_migrations"
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
  );
  const applied = new Set(rows.map((row) => row.migration_name));
  return wanted.filter((name) => !applied.has(name));
}

async function migrationNames(folder: URL): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

export async function readMigrations(folder: URL = migrationsFolder): Promise<Migration[]> {
  const names = await migrationNames(folder);
  return Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(new URL(`${encodeURIComponent(name)}/migration.sql`, folder));
      const checksum = createHash('sha256').update(bytes).digest('hex');
      return { name, sql: bytes.toString('utf8'), checksum };
    }),
  );
}

async function applyNext(
  client: pg.PoolClient,
  migrations: readonly Migration[],
): Promise<string | null> {
  await client.query('BEGIN');
  try {
    await client.query('SET LOCAL statement_timeout = 0'); // another process may take a while
    await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    await client.query(bookkeeping);
    const next = nextMigration(migrations, await readRecords(client));
    if (next !== null) await apply(client, next);
    await client.query('COMMIT');
    return next?.name ?? null;
  } catch (error) {
    // Report the first error; a lost connection has already rolled back.
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function readRecords(client: pg.PoolClient): Promise<Recorded[]> {
  const { rows } = await client.query<Recorded>(
    `SELECT migration_name, checksum, started_at, finished_at FROM "_prisma_migrations"
     WHERE rolled_back_at IS NULL`,
  );
  return rows;
}

/** Ignores migrations that only the database knows, from a newer release. */
function nextMigration(
  migrations: readonly Migration[],
  records: readonly Recorded[],
): Migration | null {
  const unfinished = records.find(({ finished_at }) => finished_at === null);
  if (unfinished !== undefined) {
    throw new Error(
      `migration ${unfinished.migration_name}, started ${unfinished.started_at.toISOString()}, did not finish. ` +
        'Repair the database by hand, then run `prisma migrate resolve`.',
    );
  }
  const checksums = new Map(records.map((record) => [record.migration_name, record.checksum]));
  for (const migration of migrations) {
    const checksum = checksums.get(migration.name);
    if (checksum === undefined) return migration;
    if (checksum !== migration.checksum) {
      throw new Error(
        `migration ${migration.name} was edited after it was applied. Restore the file and put the change into a new migration.`,
      );
    }
  }
  return null;
}

async function apply(client: pg.PoolClient, { name, sql, checksum }: Migration): Promise<void> {
  const id = randomUUID();
  await client.query(
    `INSERT INTO "_prisma_migrations" (id, checksum, migration_name, started_at)
     VALUES ($1, $2, $3, clock_timestamp())`,
    [id, checksum, name],
  );
  try {
    await client.query(sql); // no parameters: the simple protocol accepts a whole file
  } catch (error) {
    throw new Error(`migration ${name} failed; nothing of it remains`, { cause: error });
  }
  await client.query(
    `UPDATE "_prisma_migrations" SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = $1`,
    [id],
  );
}
