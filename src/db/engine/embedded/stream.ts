/** Connects the `pg` driver to the embedded PostgreSQL with a stream instead of a socket. */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Duplex } from 'node:stream';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { projectRoot } from '../../../config/root-folder.ts';
import type { FromHost, HostData, ToHost } from './host.ts';
import { lockDirectory } from './lock.ts';

export type EmbeddedPostgres = {
  /** For `pg`'s `stream` option. */
  connect(): Duplex;
  /** Resolves when the data is closed and the directory unlocked. Idempotent. */
  close(): Promise<void>;
};

/** Compiled: worker threads don't run TypeScript on every supported Node version. */
const hostFile = new URL('dist/src/db/engine/embedded/host.js', projectRoot);

/**
 * Creates the directory if needed; `memory://` stores nothing. Rejects if another process has it
 * open. `onStopped`: called once if the database ends without `close`; only a restart of the
 * process opens it again.
 */
export async function openEmbedded(
  dataDir: string,
  onStopped: (reason: Error) => void,
): Promise<EmbeddedPostgres> {
  if (dataDir === 'memory://') return start(dataDir, onStopped, async () => {});
  await mkdir(dataDir, { recursive: true });
  const unlock = await lockDirectory(dataDir);
  try {
    return await start(resolve(join(dataDir, 'postgres')), onStopped, unlock);
  } catch (error) {
    await unlock();
    throw error;
  }
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
