import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { migrate, readMigrations } from '../../src/db/engine/migrate.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';

const log = pino({ level: 'silent' });

const servers = databases;

for (const { name, available } of servers) {
  describe.skipIf(!available)(`migrating ${name} storage`, () => {
    let fresh: FreshStorage;
    let database: Database;
    let folder: string;

    beforeAll(async () => {
      fresh = await freshStorage(name, { empty: true });
      database = await openDatabase(fresh.storage, log);
    });
    beforeEach(async () => {
      await database.pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      folder = await mkdtemp(join(tmpdir(), 'signpost-migrations-'));
      await write('001_shop', 'CREATE TABLE shop (id int); CREATE TABLE sale (id int);');
    });
    afterEach(() => rm(folder, { recursive: true }));
    afterAll(async () => {
      await database.close();
      await fresh.close();
    });

    async function write(migration: string, sql: string): Promise<void> {
      await mkdir(join(folder, migration), { recursive: true });
      await writeFile(join(folder, migration, 'migration.sql'), sql);
    }
    const run = () => migrate(database.pool, pathToFileURL(`${folder}/`));
    const records = async () =>
      (await database.pool.query('SELECT * FROM _prisma_migrations ORDER BY started_at')).rows;
    const tableExists = async (table: string) =>
      (await database.pool.query('SELECT to_regclass($1) AS found', [table])).rows[0].found !==
      null;

    test('keeps the same records as Prisma', async () => {
      expect(await run()).toEqual(['001_shop']);
      const [migration] = await readMigrations(pathToFileURL(`${folder}/`));
      expect(await records()).toEqual([
        {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          checksum: migration?.checksum,
          migration_name: '001_shop',
          logs: null,
          rolled_back_at: null,
          started_at: expect.any(Date),
          finished_at: expect.any(Date),
          applied_steps_count: 1,
        },
      ]);
      expect(migration?.checksum).toMatch(/^[0-9a-f]{64}$/);
    });

    test('applies only new migrations, in the order of their names', async () => {
      await run();
      await write('003_last', 'CREATE VIEW customers AS SELECT id FROM customer');
      await write('002_customer', "CREATE TABLE customer (id int, note text DEFAULT 'a;b')");
      expect(await run()).toEqual(['002_customer', '003_last']);
      expect(await run()).toEqual([]);
    });

    test('applies each file once when two processes start together', async () => {
      const other =
        fresh.storage.kind === 'embedded' ? database : await openDatabase(fresh.storage, log);
      const both = await Promise.all([run(), migrate(other.pool, pathToFileURL(`${folder}/`))]);
      expect(both.flat()).toEqual(['001_shop']);
      expect(await records()).toHaveLength(1);
      if (other !== database) await other.close();
    });

    test('rolls back and names a failed migration', async () => {
      await write('002_broken', 'CREATE TABLE half (id int); SELECT * FROM nowhere;');
      await expect(run()).rejects.toThrow('migration 002_broken failed; nothing of it remains');
      expect(await tableExists('shop')).toBe(true);
      expect(await tableExists('half')).toBe(false);
      expect(await records()).toHaveLength(1);
      await write('002_broken', 'CREATE TABLE half (id int);');
      expect(await run()).toEqual(['002_broken']);
    });

    test('rejects a file that was edited after it was applied', async () => {
      await run();
      await write('001_shop', 'CREATE TABLE shop (id bigint);');
      await expect(run()).rejects.toThrow('migration 001_shop was edited after it was applied');
    });

    test('stops at a migration that another tool left unfinished', async () => {
      await run();
      await database.pool.query(
        `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('x', 'y', '002_by_hand')`,
      );
      await write('003_next', 'CREATE TABLE next (id int)');
      await expect(run()).rejects.toThrow(/migration 002_by_hand, started .* did not finish/);
      await database.pool.query(
        'UPDATE _prisma_migrations SET rolled_back_at = now() WHERE finished_at IS NULL',
      );
      expect(await run()).toEqual(['003_next']);
    });

    test('leaves a newer database unchanged', async () => {
      await cp(join(folder, '001_shop'), join(folder, '002_newer'), { recursive: true });
      await write('002_newer', 'CREATE TABLE newer (id int)');
      await run();
      await rm(join(folder, '002_newer'), { recursive: true });
      expect(await run()).toEqual([]);
    });
  });
}
