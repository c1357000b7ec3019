/** Whether the database is unavailable: up, busy, full, stopped, and disconnected. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { createAwayProbe } from '../../src/db/engine/unavailable.ts';
import { forward } from '../support/forward.ts';
import { lacks } from '../support/programs.ts';
import { freePort, type PostgresServer, startPostgres } from '../support/servers.ts';

const silent = pino({ level: 'silent' });
const without = lacks('postgres', 'a database outage');

describe.skipIf(without)('The database', () => {
  let postgres: PostgresServer;
  let database: Database;
  let cut: () => Promise<void>;
  let isAway: () => Promise<boolean>;
  beforeEach(async () => {
    postgres = await startPostgres();
    const way = new URL(postgres.url);
    const port = await freePort();
    cut = await forward(port, Number(way.port));
    way.port = String(port);
    database = await openDatabase({ kind: 'postgres', databaseUrl: way.href }, silent);
    isAway = createAwayProbe(database);
  });
  afterEach(async () => {
    await database.close();
    await cut();
    await postgres.close();
  });

  it('is available while all connections of the process are in use', async () => {
    const taken = await Promise.all(Array.from({ length: 10 }, () => database.pool.connect()));
    expect(await isAway()).toBe(false);
    for (const client of taken) client.release();
  });

  it('is available when it has no connection left', async () => {
    await database.pool.query(`CREATE ROLE small LOGIN CONNECTION LIMIT 0`);
    const small = new URL(postgres.url);
    small.username = 'small';
    const full = await openDatabase({ kind: 'postgres', databaseUrl: small.href }, silent);
    expect(await createAwayProbe(full)()).toBe(false);
    await full.close();
  });

  it('is unavailable while it is stopped or unreachable, and then available again', async () => {
    expect(await isAway()).toBe(false);
    await postgres.stop();
    expect(await isAway()).toBe(true);
    await postgres.restart();
    expect(await isAway()).toBe(false);
    await cut();
    expect(await isAway()).toBe(true);
  });
});

/** One message of the server (PostgreSQL documentation, 54.7). */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}0000`);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

it('a server that stops while it accepts a connection fails the statement, not the process', async () => {
  const fatal = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0';
  const accepted = Buffer.concat([
    message('R', Buffer.alloc(4)), // AuthenticationOk
    message('Z', Buffer.from('I')), // ReadyForQuery
    message('E', Buffer.from(fatal)),
  ]);
  const server = createServer((socket) => socket.once('data', () => socket.end(accepted)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP, so it has one
  const databaseUrl = `postgres://someone@127.0.0.1:${port}/none`;
  const database = await openDatabase({ kind: 'postgres', databaseUrl }, silent);
  await expect(database.pool.query('SELECT 1')).rejects.toThrow();
  const transaction = database.prisma.$transaction((tx) => tx.$queryRaw`SELECT 1`);
  await expect(transaction).rejects.toThrow();
  const client = await database.pool.connect();
  await expect(client.query('SELECT 1')).rejects.toThrow();
  client.release(true);
  await database.close();
  server.close();
});
