import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { lease, MINUTE, openDueDomains, type StoredDueDomains } from './due-domains.ts';

const ago = (minutes: number) => later(noon, -minutes * MINUTE);

const available = databasesOfRun().filter(({ available }) => available);

describe.each(available)('a sweep on $name', ({ name }) => {
  let db: StoredDueDomains;

  beforeAll(async () => {
    db = await openDueDomains(name);
  });
  beforeEach(() => db.removeAll());
  afterAll(() => db.close());

  const rechecks = (now: Date, limit?: number) => db.takeFrom(db.sweeps.rechecks, now, limit);
  const renewals = (now: Date, limit?: number) => db.takeFrom(db.sweeps.renewals, now, limit);

  it('takes each due domain once, the longest overdue first, until its lease ends', async () => {
    const ids: string[] = [];
    for (const [status, minutes] of [
      ['live', 1],
      ['drifted', 3],
      ['failed', 2],
    ] as const) {
      ids.push(await db.domainWith({ status, recheckAt: ago(minutes) }));
    }
    const [live, drifted, failed] = ids;
    expect((await rechecks(noon, 2)).toSorted()).toEqual([drifted, failed].toSorted());
    expect(await rechecks(noon)).toEqual([live]);
    expect(await rechecks(noon)).toEqual([]);
    expect((await rechecks(lease)).toSorted()).toEqual(ids.toSorted());
  });

  it('shares due domains with concurrent sweeps', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      ids.push(await db.domainWith({ status: 'live', recheckAt: ago(60 + index) }));
    }
    const taken = await Promise.all([1, 2, 3].map(() => rechecks(ago(30), 12)));
    expect(taken.flat().toSorted()).toEqual(ids.toSorted());
  });

  it('skips domains that are not due or not to be checked', async () => {
    await db.domainWith({ status: 'live', recheckAt: later(noon, 1) });
    await db.domainWith({ status: 'live', recheckAt: null });
    await db.domainWith({ status: 'live', recheckAt: ago(1), removedAt: noon });
    await db.domainWith({ status: 'pending', recheckAt: ago(1) });
    expect(await rechecks(noon)).toEqual([]);
  });

  it('takes a served domain at once after verify', async () => {
    const { prisma } = db;
    for (const status of ['live', 'drifted'] as const) {
      const id = await db.domainWith({ status, recheckAt: later(noon, 50 * MINUTE) });
      const { projectId, hostname } = await prisma.domain.findUniqueOrThrow({ where: { id } });
      const domains = createDomainStore(prisma);
      const answer = await domains.requestVerify(wholeInstallation, projectId, hostname, noon);
      expect(answer).toMatchObject({ domain: { status, epoch: 1 }, ended: null });
      expect(await rechecks(noon)).toEqual([id]);
    }
  });

  it('takes live domains for renewal, and drifted ones when they are repaired', async () => {
    const live = await db.domainWith({ status: 'live', renewAt: ago(1) });
    const drifted = await db.domainWith({ status: 'drifted', renewAt: ago(2) });
    await db.domainWith({ status: 'live', renewAt: later(noon, 1) });
    await db.domainWith({ status: 'failed', renewAt: ago(1) });
    expect(await renewals(noon)).toEqual([live]);
    expect(await renewals(noon)).toEqual([]);
    const prisma = db.prisma;
    await prisma.domain.update({ where: { id: drifted }, data: { status: 'live' } });
    expect(await renewals(noon)).toEqual([drifted]);
  });
});
