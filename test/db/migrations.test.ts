import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { migrate } from '../../src/db/engine/migrate.ts';
import { diffToSchema } from '../support/schema-diff.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';

const schemaFile = new URL('../../prisma/schema.prisma', import.meta.url);

describe('the migrations and schema.prisma', () => {
  let fresh: FreshStorage;
  let database: Database;
  let schema: string;

  beforeAll(async () => {
    fresh = await freshStorage('embedded', { empty: true });
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    await migrate(database.pool);
    schema = await readFile(schemaFile, 'utf8');
  });
  afterAll(async () => {
    await database.close();
    await fresh.close();
  });

  test('describe the same database', async () => {
    expect(await diffToSchema(database.pool, schema)).toBeNull();
  });

  const differences: readonly [string, string, string, RegExp][] = [
    ['an extra column', 'model Turn {', 'model Turn {\n  extra Int?', /ADD COLUMN +"extra"/],
    ['a missing index', '  @@index([status, id])\n', '', /DROP INDEX "pet_status_id_idx"/],
    [
      'a changed partial index',
      `"status = 'ordering'"`,
      `"status = 'issued'"`,
      /"certificate_open_order_key"/,
    ],
    ['an extra enum value', 'enum Plan {', 'enum Plan {\n  trial', /ADD VALUE 'trial'|'trial'/],
  ];
  test.each(differences)('%s in the schema is detected', async (_what, from, to, expected) => {
    const changed = schema.replace(from, to);
    expect(changed).not.toBe(schema);
    expect(await diffToSchema(database.pool, changed)).toMatch(expected);
  });
});
