/** A PostgreSQL data directory. Making one from nothing takes some seconds, so the set-up keeps a template. */
import { existsSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { projectRoot } from '../migrate.ts';

/** The template's folder. Made once by the set-up (scripts/setup.mjs); `npm ci` removes it with everything around it. */
export const templateDir: string = fileURLToPath(
  new URL('node_modules/.signpost/postgres', projectRoot),
);

/**
 * Makes a data directory at `dir` unless there is one. It is made beside its place and moved there when complete, so that an
 * interrupted run leaves nothing that looks like one. `template` null, or not there: it is made from nothing.
 */
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
