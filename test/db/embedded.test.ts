import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';

const log = pino({ level: 'silent' });

describe('embedded storage', () => {
  let fresh: FreshStorage;
  let database: Database;

  beforeAll(async () => {
    fresh = await freshStorage('embedded');
    database = await openDatabase(fresh.storage, log);
    await database.pool.query('CREATE TABLE note (text text PRIMARY KEY)');
  });
  afterAll(async () => {
    await database.close();
    await fresh.close();
  });

  const notes = async () =>
    (await database.pool.query('SELECT text FROM note ORDER BY text')).rows.map(({ text }) => text);

  test('isolates a transaction: others wait until it ends', async () => {
    const first = await database.pool.connect();
    await first.query('BEGIN');
    await first.query(`INSERT INTO note VALUES ('first')`);
    const order: string[] = [];
    const second = database.pool
      .query(`INSERT INTO note VALUES ('second')`)
      .then(() => order.push('second'));
    await first.query('SELECT 1');
    order.push('first');
    await first.query('COMMIT');
    first.release();
    await second;
    expect(order).toEqual(['first', 'second']);
    expect(await notes()).toEqual(['first', 'second']);
  });

  test('rolls back a transaction when its connection is lost', async () => {
    const client = await database.pool.connect();
    await client.query('BEGIN');
    await client.query(`INSERT INTO note VALUES ('lost')`);
    client.release(true);
    expect(await notes()).not.toContain('lost');
  });

  test('fails only the transaction of a failed statement', async () => {
    const client = await database.pool.connect();
    await client.query('BEGIN');
    await expect(client.query('SELECT * FROM nowhere')).rejects.toMatchObject({ code: '42P01' });
    await expect(client.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' });
    await client.query('ROLLBACK');
    client.release();
    expect(await database.probe()).toBe(true);
  });

  test('delivers NOTIFY to all listeners', async () => {
    const listeners = [await database.pool.connect(), await database.pool.connect()];
    const received = listeners.map(
      (client) =>
        new Promise((resolve) => {
          client.on('notification', ({ channel, payload }) => resolve([channel, payload]));
        }),
    );
    await Promise.all(listeners.map((client) => client.query('LISTEN news')));
    await database.pool.query(`SELECT pg_notify('news', 'hello')`);
    expect(await Promise.all(received)).toEqual([
      ['news', 'hello'],
      ['news', 'hello'],
    ]);
    for (const client of listeners) client.release(true);
  });

  test('lets two clients use one name for two prepared statements', async () => {
    const clients = [await database.pool.connect(), await database.pool.connect()];
    for (const _ of [1, 2]) {
      const answers = await Promise.all(
        clients.map((client, i) =>
          client.query({ name: 'q', text: `SELECT ${i} AS n, $1::int`, values: [1] }),
        ),
      );
      expect(answers.map(({ rows }) => rows[0].n)).toEqual([0, 1]);
    }
    for (const client of clients) client.release(true);
    const { rows } = await database.pool.query('SELECT name FROM pg_prepared_statements');
    expect(rows).toEqual([]);
  });

  test('keeps IDs exact at both ends of int64', async () => {
    const ends = [-(2n ** 63n), 2n ** 63n - 1n];
    for (const categoryId of ends) {
      const { id } = await database.prisma.pet.create({ data: { name: 'x', categoryId } });
      expect(await database.prisma.pet.findUnique({ where: { id } })).toMatchObject({ categoryId });
      const raw = await database.prisma.$queryRaw`SELECT category_id FROM pet WHERE id = ${id}`;
      expect(raw).toEqual([{ category_id: categoryId }]);
    }
  });

  test('rolls back an interactive Prisma transaction after an error', async () => {
    const before = await database.prisma.pet.count();
    const failing = database.prisma.$transaction(async (tx) => {
      await tx.pet.create({ data: { name: 'y', categoryId: 1n } });
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect(await database.prisma.pet.count()).toBe(before);
  });

  test('returns a result of several megabytes in full', async () => {
    const { rows } = await database.pool.query(`SELECT repeat('x', 5000000) AS long`);
    expect(rows[0].long).toHaveLength(5_000_000);
  });

  test('keeps its data when it is reopened', async () => {
    const kept = await freshStorage('embedded');
    const first = await openDatabase(kept.storage, log);
    await first.pool.query(`CREATE TABLE kept AS SELECT 'here' AS word`);
    await first.close();
    const second = await openDatabase(kept.storage, log);
    expect((await second.pool.query('SELECT word FROM kept')).rows).toEqual([{ word: 'here' }]);
    await second.close();
    await kept.close();
  });

  test('needs no folder in memory', async () => {
    const memory = await openDatabase({ kind: 'embedded', dataDir: 'memory://' }, log);
    expect(await memory.probe()).toBe(true);
    await memory.close();
    expect(await memory.probe()).toBe(false);
  });
});
