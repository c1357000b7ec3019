/** A database as an older version left it. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { projectRoot } from '../../src/config/root-folder.ts';
import type { Database } from '../../src/db/engine/client.ts';
import { migrate, readMigrations } from '../../src/db/engine/migrate.ts';

/** Applies the migrations before the named one to an empty database. */
export async function migrateBefore({ pool }: Pick<Database, 'pool'>, name: string): Promise<void> {
  const all = (await readMigrations()).map((migration) => migration.name);
  const older = all.slice(0, all.indexOf(name));
  const folder = await mkdtemp(join(tmpdir(), 'signpost-migrations-'));
  for (const each of older) {
    const from = new URL(`prisma/migrations/${each}/`, projectRoot);
    await cp(from, join(folder, each), { recursive: true });
  }
  expect(await migrate(pool, pathToFileURL(`${folder}/`))).toEqual(older);
  await rm(folder, { recursive: true });
}
