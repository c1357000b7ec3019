/** A database of an older version: the migration alone sets times, numbers and escalations. */

import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/records.ts';
import { DAY, HOUR } from '../../src/core/time.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { migrate } from '../../src/db/engine/migrate.ts';
import { migrateBefore } from '../support/older-schema.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const [project, neighbor] = [id(1), id(2)];
const domains = {
  pending: id(11),
  verified: id(12),
  live: id(13),
  drifted: id(14),
  failed: id(15),
} as const;
const certificateEndsAt = new Date('2031-03-01T00:00:00.000Z');

/** As version 0 left it: two projects, a domain in each state, and their events. */
const before = `
  INSERT INTO project (id, name, slug, plan) VALUES
    ('${project}', 'Shop', 'shop', 'pro'), ('${neighbor}', 'Next', 'next', 'pro');
  INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, last_checked_at,
    next_check_at, verified_at, escalate_at, observation) VALUES
    ('${domains.pending}', '${project}', 'a.test', 't', 'pending', now(), now(), now(), '2031-01-01Z', NULL, NULL, '{"nth": 1}'),
    ('${domains.verified}', '${project}', 'b.test', 't', 'verified', now(), now(), now(), '2031-01-02Z', now(), NULL, '{"nth": 2}'),
    ('${domains.live}', '${project}', 'c.test', 't', 'live', now(), now(), now(), NULL, now(), NULL, '{"nth": 3}'),
    ('${domains.drifted}', '${neighbor}', 'd.test', 't', 'drifted', now(), now(), now(), NULL, now(), NULL, NULL),
    ('${domains.failed}', '${neighbor}', 'e.test', 't', 'failed', now(), now(), '2026-01-01Z', NULL, NULL, NULL, '{"nth": 5}');
  INSERT INTO escalation (id, domain_id, cause, evidence, next_action, opened_at)
    VALUES ('${id(21)}', '${domains.verified}', 'challenge_unreachable', '{}', 'wait', now());
  INSERT INTO certificate (id, domain_id, hostname, status, sealed_key, issued_at, expires_at) VALUES
    ('${id(31)}', '${domains.live}', 'c.test', 'issued', '\\x00', '2030-01-01Z', '2030-04-01Z'),
    ('${id(32)}', '${domains.live}', 'c.test', 'issued', '\\x00', '2030-12-01Z', '${certificateEndsAt.toISOString()}'),
    ('${id(33)}', '${domains.live}', 'c.test', 'failed', '\\x00', NULL, NULL),
    ('${id(34)}', '${domains.verified}', 'b.test', 'ordering', '\\x00', NULL, NULL);
  INSERT INTO event (domain_id, type, data, at) VALUES
    ('${domains.pending}', 'domain.added', '{}', now()),
    ('${domains.drifted}', 'domain.added', '{}', now()),
    ('${domains.live}', 'domain.added', '{}', now()),
    ('${domains.live}', 'domain.live', '{}', now()),
    ('${domains.failed}', 'domain.failed', '{}', now());`;

const servers = databases.filter(({ available }) => available);

describe.each(servers)('an old $name database', ({ name }) => {
  let fresh: FreshStorage;
  let database: Database;

  beforeAll(async () => {
    fresh = await freshStorage(name, { empty: true });
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    await migrateBefore(database, '20261122000000_whole_life');
    await database.pool.query(before);
    await migrate(database.pool);
  });
  afterAll(async () => {
    await database.close();
    await fresh.close();
  });

  const domain = (domainId: string) =>
    database.prisma.domain.findUniqueOrThrow({
      where: { id: domainId },
      include: { observation: true },
    });
  const within = (from: number, to: number) => ({
    asymmetricMatch: (time: unknown) =>
      time instanceof Date &&
      time.getTime() - Date.now() >= from - HOUR / 2 &&
      time.getTime() - Date.now() <= to,
  });
  async function numbers(projectId: string): Promise<(readonly [number, string])[]> {
    const rows = await database.prisma.event.findMany({
      where: { projectId },
      orderBy: { number: 'asc' },
    });
    return rows.map(({ number, type }) => [Number(number), type] as const);
  }

  it('keeps waiting domains waiting and keeps their observations', async () => {
    const nothing = { recheckAt: null, renewAt: null, certificateEndsAt: null, leases: 0 };
    expect(await domain(domains.pending)).toMatchObject({
      ...nothing,
      nextCheckAt: new Date('2031-01-01T00:00:00.000Z'),
      escalateAt: null,
      observation: { value: { nth: 1 } },
    });
    // Its escalation was never checked again: now it is.
    expect(await domain(domains.verified)).toMatchObject({
      ...nothing,
      nextCheckAt: new Date('2031-01-02T00:00:00.000Z'),
      escalateAt: within(0, 0),
      observation: { value: { nth: 2 } },
    });
  });

  it('has its settled domains checked within the hour and its certificates renewed', async () => {
    expect(await domain(domains.live)).toMatchObject({
      recheckAt: within(0, HOUR),
      certificateEndsAt,
      renewAt: new Date(certificateEndsAt.getTime() - 30 * DAY),
      // A fifth of its 90 days before expiry.
      escalateAt: new Date(certificateEndsAt.getTime() - 18 * DAY),
      renewalInfoAt: within(0, 6 * HOUR),
      leases: 0,
    });
    expect(await domain(domains.drifted)).toMatchObject({
      recheckAt: within(0, HOUR),
      driftedAt: within(0, 0),
      renewAt: null,
      renewalInfoAt: null,
      observation: null,
    });
    expect(await domain(domains.failed)).toMatchObject({
      recheckAt: within(0, HOUR),
      failedAt: new Date('2026-01-01T00:00:00.000Z'),
    });
  });

  it('has its events numbered per project, and new ones after them', async () => {
    const recorded = [
      [1, 'domain.added'],
      [2, 'domain.added'],
      [3, 'domain.live'],
    ] as const;
    expect(await numbers(project)).toEqual(recorded);
    expect(await numbers(neighbor)).toEqual([
      [1, 'domain.added'],
      [2, 'domain.failed'],
    ]);
    const next = [domains.failed, domains.live].map((domain_id) => ({
      domain_id,
      type: 'domain.removed',
      data: {},
      at: new Date().toISOString(),
    }));
    await database.pool.query('SELECT record_events($1::jsonb)', [JSON.stringify(next)]);
    expect(await numbers(project)).toEqual([...recorded, [4, 'domain.removed']]);
    expect((await numbers(neighbor)).at(-1)).toEqual([3, 'domain.removed']);
  });

  it('has its projects in the default account', async () => {
    const projects = await database.prisma.project.findMany({ include: { account: true } });
    expect(projects).toHaveLength(2);
    for (const { account } of projects) {
      expect(account).toMatchObject({ id: DEFAULT_ACCOUNT_ID, name: 'Default', closedAt: null });
    }
  });

  it('has the end of each order recorded', async () => {
    const rows = await database.prisma.certificate.findMany({ orderBy: { id: 'asc' } });
    expect(rows.map(({ endedAt }) => endedAt !== null)).toEqual([true, true, true, false]);
  });
});
