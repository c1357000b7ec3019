/**
 * Runs PGlite in a worker thread: in the main thread, every statement would block the event loop.
 *
 * PGlite never calls fsync: a killed process loses no acknowledged rows, but a power failure can.
 * It runs no autovacuum: dead rows stay until an explicit VACUUM.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { ensureCluster, templateDir } from './cluster.ts';
import { queryMessage, startupMessage } from './frames.ts';
import { createEmbeddedSession } from './session.ts';

/** A folder, or `memory://`. */
export type HostData = { readonly dataDir: string };
export type ToHost =
  | { readonly kind: 'connect'; readonly port: MessagePort }
  | { readonly kind: 'close' };
/** Sent once, when the database is open. */
export type FromHost = { readonly kind: 'ready' };

async function serve(port: MessagePort, dataDir: string): Promise<void> {
  if (dataDir !== 'memory://') await ensureCluster(dataDir, templateDir);
  const database = await PGlite.create({ dataDir, extensions: { pg_trgm } });
  // All of PGlite's file systems on Node write synchronously, so nothing needs a sync after a
  // statement.
  const exec = (message: Uint8Array) => database.execProtocolRawSync(message);
  // Copied, because the next statement overwrites the response's buffer.
  const greeting = Buffer.from(exec(startupMessage({ user: 'postgres', database: 'postgres' })));
  exec(queryMessage('SET search_path = public, bullmq'));
  const session = createEmbeddedSession(exec, greeting);

  port.on('message', (message: ToHost) => {
    if (message.kind === 'connect') attach(message.port);
    else void database.close().then(() => process.exit()); // ends this thread, even with open ports
  });
  port.postMessage({ kind: 'ready' } satisfies FromHost);

  function attach(client: MessagePort): void {
    const connection = session.connect((bytes) => {
      // Copied, because a transfer detaches the buffer, and all clients share the greeting.
      const copy = new Uint8Array(bytes);
      client.postMessage(copy, [copy.buffer]);
    });
    client.on('message', (chunk: Uint8Array) => connection.receive(chunk));
    client.on('close', () => connection.disconnect());
  }
}

if (parentPort !== null) {
  const { dataDir } = workerData as HostData; // set by stream.ts, which starts this file
  await serve(parentPort, dataDir);
}
