/** Connects the `pg` driver to the embedded PostgreSQL with a stream instead of a socket. */

import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Duplex } from 'node:stream';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { projectRoot } from '../../../config/root-folder.ts';
import type { FromHost, HostData, ToHost } from './host.ts';

export type EmbeddedPostgres = {
  /** For `pg`'s `stream` option. */
  connect(): Duplex;
  /** Resolves when the data is closed and the directory unlocked. Idempotent. */
  close(): Promise<void>;
};

/** Compiled: worker threads don't run TypeScript on every supported Node version. */
const hostFile = new URL('dist/src/db/engine/embedded/host.js', projectRoot);

/**
 * Creates the directory if needed, and makes it private; `memory://` stores nothing. Rejects if another process has it
 * open. `onStopped`: called once if the database ends without `close`; only a restart of the
 * process opens it again.
 */
export async function openEmbedded(
  dataDir: string,
  onStopped: (reason: Error) => void,
): Promise<EmbeddedPostgres> {
  if (dataDir === 'memory://') return start(dataDir, onStopped, async () => {});
  await mkdir(dataDir, { recursive: true, mode: PRIVATE });
  await chmod(dataDir, PRIVATE).catch(unlessForeign);
  const unlock = await lockDirectory(dataDir);
  try {
    return await start(resolve(join(dataDir, 'postgres')), onStopped, unlock);
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** For the owner alone: the database's files have sealed keys, mail addresses and hashes of keys. */
const PRIVATE = 0o700;

/** Of a mounted volume with another owner, who decides. */
function unlessForeign(fault: NodeJS.ErrnoException): void {
  if (fault.code !== 'EPERM') throw fault;
}

async function start(
  dataDir: string,
  onStopped: (reason: Error) => void,
  unlock: () => Promise<void>,
): Promise<EmbeddedPostgres> {
  const host = new Worker(hostFile, {
    workerData: { dataDir } satisfies HostData,
    execArgv: [], // flags of the process, such as --input-type, don't apply
  });
  const post = (message: ToHost, ports: MessagePort[] = []) => host.postMessage(message, ports);
  await started(host);
  const streams = new Set<Duplex>();
  let closing: Promise<void> | undefined;
  let stopped: Error | undefined;

  // 'exit' follows and ends the streams with this reason.
  host.on('error', (error) => {
    stopped = new Error('the embedded database has stopped', { cause: error });
  });
  const exited = new Promise<void>((done) => {
    host.once('exit', () => {
      const reason = stopped ?? new Error('the embedded database has stopped');
      stopped = reason;
      for (const stream of streams) stream.destroy(closing === undefined ? reason : undefined);
      if (closing === undefined) onStopped(reason);
      done();
    });
  });

  return {
    connect() {
      const { port1, port2 } = new MessageChannel();
      const stream = portStream(port1, () => stopped);
      streams.add(stream);
      stream.once('close', () => streams.delete(stream));
      post({ kind: 'connect', port: port2 }, [port2]);
      return stream;
    },
    close() {
      closing ??= (async () => {
        post({ kind: 'close' });
        await exited;
        await unlock();
      })();
      return closing;
    },
  };
}

/** Rejects if the thread fails or exits first. */
function started(host: Worker): Promise<void> {
  return new Promise((done, fail) => {
    const onExit = () => fail(new Error('the embedded database did not start'));
    host.once('error', fail);
    host.once('exit', onExit);
    host.once('message', ({ kind }: FromHost) => {
      if (kind !== 'ready') return;
      host.off('error', fail);
      host.off('exit', onExit);
      done();
    });
  });
}

/** Has the socket methods that `pg` calls. */
function portStream(port: MessagePort, stopped: () => Error | undefined): Duplex {
  const stream = new Duplex({
    allowHalfOpen: false,
    read() {},
    write(chunk: Uint8Array, _encoding, done) {
      // A copy, since posting a view would send its whole buffer.
      const copy = new Uint8Array(chunk);
      port.postMessage(copy, [copy.buffer]);
      done();
    },
    final(done) {
      stream.push(null);
      done();
    },
    destroy(error, done) {
      port.close();
      done(error);
    },
  });
  port.on('message', (chunk: Uint8Array) => stream.push(chunk));
  port.once('close', () => stream.destroy());
  const none = () => stream;
  return Object.assign(stream, {
    setNoDelay: none,
    setKeepAlive: none,
    ref: () => port.ref(),
    unref: () => port.unref(),
    connect: () => {
      const reason = stopped();
      setImmediate(() => (reason ? stream.destroy(reason) : stream.emit('connect')));
    },
  });
}

// Allows one process per data directory: PGlite does not detect a second one, and both would
// corrupt the files. The lock is a file with the owner's pid; the lock of a dead owner is taken
// over.

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
