/** The queries of the operator's first page on a large installation. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { HOUR } from '../../src/core/time.ts';
import { readOperations } from '../../src/db/operations.ts';
import { openTestDatabase, type TestDatabase } from '../http/support.ts';
import { noon } from '../support/builders.ts';

let database: TestDatabase;
const ids = { project: randomUUID(), domain: randomUUID() };

beforeAll(async () => {
  database = await openTestDatabase();
  const { prisma } = database;
  await prisma.project.create({ data: { id: ids.project, name: 'P', slug: 'p' } });
  await prisma.domain.create({
    data: {
      id: ids.domain,
      projectId: ids.project,
      hostname: 'docs.example.com',
      target: 'x.edge.test',
      status: 'pending',
      addedAt: noon,
      pendingSince: noon,
    },
  });
});
afterAll(() => database?.close());
beforeEach(() => database.prisma.event.deleteMany());

/** `count` events spread evenly between these hours before noon, in the order of their times. */
async function events(count: number, fromHours: number, toHours: number): Promise<void> {
  await database.pool.query(
    `INSERT INTO recorded_event (project_id, number, domain_id, type, data, at)
     SELECT $1, (SELECT coalesce(max(number), 0) FROM recorded_event) + n, $2, 'domain.live', '{}',
       $3::timestamptz - make_interval(secs => 3600 * ($4::float8 + ($5::float8 - $4::float8) * n / $6::float8))
     FROM generate_series(1, $6::int) AS n`,
    [ids.project, ids.domain, noon, fromHours, toHours, count],
  );
}

async function counted() {
  const { recent } = await readOperations(database.prisma, wholeInstallation, noon);
  const total = recent.hours.reduce((sum, { count }) => sum + count, 0);
  return { total, hoursBack: (noon.getTime() - recent.since.getTime()) / HOUR };
}

it('counts nothing in an empty installation', async () => {
  expect(await counted()).toEqual({ total: 0, hoursBack: 24 });
});

it.each([1, 999, 1_001, 7_500])('counts %d events of a day and no older ones', async (count) => {
  await events(3_000, 100, 25);
  await events(count, 23, 1);
  expect(await counted()).toEqual({ total: count, hoursBack: 24 });
});

it('counts all events of a young installation', async () => {
  await events(2_500, 20, 1);
  expect(await counted()).toEqual({ total: 2_500, hoursBack: 24 });
});

it('covers a shorter time when there are too many events, and reports since when', async () => {
  // In parts: one statement could hit its timeout on a busy machine.
  for (let hour = 10; hour > 0; hour -= 1) await events(15_000, hour, hour - 1);
  const { total, hoursBack } = await counted();
  expect(total).toBeGreaterThan(100_000);
  expect(total).toBeLessThan(130_000);
  // 15,000 per hour over that time.
  expect(Math.abs(total / 15_000 - hoursBack)).toBeLessThan(0.01);
});

it('includes a domain with unknown DNS, also without known name servers', async () => {
  const { prisma } = database;
  const dnsUnknown = async () => (await readOperations(prisma, wholeInstallation, noon)).dnsUnknown;
  const where = { id: ids.domain };
  const findings = (servers: object[]) => [
    { code: 'dns_unknown', hostname: 'docs.example.com', servers },
  ];
  const silent = [{ server: '127.0.0.53', outcome: 'servfail' }];
  await prisma.domain.update({ where, data: { findings: findings(silent) } });
  expect(await dnsUnknown()).toEqual([{ hostname: 'docs.example.com', servers: [] }]);
  const atParent = ['a.ns.example'];
  const value = { delegation: { atParent } };
  await prisma.storedObservation.create({ data: { domainId: ids.domain, value } });
  expect(await dnsUnknown()).toEqual([{ hostname: 'docs.example.com', servers: atParent }]);
  // Our own target could not be resolved.
  await prisma.domain.update({ where, data: { findings: findings([]) } });
  expect(await dnsUnknown()).toEqual([{ hostname: 'docs.example.com', servers: [] }]);
});
