/** Orders that outlive an epoch or that two runs share: no result is lost or counted twice. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { MINUTE } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { later, missing, noon, right } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredOrders, type StoredOrders } from './stored-orders.ts';

const at = later(noon, 30 * MINUTE);
const expiresAt = later(new Date(), 90 * 24 * 60 * MINUTE);
const issued = { chain: 'PEM', issuer: 'Test CA', issuedAt: noon, expiresAt };
const refusal = {
  problem: { type: 'unauthorized', detail: 'no' },
  nextAttemptAt: later(at, MINUTE),
};

describe.each(databasesOfRun())('an order on $name', ({ name, available }) => {
  let db: StoredOrders;

  beforeAll(async () => {
    if (available) db = await openStoredOrders(name);
  });
  afterAll(() => db?.close());

  /** The same domain, verified at `at` in its next epoch; the order is still open. */
  async function nextEpoch(domain: LoadedDomain): Promise<LoadedDomain> {
    await db.check(domain, missing);
    await db.check(await db.load(domain.id), right, at);
    return db.load(domain.id);
  }

  it.skipIf(!available)('reports to each run whether it was the one that ended it', async () => {
    const { domain, order } = await db.anOrder('ended.example.com');
    expect(await db.certificates.store(domain, order.id, issued, at)).toBe(true);
    expect(await db.certificates.store(domain, order.id, issued, at)).toBe(false);
  });

  it.skipIf(!available)(
    'with a certificate of an earlier epoch is usable in the next',
    async () => {
      const { domain, order } = await db.anOrder('earlier.example.com');
      const next = await nextEpoch(domain);
      expect(await db.certificates.store(domain, order.id, issued, at)).toBe(true);
      expect(await db.certificates.store(next, order.id, issued, at)).toBe(false);
      const work = await db.certificates.loadWork(domain.id, at);
      expect(work).toMatchObject({
        domain: { state: { status: 'verified' } },
        usable: { id: order.id },
      });
    },
  );

  it.skipIf(!available)('refused in an earlier epoch plans nothing for that epoch', async () => {
    const { domain, order } = await db.anOrder('plans.example.com');
    const next = await nextEpoch(domain);
    const before = (await db.load(domain.id)).nextCheckAt;
    expect(await db.certificates.refuse(domain, order.id, refusal, at)).toEqual({
      hasEnded: true,
      isPlanned: false,
    });
    expect((await db.load(domain.id)).nextCheckAt).toEqual(before);
    // The current epoch makes its own plan, and one refusal has one event.
    expect(await db.certificates.refuse(next, order.id, refusal, at)).toEqual({
      hasEnded: false,
      isPlanned: true,
    });
    expect((await db.load(domain.id)).nextCheckAt).toEqual(refusal.nextAttemptAt);
    const failures = (await db.events(domain)).filter((type) => type === 'certificate.failed');
    expect(failures).toHaveLength(1);
    expect(await db.certificates.postpone(domain, at)).toBe(false);
    expect(await db.certificates.postpone(next, at)).toBe(true);
  });

  it.skipIf(!available)('refused after the domain was verified again is counted', async () => {
    const { domain, order } = await db.anOrder('counts.example.com');
    const next = await nextEpoch(domain);
    const refusedAt = later(at, MINUTE);
    await db.certificates.refuse(next, order.id, refusal, refusedAt);
    expect(await db.certificates.loadWork(domain.id, refusedAt)).toMatchObject({
      refusals: 1,
      lastProblem: refusal.problem,
      recentRefusals: [{ at: refusedAt }],
    });
  });

  const problemOf = (id: string) =>
    db.database.prisma.certificate.findUniqueOrThrow({ where: { id } });

  it.skipIf(!available)('that ends with its domain has a reason', async () => {
    const { domain, order } = await db.anOrder('removed.example.com');
    await db.domains.remove(
      wholeInstallation,
      { projectId: domain.projectId, hostname: domain.hostname },
      { at },
    );
    expect(await problemOf(order.id)).toMatchObject({
      problem: { type: 'superseded', detail: 'The domain was removed.' },
      endedAt: at,
    });
  });

  it.skipIf(!available)('that ends with the loss of its name has a reason', async () => {
    const { order } = await db.anOrder('taken.example.com');
    const other = await db.pending('taken.example.com');
    expect(await db.check(other, right, at)).toMatchObject({ kind: 'saved' });
    expect(await problemOf(order.id)).toMatchObject({
      problem: { detail: 'Another project holds the name now.' },
      endedAt: at,
    });
  });
});
