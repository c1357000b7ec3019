/**
 * Allows one process per data directory: PGlite does not detect a second one, and both would
 * corrupt the files. The lock is a file with the owner's pid; the lock of a dead owner is taken
 * over.
 */
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

type Owner = { readonly pid: number; readonly startedAt: string };

/** After a restart in a container, a stale lock can contain our own pid. */
const held = new Set<string>();

/** Resolves to the unlock function (idempotent). Rejects with the pid of a running owner. */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const file = join(resolve(directory), 'signpost.lock');
  if (held.has(file)) throw inUse(directory, process.pid);
  held.add(file);
  try {
    await take(file, directory);
  } catch (error) {
    held.delete(file);
    throw error;
  }
  return async () => {
    if (held.delete(file)) await rm(file, { force: true });
  };
}

/** Writes a temporary file and links it, so other processes never read a partial one. */
async function take(file: string, directory: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(
    draft,
    JSON.stringify({ pid: process.pid, startedAt: await startOf(process.pid) }),
  );
  try {
    while (!(await linked(draft, file))) {
      const text = await readFile(file, 'utf8').catch(() => null);
      if (text === null) continue; // just released
      const owner = parseOwner(text);
      if (owner !== null && (await lives(owner))) throw inUse(directory, owner.pid);
      await removeStale(file, text);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** A link is atomic and never replaces an existing file. */
async function linked(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** If another process has just replaced it, restores that one. */
async function removeStale(file: string, stale: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if ((await readFile(aside, 'utf8')) !== stale) await linked(aside, file);
  await rm(aside, { force: true });
}

async function lives({ pid, startedAt }: Owner): Promise<boolean> {
  if (pid === process.pid) return false; // not in `held`, so it belongs to an earlier process with this pid
  try {
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
  return (await startOf(pid)) === startedAt;
}

/** Tells a process apart from later ones with its pid; empty without /proc. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Field 22, counted after the name, which is in parentheses and can contain anything (proc(5)).
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function parseOwner(text: string): Owner | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    const { pid, startedAt } = value as Partial<Record<keyof Owner, unknown>>; // both are checked next
    return typeof pid === 'number' && typeof startedAt === 'string' ? { pid, startedAt } : null;
  } catch {
    return null;
  }
}

function inUse(directory: string, pid: number): Error {
  return new Error(
    `${directory} is in use by process ${pid}: embedded storage belongs to one process. ` +
      'Stop that process, or set DATA_DIR to another folder, or DATABASE_URL to a server.',
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
