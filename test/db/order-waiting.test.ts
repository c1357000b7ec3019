/** While others wait for a CA's limits, an account's orders get its share, on a real database. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { refillMs } from '../../src/core/certificates/budget.ts';
import { HOUR, MINUTE } from '../../src/core/time.ts';
import { type AccountStore, createAccountStore } from '../../src/db/accounts.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import {
  type CertificateStore,
  createCertificateStore,
} from '../../src/db/issuance/certificates.ts';
import { isWait } from '../../src/db/issuance/orders.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredOrders, type StoredOrders } from './stored-orders.ts';

const first = 'https://first.test/dir';
const second = 'https://second.test/dir';

describe.each(databasesOfRun())('orders of several accounts on $name', ({ name, available }) => {
  let db: StoredOrders;
  let store: CertificateStore;
  let accounts: AccountStore;
  let accountId: string;

  beforeAll(async () => {
    if (!available) return;
    db = await openStoredOrders(name);
    const { prisma } = db.database;
    accounts = createAccountStore(prisma);
    ({ id: accountId } = await accounts.create(wholeInstallation, { name: 'Busy' }, noon));
    store = createCertificateStore(prisma, { timeScale: 1 }, [
      { directoryUrl: first, budget: 'letsencrypt' },
      { directoryUrl: second, budget: 'letsencrypt' },
    ]);
  });
  beforeEach(async () => {
    await db?.database.prisma.orderWaiting.deleteMany();
    await db?.database.prisma.authorityBudget.deleteMany();
  });
  afterAll(() => db?.close());

  const aDomain = (ownerId?: string) => db.verified(`docs.${randomUUID()}.example`, ownerId);

  async function ask(domain: LoadedDomain, at = noon, authority = first) {
    const order = { id: randomUUID(), sealedKey: new Uint8Array(4), authority };
    const opened = await store.openOrder(domain, order, at);
    return opened !== null && isWait(opened) ? opened : null;
  }

  /** This account took as many orders as a share has, and so many are left for all. */
  async function taken(left: number, ...more: readonly (readonly [string, number])[]) {
    const full = (count: number) => later(noon, count * refillMs('account_share'));
    await db.database.prisma.authorityBudget.createMany({
      data: [
        { key: `orders ${first}`, fullAt: later(noon, (300 - left) * refillMs('orders')) },
        { key: `account_share ${first} ${accountId}`, fullAt: full(75) },
        ...more.map(([key, count]) => ({ key, fullAt: full(count) })),
      ],
    });
  }

  it.skipIf(!available)('an account takes everything while no other waits', async () => {
    const domain = await aDomain(accountId);
    await taken(1);
    expect(await ask(domain)).toBeNull();
  });

  it.skipIf(!available)('an account waits while another one does, but no longer', async () => {
    const [domain, other] = [await aDomain(accountId), await aDomain()];
    await taken(100);
    const until = later(noon, MINUTE);
    await store.noteWaiting(other, first, until);
    const wait = { limit: 'account_share', subject: accountId, until };
    expect(await ask(domain)).toEqual(wait);
    expect((await store.loadWork(domain.id, noon))?.budgetWaits).toEqual([wait, null]);
    expect(await ask(other)).toBeNull();
    expect(await ask(domain, noon, second)).toBeNull();
    expect(await ask(await aDomain(accountId), until)).toBeNull();
  });

  it.skipIf(!available)('an account does not wait for its own projects', async () => {
    const [domain, own] = [await aDomain(accountId), await aDomain(accountId)];
    await taken(100);
    await store.noteWaiting(own, first, later(noon, MINUTE));
    expect(await ask(domain)).toBeNull();
  });

  it.skipIf(!available)('a project waits for another one of its account', async () => {
    const [domain, other] = [await aDomain(accountId), await aDomain(accountId)];
    await taken(100, [`project_share ${first} ${domain.projectId}`, 40]);
    const until = later(noon, MINUTE);
    await store.noteWaiting(other, first, until);
    expect(await ask(domain)).toEqual({
      limit: 'project_share',
      subject: domain.projectId,
      until,
    });
  });

  it.skipIf(!available)('a project does not wait for one of another account', async () => {
    const [domain, other] = [await aDomain(), await aDomain(accountId)];
    await taken(1, [`project_share ${first} ${domain.projectId}`, 40]);
    await store.noteWaiting(other, first, later(noon, MINUTE));
    expect(await ask(domain)).toBeNull();
  });

  it.skipIf(!available)('an account does not wait for one that took more', async () => {
    const [domain, other] = [await aDomain(accountId), await aDomain()];
    await store.noteWaiting(other, first, later(noon, MINUTE));
    const { accountId: otherId } = await db.database.prisma.project.findUniqueOrThrow({
      where: { id: other.projectId },
    });
    await taken(1, [`account_share ${first} ${otherId}`, 75.5]);
    expect(await ask(domain)).toBeNull();
  });

  it.skipIf(!available)('the later of two times counts, also of concurrent calls', async () => {
    const domain = await aDomain();
    const times = [3, 1, 5, 2, 4].map((minutes) => later(noon, minutes * MINUTE));
    await Promise.all(times.map((until) => store.noteWaiting(domain, first, until)));
    const rows = await db.database.prisma.orderWaiting.findMany();
    expect(rows).toMatchObject([{ until: later(noon, 5 * MINUTE) }]);
  });

  it.skipIf(!available)('a deleted project does not wait', async () => {
    const domain = { ...(await aDomain()), projectId: randomUUID() };
    await store.noteWaiting(domain, first, later(noon, MINUTE));
    expect(await db.database.prisma.orderWaiting.count()).toBe(0);
  });

  it.skipIf(!available)('opening an order forgets those that wait no longer', async () => {
    await store.noteWaiting(await aDomain(), first, later(noon, MINUTE));
    await store.noteWaiting(await aDomain(), first, later(noon, 2 * HOUR));
    expect(await ask(await aDomain(), later(noon, HOUR))).toBeNull();
    expect(await db.database.prisma.orderWaiting.count()).toBe(1);
  });
});
