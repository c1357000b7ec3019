import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { edgeColumns } from '../../src/db/engine/edge-role.ts';
import { migrate } from '../../src/db/engine/migrate.ts';
import { NotPrepared, requireMigrated } from '../../src/db/engine/prepared.ts';
import { closeAfterEach } from '../support/closings.ts';
import { databasesOfRun, freshStorage } from '../support/storage.ts';

const closings = closeAfterEach();

describe.each(databasesOfRun())('a database on $name', ({ name, available }) => {
  async function emptyDatabase(): Promise<Database> {
    const fresh = await freshStorage(name, { empty: true });
    closings.push(fresh.close);
    const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    closings.push(() => database.close());
    return database;
  }

  it.skipIf(!available)('is what an edge waits for until others have made its tables', async () => {
    const { pool } = await emptyDatabase();
    await expect(requireMigrated(pool)).rejects.toThrow(NotPrepared);
    await migrate(pool);
    await requireMigrated(pool);
    await pool.query(`DELETE FROM "_prisma_migrations" WHERE migration_name LIKE '2026120%'`);
    await expect(requireMigrated(pool)).rejects.toThrow(/lacks \d+ migrations of this version/);
  });

  it.skipIf(!available)('has each column that an edge may read', async () => {
    const { pool } = await emptyDatabase();
    await migrate(pool);
    for (const [table, columns] of Object.entries(edgeColumns)) {
      await pool.query(`SELECT ${columns.join(', ')} FROM ${table} LIMIT 0`);
    }
  });
});
