/** The code before the newest migration, from the history of this checkout. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { noteNotRun } from './programs.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const git = async (...args: readonly string[]) =>
  (await run('git', args, { cwd: root })).stdout.trim();

/** What the service runs with; other tools do not matter. */
function installedIn(lockFile: string): string {
  type Installed = { readonly dev?: boolean; readonly version?: string };
  const { packages } = JSON.parse(lockFile) as { packages: Record<string, Installed> }; // npm's format
  const running = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  return JSON.stringify(running.map(([path, { version }]) => [path, version]));
}

/** Null, with a note, if the history does not reach back or the dependencies changed since. */
export async function findPreviousVersion(what: string): Promise<string | null> {
  const [newest] = (await readdir(join(root, 'prisma/migrations'))).sort().slice(-2);
  const added = ['log', '--diff-filter=A', '--format=%H', '-1', '--'];
  try {
    const commit = await git(...added, `prisma/migrations/${newest}/migration.sql`);
    const revision = await git('rev-parse', '--verify', `${commit}^`);
    const before = installedIn(await git('show', `${revision}:package-lock.json`));
    const now = installedIn(await readFile(join(root, 'package-lock.json'), 'utf8'));
    if (before === now) return revision;
    noteNotRun(what, 'the dependencies changed since');
  } catch {
    noteNotRun(what, 'the history of this checkout does not reach back');
  }
  return null;
}

/** A compiled checkout with this one's dependencies; the path ends with a slash. */
export async function buildVersion(revision: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-version-'));
  const archive = join(folder, 'archive.tar');
  await git('archive', '--output', archive, revision);
  await run('tar', ['-xf', archive], { cwd: folder });
  await mkdir(join(folder, 'node_modules'));
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name === '.signpost') continue; // what setup.mjs made of this checkout
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  await run(process.execPath, ['scripts/setup.mjs'], { cwd: folder });
  return `${folder}/`;
}
