import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Role } from '../../src/core/operations/roles.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { readinessAnswer } from '../../src/http/routes/health.ts';
import { decideReadiness, type Readiness, readReadiness } from '../../src/ops/readiness.ts';
import { lacks } from '../support/programs.ts';
import { freshStorage } from '../support/storage.ts';

const well = { database: 'up', migrations: 'up', queue: 'up' } as const;
const cut = { database: 'down', migrations: 'unknown', queue: 'up' } as const;
const old = { ...well, migrations: 'down' } as const;
const noQueue = { ...well, queue: 'down' } as const;

type Case = readonly [
  readonly Role[],
  Parameters<typeof decideReadiness>[1],
  Readiness['status'],
  string,
];
const cases: readonly Case[] = [
  [['api'], well, 'ready', ''],
  [['api'], noQueue, 'degraded', 'queue'],
  [['api'], cut, 'not_ready', 'database,migrations'],
  [['api'], old, 'not_ready', 'migrations'],
  [['worker'], well, 'ready', ''],
  [['worker'], noQueue, 'not_ready', 'queue'],
  [['worker'], cut, 'not_ready', 'database,migrations'],
  [['edge'], noQueue, 'ready', ''],
  [['edge'], cut, 'not_ready', 'database,migrations'],
  [['api', 'worker', 'edge'], noQueue, 'degraded', 'queue'],
  [['api', 'worker', 'edge'], { ...cut, queue: 'down' }, 'not_ready', 'database,migrations,queue'],
];

describe('A process', () => {
  it.each(cases)('as %j with %j is %s', (roles, dependencies, status, missing) => {
    const readiness = decideReadiness(roles, dependencies);
    expect([readiness.status, readiness.missing.join()]).toEqual([status, missing]);
  });

  it('that only serves visitors does not report a queue', () => {
    expect(decideReadiness(['edge'], well).dependencies).toEqual({
      database: 'up',
      migrations: 'up',
    });
  });

  it('that is not ready names everything that is missing', () => {
    expect(readinessAnswer(decideReadiness(['worker'], { ...cut, queue: 'down' }))).toMatchObject({
      status: 503,
      body: {
        code: 'unavailable',
        message:
          'Not ready, missing: database (does not answer), migrations (could not be checked), queue (does not answer).',
      },
    });
  });
});

it.skipIf(lacks('postgres', 'readiness behind a lock'))(
  'reports in time that the migrations table is locked',
  async () => {
    const fresh = await freshStorage('postgres');
    const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    const holder = await database.pool.connect();
    const backend = { probe: async () => true };
    const read = async () =>
      (await readReadiness(['api'], { isStarted: true, database, backend })).dependencies;
    try {
      expect(await read()).toEqual(well);
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE "_prisma_migrations" IN ACCESS EXCLUSIVE MODE');
      expect(await read()).toEqual({ ...well, migrations: 'unknown' });
      await holder.query('ROLLBACK');
      expect(await read()).toEqual(well);
    } finally {
      holder.release();
      await database.close();
      await fresh.close();
    }
  },
);
