/** Limits that change while somebody makes what they count: on servers, where there are several connections. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installation } from '../../src/core/accounts/access.ts';
import type { LimitOverrides } from '../../src/core/accounts/limits.ts';
import { createWithinLimits, type WithinLimits } from '../../src/db/account-limits.ts';
import { createAccountStore } from '../../src/db/accounts.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { openTestDatabase, type TestDatabase } from '../http/support.ts';
import { granted, noLimits } from '../support/access.ts';
import { noon } from '../support/builders.ts';
import { storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const servers = storages.filter(({ name, available }) => name === 'postgres' && available);

describe.each(servers)('limits that are being changed on $name', ({ name }) => {
  let database: TestDatabase;
  let other: pg.PoolClient;
  let withinLimits: WithinLimits;
  beforeAll(async () => {
    database = await openTestDatabase(name);
    other = await database.pool.connect();
    withinLimits = createWithinLimits(database.prisma, noLimits);
  });
  afterAll(async () => {
    other?.release();
    await database?.close();
  });

  let made = 0;
  const makeProject = (account: string) => {
    made += 1;
    const project = { name: 'P', slug: `p-${made}`, plan: 'pro' } as const;
    return withinLimits(account, ['projects'], noon, () =>
      createProjectStore(database.prisma).create(granted.account(account), project),
    );
  };
  const anAccount = async (limits: LimitOverrides) => {
    const { id } = await createAccountStore(database.prisma).create(installation, {
      name: 'Shop',
      limits,
    });
    return id;
  };
  const isWaiting = async (count: number) => {
    const { rows } = await database.pool.query(`SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    return rows.length === count;
  };

  /** Makes so many projects at once while the limits are being changed, and gives what came of each. */
  async function meanwhile(before: LimitOverrides, after: LimitOverrides, count = 1) {
    const account = await anAccount(before);
    await other.query('BEGIN');
    const values = [account, JSON.stringify(after)];
    await other.query('UPDATE account SET limits = $2 WHERE id = $1', values);
    const making = Array.from({ length: count }, () => makeProject(account));
    await until('all wait for the account', () => isWaiting(count));
    await other.query('COMMIT');
    const results = await Promise.all(making);
    return results.map((one) => one.kind).toSorted();
  }

  it.each<[what: string, before: LimitOverrides, after: LimitOverrides, kind: string]>([
    ['lowered ones refuse', { projects: 5 }, { projects: 0 }, 'full'],
    ['raised ones let in', { projects: 0 }, { projects: 1 }, 'made'],
    ['the first ones refuse', {}, { projects: 0 }, 'full'],
    ['ones that are taken away let in', { projects: 0 }, {}, 'made'],
  ])('%s who waited for the change', async (_, before, after, kind) => {
    expect(await meanwhile(before, after)).toEqual([kind]);
  });

  it('the first ones let in so many as they say, of those that came at once', async () => {
    expect(await meanwhile({}, { projects: 2 }, 4)).toEqual(['full', 'full', 'made', 'made']);
  });
});
