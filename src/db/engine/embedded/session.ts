/**
 * Many clients, one PostgreSQL session: PGlite has no second one. Each client's messages are gathered to a
 * whole request and run alone; a client inside a transaction keeps the session until it ends it.
 *
 * Shared, because the session is: SET outlives its client, and advisory locks taken for the session (not for
 * a transaction) exclude nobody. COPY FROM STDIN is not supported. A client that waits for another one while it holds a
 * transaction waits for ever: inside Prisma's `$transaction` use only `tx`.
 */
import {
  cutFrames,
  type Frame,
  queryMessage,
  readOutput,
  renameStatement,
  startupKind,
  syncMessage,
} from './frames.ts';

/** One client of the session. */
export type Connection = {
  /** Bytes from the client, cut anywhere. */
  receive(chunk: Uint8Array): void;
  /** The client is gone: its open transaction is rolled back and its prepared statements are dropped. */
  disconnect(): void;
};

/** Many clients over one session. `send` is called while the request runs, with answers in the order of its requests. */
export type Session = { connect(send: (bytes: Uint8Array) => void): Connection };

type Client = {
  readonly prefix: string;
  readonly send: (bytes: Uint8Array) => void;
  unread: Buffer;
  /** The messages of the request that is not complete yet. */
  gathering: Buffer[];
  /** Complete requests that wait for the session. */
  requests: Buffer[];
  readonly statements: Set<string>;
};

/** Messages that want an answer: Sync, simple Query, Flush. */
const endsRequest = new Set(['S', 'Q', 'H']);

type Shared = {
  readonly exec: (message: Uint8Array) => Uint8Array;
  readonly greeting: Uint8Array;
  readonly clients: Set<Client>;
  /** Clients with complete requests, first come first served. */
  readonly waiting: Client[];
  /** Prepared statements of clients that are gone. */
  readonly dropped: string[];
  /** Who is inside a transaction, or in the middle of an answer. */
  owner: Client | undefined;
};

/** `exec` runs protocol bytes at once and returns the answer; `greeting` is the answer to a startup message. */
export function createSession(exec: Shared['exec'], greeting: Uint8Array): Session {
  const shared: Shared = {
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

function receive(shared: Shared, client: Client, chunk: Uint8Array): void {
  if (!shared.clients.has(client)) return;
  const { frames, rest } = cutFrames(Buffer.concat([client.unread, chunk]));
  client.unread = rest;
  for (const frame of frames) take(client, frame, shared.greeting);
  if (frames.some(({ type }) => type === 'X')) disconnect(shared, client);
  else if (client.requests.length > 0 && !shared.waiting.includes(client))
    shared.waiting.push(client);
  runWaiting(shared);
}

/** Runs what may run: the owner's requests, or else everybody's, one client after the other. */
function runWaiting(shared: Shared): void {
  for (;;) {
    const place = shared.owner === undefined ? 0 : shared.waiting.indexOf(shared.owner);
    const next = place < 0 ? undefined : shared.waiting.splice(place, 1)[0];
    if (next === undefined) return;
    run(shared, next);
    if (shared.owner === undefined) dropStatements(shared);
  }
}

function run(shared: Shared, client: Client): void {
  for (const request of client.requests.splice(0)) {
    const { own, notifications, status } = readOutput(shared.exec(request));
    client.send(own);
    for (const note of notifications) notifyOthers(shared, client, note);
    shared.owner = status === 'I' ? undefined : client;
  }
}

/** The server puts a notification into the answer to whoever caused it; this sends it to all other clients as well. */
function notifyOthers({ clients }: Shared, client: Client, note: Buffer): void {
  for (const other of clients) if (other !== client) other.send(note);
}

function disconnect(shared: Shared, client: Client): void {
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

/** Called only while no client owns the session: inside a failed transaction the server would refuse it. */
function dropStatements({ exec, dropped }: Shared): void {
  for (const name of dropped.splice(0)) {
    exec(queryMessage(`DEALLOCATE "${name.replaceAll('"', '""')}"`));
  }
}

/** Puts a message where it belongs; answers at once what needs no database. */
function take(client: Client, frame: Frame, greeting: Uint8Array): void {
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
