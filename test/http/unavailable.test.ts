import { createServer, type Server } from 'node:net';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { joinTransactions } from '../../src/db/engine/transaction.ts';
import { isUnavailable } from '../../src/db/engine/unavailable.ts';
import { PrismaClient } from '../../src/db/generated/client.ts';
import { createPetStore } from '../../src/db/pets.ts';
import { petRoutes } from '../../src/http/routes/pets.ts';
import { plainService } from '../support/plain-service.ts';
import { callApi, composeApi, errorBody } from './support.ts';

/** A broken database server: runs `onConnection` for each connection. */
async function badServer(onConnection: Parameters<typeof createServer>[1]): Promise<number> {
  const server: Server = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function apiOver(pool: pg.Pool) {
  pool.on('error', () => {});
  const prisma = joinTransactions(new PrismaClient({ adapter: new PrismaPg(pool) }));
  onTestFinished(() => prisma.$disconnect());
  const service = plainService({
    accounts: {},
    audit: {},
    database: { prisma, pool },
    pets: createPetStore({ prisma, pool }),
    now: () => new Date(),
  });
  return composeApi(service, petRoutes(service), {
    authenticate: async () => ({
      kind: 'ok',
      key: { id: 'k', sessionId: null, scopes: ['admin'], access: wholeInstallation },
    }),
    usage: { used: () => {}, deprecated: () => {} },
  });
}

describe('An unreachable database', () => {
  const lines = ['GET /v1/pets', 'POST /v1/pets', 'GET /v1/pets/1'];
  async function expectUnavailable(port: number) {
    const connectionString = `postgres://postgres@127.0.0.1:${port}/x`;
    const api = apiOver(new pg.Pool({ connectionString, connectionTimeoutMillis: 200, max: 1 }));
    for (const line of lines) {
      const json = line.startsWith('POST') ? { name: 'a', categoryId: 1 } : undefined;
      const answer = await callApi(api, line, { key: 'a key of sixteen', json });
      expect(answer.body, line).toEqual(errorBody(503, 'unavailable'));
      expect(answer.headers['retry-after']).toBe('5');
    }
  }

  test('answers 503 when no server listens', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    await expectUnavailable(typeof address === 'object' && address !== null ? address.port : 0);
  });

  test('answers 503 when the server closes every connection', async () => {
    await expectUnavailable(await badServer((socket) => void socket.destroy()));
  });

  test('answers 503 after a bounded wait when the server never responds', async () => {
    await expectUnavailable(await badServer((socket) => void socket.on('error', () => {})));
  });

  test('answers 503 when every pooled connection is taken', async () => {
    // Replies to the session start only: AuthenticationOk, ReadyForQuery.
    const ready = Buffer.from('520000000800000000' + '5a0000000549', 'hex');
    const port = await badServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.write(ready));
    });
    const connectionString = `postgres://postgres@127.0.0.1:${port}/x`;
    const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 3_000, max: 1 });
    const taken = await pool.connect();
    onTestFinished(() => taken.release(true));
    const answer = await callApi(apiOver(pool), 'GET /v1/pets', { key: 'a key of sixteen' });
    expect(answer.body).toEqual(errorBody(503, 'unavailable'));
  });
});

describe('isUnavailable', () => {
  const raw = (cause: object) => ({ code: 'P2010', meta: { driverAdapterError: { cause } } });
  const rows: readonly [what: string, fault: unknown, unavailable: boolean][] = [
    ['Prisma cannot reach it', { code: 'P1001' }, true],
    ['Prisma lost the connection', { code: 'P1017' }, true],
    ['the pool timed out', { code: 'P2024' }, true],
    [
      'a raw query met an administrator’s shutdown',
      raw({ kind: 'postgres', originalCode: '57P01' }),
      true,
    ],
    ['there is no room on its disk', raw({ kind: 'postgres', originalCode: '53100' }), true],
    ['a raw query could not connect', raw({ kind: 'DatabaseNotReachable' }), true],
    ['one of several addresses refused', new AggregateError([{ code: 'ECONNREFUSED' }]), true],
    [
      'the unavailability is the cause of the fault',
      new Error('x', { cause: { code: 'ECONNRESET' } }),
      true,
    ],
    ['a constraint was broken', { code: 'P2002', meta: { target: 'slug' } }, false],
    ['a table is missing', raw({ kind: 'TableDoesNotExist', originalCode: '42P01' }), false],
    ['a plain fault', new Error('ECONNREFUSED'), false],
    ['nothing was thrown', undefined, false],
    ['a text was thrown', 'P1001', false],
  ];
  test.each(rows)('is right when %s', (_what, fault, unavailable) => {
    expect(isUnavailable(fault)).toBe(unavailable);
  });

  test('ends for a fault that is its own cause', () => {
    const fault = new Error('x');
    fault.cause = fault;
    expect(isUnavailable(fault)).toBe(false);
  });
});
