import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/db/client.ts';
import { freshStorage, storages } from '../support/storage.ts';

const postgres = storages.find(({ name }) => name === 'postgres');

describe.skipIf(!postgres?.available)('a database server in New York', () => {
  test('stores the same instant as one in Greenwich', async () => {
    const { storage, close } = await freshStorage('postgres');
    onTestFinished(close);
    if (storage.kind !== 'postgres') throw new Error('asked for PostgreSQL');
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
});
