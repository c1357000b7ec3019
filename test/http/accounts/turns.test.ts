/** Changes of one account that take long leave the others their connections to the database: on servers, where there are several. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storages } from '../../support/storage.ts';
import { until } from '../../support/world.ts';
import { type Accounts, startAccounts } from './fixture.ts';

const servers = storages.filter(({ name, available }) => name === 'postgres' && available);
/** More than the process has connections. */
const AT_ONCE = 20;

describe.each(servers)('an account that changes much on $name', ({ name }) => {
  let at: Accounts;
  let blocker: pg.Client;
  let observer: pg.Client;
  beforeAll(async () => {
    at = await startAccounts(name);
    const { storage } = at.signpost.parts.config;
    if (storage.kind === 'embedded') throw new Error('asked for PostgreSQL');
    [blocker, observer] = [new pg.Client(storage.databaseUrl), new pg.Client(storage.databaseUrl)];
    await Promise.all([blocker.connect(), observer.connect()]);
  });
  afterAll(async () => {
    await Promise.all([blocker?.end(), observer?.end()]);
    await at?.close();
  });

  it.each([
    ['changes', 'POST', '/signing-secret/rotate'],
    ['reads that the audit log notes', 'GET', '/signing-secret'],
  ])('leaves room beside its %s', async (_, method, below) => {
    const [busy, other] = [await at.account(), await at.account()];
    await blocker.query('BEGIN; LOCK TABLE audit_entry IN ACCESS EXCLUSIVE MODE');
    const line = `${method} /v1/projects/${busy.project}${below}`;
    const held = Array.from({ length: AT_ONCE }, () => at.call(line, { key: busy.key }));
    await until('some wait for the log', async () => {
      const { rows } = await observer.query(`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return rows.length > 1;
    });
    const mine = await at.call('GET /v1/projects', { key: other.key });
    expect(mine).toMatchObject({ status: 200, body: [{ id: other.project }] });
    await blocker.query('COMMIT');
    const answers = await Promise.all(held);
    expect(answers.map(({ status }) => status)).toEqual(Array(AT_ONCE).fill(200));
  });
});
