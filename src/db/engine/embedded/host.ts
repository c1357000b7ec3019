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
import {
  cutFrames,
  type MessageFrame,
  queryMessage,
  readOutput,
  renameStatement,
  startupKind,
  startupMessage,
  syncMessage,
} from './frames.ts';

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

// Shares PGlite's one session among many clients. Each client's whole requests run alone; a client
// in a transaction keeps the session until it ends.
//
// Session state is shared: SET outlives its client, and session-level advisory locks exclude no
// other client. COPY FROM STDIN is not supported. A client that waits for another one during a
// transaction deadlocks: inside Prisma's `$transaction`, use only `tx`.

type Connection = {
  /** Chunks of any size. */
  receive(chunk: Uint8Array): void;
  /** Rolls back an open transaction and drops prepared statements. */
  disconnect(): void;
};

/** `send` gets responses in the order of requests, while the request runs. */
type EmbeddedSession = { connect(send: (bytes: Uint8Array) => void): Connection };

type Client = {
  readonly prefix: string;
  readonly send: (bytes: Uint8Array) => void;
  unread: Buffer;
  /** The messages of an incomplete request. */
  gathering: Buffer[];
  requests: Buffer[];
  readonly statements: Set<string>;
};

/** Sync, simple Query, Flush. */
const endsRequest = new Set(['S', 'Q', 'H']);

type SharedEngine = {
  readonly exec: (message: Uint8Array) => Uint8Array;
  readonly greeting: Uint8Array;
  readonly clients: Set<Client>;
  /** Clients with complete requests, first come first served. */
  readonly waiting: Client[];
  readonly dropped: string[];
  /** The client in a transaction or an incomplete response. */
  owner: Client | undefined;
};

/** `exec` runs protocol bytes synchronously; `greeting` is the response to a startup message. */
function createEmbeddedSession(exec: SharedEngine['exec'], greeting: Uint8Array): EmbeddedSession {
  const shared: SharedEngine = {
    exec,
    greeting,
    clients: new Set(),
    waiting: [],
    dropped: [],
    owner: undefined,
  };
  let count = 0;
  return {
    connect(send) {
      count += 1;
      const client: Client = {
        prefix: `c${count}_`,
        send,
        unread: Buffer.alloc(0),
        gathering: [],
        requests: [],
        statements: new Set(),
      };
      shared.clients.add(client);
      return {
        receive: (chunk) => receive(shared, client, chunk),
        disconnect: () => disconnect(shared, client),
      };
    },
  };
}

function receive(shared: SharedEngine, client: Client, chunk: Uint8Array): void {
  if (!shared.clients.has(client)) return;
  const { frames, rest } = cutFrames(Buffer.concat([client.unread, chunk]));
  client.unread = rest;
  for (const frame of frames) take(client, frame, shared.greeting);
  if (frames.some(({ type }) => type === 'X')) disconnect(shared, client);
  else if (client.requests.length > 0 && !shared.waiting.includes(client))
    shared.waiting.push(client);
  runWaiting(shared);
}

/** The owner's requests or, without an owner, everyone's, one client after the other. */
function runWaiting(shared: SharedEngine): void {
  for (;;) {
    const place = shared.owner === undefined ? 0 : shared.waiting.indexOf(shared.owner);
    const next = place < 0 ? undefined : shared.waiting.splice(place, 1)[0];
    if (next === undefined) return;
    run(shared, next);
    if (shared.owner === undefined) dropStatements(shared);
  }
}

function run(shared: SharedEngine, client: Client): void {
  for (const request of client.requests.splice(0)) {
    const { own, notifications, status } = readOutput(shared.exec(request));
    client.send(own);
    for (const note of notifications) notifyOthers(shared, client, note);
    shared.owner = status === 'I' ? undefined : client;
  }
}

/** The server adds a notification to the response of the client that caused it. */
function notifyOthers({ clients }: SharedEngine, client: Client, note: Buffer): void {
  for (const other of clients) if (other !== client) other.send(note);
}

function disconnect(shared: SharedEngine, client: Client): void {
  if (!shared.clients.delete(client)) return;
  shared.dropped.push(...client.statements);
  const place = shared.waiting.indexOf(client);
  if (place >= 0) shared.waiting.splice(place, 1);
  if (shared.owner === client) {
    shared.exec(syncMessage);
    shared.exec(queryMessage('ROLLBACK'));
    shared.owner = undefined;
  }
  if (shared.owner === undefined) dropStatements(shared);
  runWaiting(shared);
}

/** Called only without an owner: the server would refuse it inside a failed transaction. */
function dropStatements({ exec, dropped }: SharedEngine): void {
  for (const name of dropped.splice(0)) {
    exec(queryMessage(`DEALLOCATE "${name.replaceAll('"', '""')}"`));
  }
}

/** Answers at once if the message needs no database. */
function take(client: Client, frame: MessageFrame, greeting: Uint8Array): void {
  if (frame.type === 'startup') {
    const kind = startupKind(frame);
    if (kind === 'encryption') client.send(Buffer.from('N'));
    if (kind === 'session') client.send(greeting);
    return;
  }
  if (frame.type === 'X') return;
  const { frame: own, parsed } = renameStatement(frame, client.prefix);
  if (parsed !== null) client.statements.add(parsed);
  client.gathering.push(own.bytes);
  if (!endsRequest.has(own.type)) return;
  client.requests.push(Buffer.concat(client.gathering));
  client.gathering = [];
}

if (parentPort !== null) {
  const { dataDir } = workerData as HostData; // set by stream.ts, which starts this file
  await serve(parentPort, dataDir);
}
