/**
 * The worker thread that PGlite lives in: in the main thread every statement would stop the event loop.
 *
 * What PGlite does not do: it never calls fsync, so a killed process loses no acknowledged row, but a power
 * failure may; and it runs no autovacuum, so dead rows stay until somebody says VACUUM.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { ensureCluster, templateDir } from './cluster.ts';
import { queryMessage, startupMessage } from './frames.ts';
import { createSession } from './session.ts';

/** What the main thread gives at the start: a folder, or `memory://`. */
export type HostData = { readonly dataDir: string };
/** From the main thread: a new client's port, or the end. */
export type ToHost =
  | { readonly kind: 'connect'; readonly port: MessagePort }
  | { readonly kind: 'close' };
/** To the main thread, once: the database is open, and clients may connect. */
export type FromHost = { readonly kind: 'ready' };

async function serve(port: MessagePort, dataDir: string): Promise<void> {
  if (dataDir !== 'memory://') await ensureCluster(dataDir, templateDir);
  const database = await PGlite.create({ dataDir });
  // Every file system PGlite has on Node writes at once: there is nothing to sync after a statement.
  const exec = (message: Uint8Array) => database.execProtocolRawSync(message);
  // Copied: this answer lies in a buffer that the next statement overwrites.
  const greeting = Buffer.from(exec(startupMessage({ user: 'postgres', database: 'postgres' })));
  exec(queryMessage('SET search_path = public, bullmq'));
  const session = createSession(exec, greeting);

  port.on('message', (message: ToHost) => {
    if (message.kind === 'connect') attach(message.port);
    else void database.close().then(() => process.exit()); // ends this thread, with every port still open
  });
  port.postMessage({ kind: 'ready' } satisfies FromHost);

  function attach(client: MessagePort): void {
    const connection = session.connect((bytes) => {
      // Copied, because what is transferred is gone here, and the greeting serves many.
      const copy = new Uint8Array(bytes);
      client.postMessage(copy, [copy.buffer]);
    });
    client.on('message', (chunk: Uint8Array) => connection.receive(chunk));
    client.on('close', () => connection.disconnect());
  }
}

if (parentPort !== null) {
  const { dataDir } = workerData as HostData; // set by stream.ts, the only one who starts this file
  await serve(parentPort, dataDir);
}
