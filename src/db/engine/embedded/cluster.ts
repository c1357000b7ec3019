/** Creating a PostgreSQL data directory takes some seconds, so the setup keeps a template. */
import { existsSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { projectRoot } from '../../../config/root-folder.ts';

/** Created by scripts/setup.mjs. `npm ci` removes it with node_modules. */
export const templateDir: string = fileURLToPath(
  new URL('node_modules/.signpost/postgres', projectRoot),
);

/** Created beside and then moved, so an interrupted run leaves no partial one. */
export async function ensureCluster(dir: string, template: string | null): Promise<void> {
  if (existsSync(join(dir, 'PG_VERSION'))) return;
  const draft = `${dir}.${process.pid}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(dirname(dir), { recursive: true });
  if (template !== null && existsSync(join(template, 'PG_VERSION'))) {
    await cp(template, draft, { recursive: true });
  } else {
    const database = await PGlite.create({ dataDir: draft });
    await database.close();
  }
  await rename(draft, dir);
}
