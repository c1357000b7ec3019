/**
 * Applies prisma/migrations/<name>/migration.sql in the order of their names, on any storage, and keeps the books as
 * Prisma does: `prisma migrate deploy` and this may take turns on one database.
 */

import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { grantEdgeRole } from './edge-role.ts';

/** One folder of prisma/migrations. Migrations are applied in the order of their names. */
export type Migration = {
  readonly name: string;
  /** The whole file. */
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

/** The folder of package.json; ends with a slash. */
export const projectRoot: URL = findRoot(new URL('./', import.meta.url));

const migrationsFolder = new URL('prisma/migrations/', projectRoot);

/** The key under which Prisma's own migrator locks; taken for the transaction, so no crash leaves it behind. */
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
 * Brings the database up to date and returns the names that it applied. Each file is one transaction, so one that fails
 * leaves nothing behind; the error names it. Several processes may start at once: each file is applied once. Rejects where
 * an applied file was edited, or an earlier migration did not finish. With the last one, the role of edges may read what they
 * serve (src/db/engine/edge-role.ts).
 */
export async function migrate(
  pool: Pick<pg.Pool, 'connect'>,
  folder: URL = migrationsFolder,
): Promise<readonly string[]> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect();
  const applied: string[] = [];
  // A connection on which something failed may still be inside a transaction, so it is closed instead of reused.
  let broken = true;
  try {
    for (;;) {
      const name = await applyNext(client, migrations, folder);
      if (name === null) break;
      applied.push(name);
    }
    broken = false;
    return applied;
  } finally {
    client.release(broken);
  }
}

/**
 * The names of the folder's migrations that are not applied, in their order: an older backup has fewer. Rejects where the
 * database cannot be asked, or was never migrated.
 */
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

/** The migrations of a folder, by name. Rejects where one of its folders has no migration.sql. */
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
  folder: URL,
): Promise<string | null> {
  await client.query('BEGIN');
  try {
    await client.query('SET LOCAL statement_timeout = 0'); // another process may be at it for a while
    await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    await client.query(bookkeeping);
    const next = nextMigration(migrations, await readRecords(client));
    if (next !== null) await apply(client, next);
    else if (folder === migrationsFolder) await grantEdgeRole(client);
    await client.query('COMMIT');
    return next?.name ?? null;
  } catch (error) {
    // The first error is the one to report; a connection that is gone has rolled back already.
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

/** The first one that is not applied. One that only the database knows belongs to a newer release: left alone. */
function nextMigration(
  migrations: readonly Migration[],
  records: readonly Recorded[],
): Migration | null {
  const unfinished = records.find(({ finished_at }) => finished_at === null);
  if (unfinished !== undefined) {
    throw new Error(
      `migration ${unfinished.migration_name}, begun ${unfinished.started_at.toISOString()}, did not finish. ` +
        'Repair the database by hand, then say so with `prisma migrate resolve`.',
    );
  }
  const checksums = new Map(records.map((record) => [record.migration_name, record.checksum]));
  for (const migration of migrations) {
    const checksum = checksums.get(migration.name);
    if (checksum === undefined) return migration;
    if (checksum !== migration.checksum) {
      throw new Error(
        `migration ${migration.name} was edited after it had been applied. Restore the file and put the change into a new one.`,
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
    await client.query(sql); // no parameters: the simple protocol, which takes a whole file
  } catch (error) {
    throw new Error(`migration ${name} failed; nothing of it remains`, { cause: error });
  }
  await client.query(
    `UPDATE "_prisma_migrations" SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = $1`,
    [id],
  );
}

function findRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error('package.json is in no folder above this file');
  return findRoot(parent);
}
