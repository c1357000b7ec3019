import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase, requireUtc } from '../../src/db/engine/client.ts';
import { freshStorage, storages } from '../support/storage.ts';

const postgres = storages.find(({ name }) => name === 'postgres');

describe.skipIf(!postgres?.available)('a database server in New York', () => {
  test('stores the same instant as one in Greenwich', async () => {
    const { storage, close } = await freshStorage('postgres');
    onTestFinished(close);
    if (storage.kind !== 'postgres') throw new Error('needs PostgreSQL');
    const client = new pg.Client(storage.databaseUrl);
    await client.connect();
    await client.query(`ALTER DATABASE ${client.database} SET timezone = 'America/New_York'`);

    const database = await openDatabase(storage, pino({ level: 'silent' }));
    const noon = new Date('2026-11-21T12:00:00Z');
    const id = randomUUID();
    const data = { id, name: 'a', slug: 'a', deployedAt: noon };
    await database.prisma.project.create({ data });
    expect((await database.prisma.project.findUnique({ where: { id } }))?.deployedAt).toEqual(noon);
    const stored = await client.query('SELECT extract(epoch FROM deployed_at) AS at FROM project');
    expect(Number(stored.rows[0].at)).toBe(noon.getTime() / 1_000);

    await client.end();
    await database.close();
  });

  test('is detected when a pooler drops the time zone of connections', async () => {
    const { storage, close } = await freshStorage('postgres');
    onTestFinished(close);
    if (storage.kind !== 'postgres') throw new Error('needs PostgreSQL');
    const name = new URL(storage.databaseUrl).pathname.slice(1);
    const says = async (zone: string) => {
      const pool = new pg.Pool({ connectionString: storage.databaseUrl }); // requests none
      await pool.query(`ALTER DATABASE ${name} SET timezone = '${zone}'`);
      await pool.end();
      const next = new pg.Pool({ connectionString: storage.databaseUrl });
      return requireUtc(next).finally(() => next.end());
    };
    for (const zone of ['America/New_York', 'Europe/London', 'Atlantic/Azores']) {
      await expect(says(zone)).rejects.toThrow(`the time zone ${zone}`);
    }
    for (const zone of ['UTC', 'GMT']) await says(zone);

    await says('America/New_York').catch(() => {});
    const database = await openDatabase(storage, pino({ level: 'silent' }));
    onTestFinished(() => database.close());
    await requireUtc(database.pool); // ours request it
  });
});
