import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { isUnavailable } from '../../src/db/engine/unavailable.ts';
import { createPetStore, type PetStore } from '../../src/db/pets.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';

const silent = pino({ level: 'silent' });
const available = storages.some((storage) => storage.name === 'postgres' && storage.available);
const rex = { name: 'Rex', categoryId: 1n, status: 'sold' } as const;

describe.skipIf(!available)('when the database fails', () => {
  let fresh: FreshStorage;
  let url: string;
  let database: Database;
  let pets: PetStore;
  /** A connection outside the pool. */
  let operator: pg.Client;

  beforeAll(async () => {
    fresh = await freshStorage('postgres');
    if (fresh.storage.kind !== 'postgres') throw new Error('needs PostgreSQL');
    url = fresh.storage.databaseUrl;
    database = await openDatabase(fresh.storage, silent);
    pets = createPetStore(database);
    operator = new pg.Client(url);
    await operator.connect();
  });
  beforeEach(() => operator.query('TRUNCATE pet'));
  afterAll(async () => {
    await operator?.end();
    await database?.close();
    await fresh?.close();
  });

  const everyCall = (store: PetStore) =>
    [
      ...Array.from({ length: 20 }, () => store.create(rex)),
      ...Array.from({ length: 20 }, (_, n) => store.get(BigInt(n))),
      ...Array.from({ length: 20 }, (_, n) =>
        store.list({ after: BigInt(n), status: null, limit: 9 }),
      ),
      ...Array.from({ length: 20 }, () => store.list({ after: null, status: 'sold', limit: 9 })),
    ].map((call) =>
      call.then(
        () => 'answered',
        (fault: unknown) => fault,
      ),
    );

  it('calls on a lost connection fail, and the next ones succeed', async () => {
    const locker = new pg.Client(url);
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE pet');
    const calls = everyCall(pets);
    await untilWaiting(operator, 4);
    // The lock outlives the connections; otherwise some statements would finish.
    const cut = await operator.query<{ pid: number }>(
      `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    // A terminated connection can still take a statement and fail it.
    await untilGone(
      operator,
      cut.rows.map(({ pid }) => pid),
    );
    await locker.end();
    const outcomes = await Promise.all(calls);
    const failed = outcomes.filter((outcome) => outcome !== 'answered');
    // One statement of each kind was active when its connection was cut.
    expect(failed.length).toBeGreaterThanOrEqual(4);
    expect(failed.filter((fault) => !isUnavailable(fault))).toEqual([]);
    await nextTurn(); // the pool processes the closed connections
    expect(await Promise.all(everyCall(pets))).toEqual(Array(80).fill('answered'));
  });

  it('calls to a silent database fail and none hangs', async () => {
    const proxy = await startProxy(url);
    const behind = await openDatabase({ kind: 'postgres', databaseUrl: proxy.url }, silent);
    try {
      const patient = everyCall(createPetStore(behind));
      expect(await Promise.all(patient)).toEqual(Array(80).fill('answered'));
      proxy.fallSilent();
      const outcomes = await Promise.all(everyCall(createPetStore(behind, { silenceMs: 200 })));
      expect(outcomes.filter((outcome) => !isUnavailable(outcome))).toEqual([]);
    } finally {
      proxy.close();
      await behind.close();
    }
  });

  it('an invalid pet fails alone and the rest of its batch is stored', async () => {
    await operator.query(`ALTER TABLE pet ADD CONSTRAINT no_cats CHECK (name <> 'Cat')`);
    try {
      const names = Array.from({ length: 30 }, (_, n) => (n % 10 === 3 ? 'Cat' : `Dog ${n}`));
      const outcomes = await Promise.allSettled(names.map((name) => pets.create({ ...rex, name })));
      const stored = await database.prisma.pet.findMany({ select: { id: true, name: true } });
      expect(stored.map(({ name }) => name).sort()).toEqual(
        names.filter((name) => name !== 'Cat').sort(),
      );
      const nameOf = new Map(stored.map(({ id, name }) => [id, name]));
      const answered = outcomes.map((outcome) =>
        outcome.status === 'rejected' ? outcome.reason.code : nameOf.get(outcome.value.id),
      );
      expect(answered).toEqual(names.map((name) => (name === 'Cat' ? '23514' : name)));
    } finally {
      await operator.query('ALTER TABLE pet DROP CONSTRAINT no_cats');
    }
  });
});

async function untilWaiting(client: pg.Client, count: number): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows.length >= count) return;
  }
}

async function untilGone(client: pg.Client, pids: readonly number[]): Promise<void> {
  const sql = 'SELECT FROM pg_stat_activity WHERE pid = ANY($1)';
  while ((await client.query(sql, [pids])).rowCount !== 0);
}

/** Forwards bytes between clients and a server until it is told to drop them. */
async function startProxy(databaseUrl: string) {
  const { hostname, port } = new URL(databaseUrl);
  const sockets: Socket[] = [];
  let isSilent = false;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    sockets.push(client, upstream);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (bytes) => isSilent || to.write(bytes));
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port); // it listens on TCP
  return {
    url: url.href,
    fallSilent() {
      isSilent = true;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
