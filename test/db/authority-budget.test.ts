/** Rate limit tokens are taken together with their order, and never more than exist. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { type AuthorityLimit, refillMs } from '../../src/core/certificates/budget.ts';
import type { Certificate } from '../../src/core/records.ts';
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { type AuthorityBudgets, dropFullBuckets } from '../../src/db/issuance/authority-budget.ts';
import {
  type CertificateStore,
  createCertificateStore,
} from '../../src/db/issuance/certificates.ts';
import { isWait } from '../../src/db/issuance/orders.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openAt, openStoredOrders, type StoredOrders } from './stored-orders.ts';

const issued = { chain: 'PEM', issuer: 'CA', issuedAt: noon, expiresAt: later(noon, 90 * DAY) };
const first = 'https://first.test/dir';
const second = 'https://second.test/dir';
const ofOne = {
  orders: 1,
  account_share: 1,
  project_share: 1,
  registrable_domain: 1,
  same_names: 1,
};
const budgets: AuthorityBudgets = [
  { directoryUrl: first, budget: 'letsencrypt' },
  { directoryUrl: second, budget: 'letsencrypt' },
];

describe.each(databasesOfRun())('the budget on $name', ({ name, available }) => {
  let db: StoredOrders;
  let store: CertificateStore;
  let names = 0;

  beforeAll(async () => {
    if (!available) return;
    db = await openStoredOrders(name);
    const options = { timeScale: 1 };
    store = createCertificateStore(db.database.prisma, options, budgets);
  });
  beforeEach(async () => {
    await db?.database.prisma.authorityBudget.deleteMany();
  });
  afterAll(() => db?.close());

  const aZone = () => {
    names += 1;
    return `zone-${names}.example`;
  };
  async function orderFor(domain: LoadedDomain, at = noon): Promise<Certificate> {
    const order = await openAt(store, domain, at, undefined, first);
    if (order === null) throw new Error('the domain gets no order');
    return order;
  }
  async function ask(domain: LoadedDomain, at = noon, authority = first) {
    const opened = await store.openOrder(
      domain,
      { id: randomUUID(), sealedKey: new Uint8Array(4), authority },
      at,
    );
    return opened !== null && isWait(opened) ? opened : null;
  }
  const refuse = (domain: LoadedDomain, { id }: Certificate, at: Date, type = 'connection') =>
    store.refuse(domain, id, { problem: { type, detail: 'no' }, nextAttemptAt: at }, at);

  /** The number of missing tokens per limit, without full ones. */
  async function missing(at = noon): Promise<Partial<Record<AuthorityLimit, number>>> {
    const rows = await db.database.prisma.authorityBudget.findMany({ orderBy: { key: 'asc' } });
    const used = rows.flatMap(({ key, fullAt }) => {
      const limit = key.split(' ')[0] as AuthorityLimit; // the keys that bucketsOf makes
      const tokens = (fullAt.getTime() - at.getTime()) / refillMs(limit);
      return tokens > 0 ? [[limit, tokens] as const] : [];
    });
    return Object.fromEntries(used);
  }

  it.skipIf(!available)('admits exactly as many orders as it has tokens', async () => {
    const zone = aZone();
    const key = `registrable_domain ${first} ${zone}`;
    const fullAt = later(noon, 47 * refillMs('registrable_domain'));
    await db.database.prisma.authorityBudget.create({ data: { key, fullAt } });
    const domains: LoadedDomain[] = [];
    for (let nth = 0; nth < 10; nth += 1) domains.push(await db.verified(`d${nth}.${zone}`));
    const waits = await Promise.all(domains.map((domain) => ask(domain)));
    const until = later(noon, refillMs('registrable_domain'));
    const wait = { limit: 'registrable_domain', subject: zone, until };
    expect(waits.filter((one) => one !== null)).toEqual(Array.from({ length: 7 }, () => wait));
    const open = { hostname: { endsWith: `.${zone}` }, status: 'ordering' } as const;
    expect(await db.database.prisma.certificate.count({ where: open })).toBe(3);
    // Refused orders have taken no token of the account either.
    expect(await missing()).toEqual({
      orders: 3,
      account_share: 3,
      project_share: 1,
      registrable_domain: 50,
      same_names: 1,
    });
    // A moment before the refill there is no token; then there is one, for one order.
    const left = domains.filter((_domain, nth) => waits[nth] !== null).slice(0, 2);
    for (const domain of left) expect(await ask(domain, later(until, -1))).not.toBeNull();
    const last = await Promise.all(left.map((domain) => ask(domain, until)));
    expect(last.filter((one) => one === null)).toHaveLength(1);
  });

  it.skipIf(!available)('charges an order once, even when it is resumed', async () => {
    const domain = await db.verified(`docs.${aZone()}`);
    const order = await orderFor(domain);
    const again = await Promise.all([orderFor(domain), orderFor(domain)]);
    expect(again.map(({ id }) => id)).toEqual([order.id, order.id]);
    expect(await missing()).toEqual(ofOne);
  });

  it.skipIf(!available)('returns the tokens of an order that was not opened', async () => {
    const { id } = await orderFor(await db.verified(`one.${aZone()}`));
    await db.database.prisma.authorityBudget.deleteMany();
    const domain = await db.verified(`two.${aZone()}`);
    // The ID of its key exists already: the transaction is rolled back, as after a crash.
    const order = { id, sealedKey: new Uint8Array(4) };
    await expect(store.openOrder(domain, order, noon)).rejects.toThrow();
    expect(await missing()).toEqual({});
  });

  it.skipIf(!available)('returns only the certificate tokens of a refused order', async () => {
    const domain = await db.verified(`docs.${aZone()}`);
    const order = await orderFor(domain);
    await Promise.all([refuse(domain, order, noon), refuse(domain, order, noon)]);
    expect(await missing()).toEqual({
      orders: 1,
      account_share: 1,
      project_share: 1,
      failed_authorizations: 1,
    });
  });

  it.skipIf(!available)('keeps the tokens of an order that the CA has lost', async () => {
    const domain = await db.verified(`docs.${aZone()}`);
    await refuse(domain, await orderFor(domain), noon, 'order_lost');
    expect(await missing()).toEqual({ ...ofOne, failed_authorizations: 1 });
  });

  it.skipIf(!available)('allows five refusals per hour, even with verify', async () => {
    let domain = await db.verified(`docs.${aZone()}`);
    const { projectId, hostname, id } = domain;
    for (let nth = 0; nth < 5; nth += 1) {
      await refuse(domain, await orderFor(domain), noon);
      await db.domains.requestVerify(wholeInstallation, projectId, hostname, noon);
      domain = await db.load(id);
    }
    const until = later(noon, 12 * MINUTE);
    const wait = { limit: 'failed_authorizations', subject: hostname, until } as const;
    expect(await ask(domain)).toEqual(wait);
    expect((await store.loadWork(id, noon))?.budgetWaits).toEqual([wait, null]);
    expect(await ask(domain, until)).toBeNull();
  });

  it.skipIf(!available)('is separate per CA', async () => {
    const domain = await db.verified(`docs.${aZone()}`);
    for (let nth = 0; nth < 5; nth += 1) await refuse(domain, await orderFor(domain), noon);
    expect(await ask(domain, noon, first)).not.toBeNull();
    expect(await ask(domain, noon, second)).toBeNull();
    const order = await db.database.prisma.certificate.findFirst({
      where: { domainId: domain.id, status: 'ordering' },
    });
    expect(order?.authority).toBe(second);
    expect(order?.buckets).toContain(`orders ${second}`);
  });

  describe.skipIf(!available)('of a renewal', () => {
    async function renewing(renewalInfo?: { readonly window: { start: Date; end: Date } }) {
      const domain = await db.verified(`docs.${aZone()}`);
      const { id } = await orderFor(domain);
      await store.store(domain, id, issued, noon);
      const data = { renewalInfo: JSON.parse(JSON.stringify(renewalInfo ?? null)) };
      if (renewalInfo) await db.database.prisma.certificate.update({ where: { id }, data });
      await db.database.prisma.authorityBudget.deleteMany();
      return db.load(domain.id);
    }

    it('is only the limit per name', async () => {
      await orderFor(await renewing());
      expect(await missing()).toEqual({ same_names: 1 });
    });

    it("is not charged inside the CA's renewal window", async () => {
      const window = { start: later(noon, -HOUR), end: later(noon, HOUR) };
      const order = await orderFor(await renewing({ window }));
      expect([await missing(), order.buckets]).toEqual([{}, []]);
    });

    it('is charged in full at another CA, where the name is new', async () => {
      const domain = await renewing();
      expect(await ask(domain, noon, second)).toBeNull();
      expect(await missing()).toEqual(ofOne);
    });
  });

  it.skipIf(!available)('separates concurrent orders and refusals', async () => {
    const zone = aZone();
    const domains: LoadedDomain[] = [];
    for (let nth = 0; nth < 10; nth += 1) domains.push(await db.verified(`d${nth}.${zone}`));
    const half = domains.slice(0, 5);
    const orders = await Promise.all(half.map((domain) => orderFor(domain)));
    await Promise.all([
      ...half.map((domain, nth) => refuse(domain, orders[nth] as Certificate, noon)), // one for each
      ...domains.slice(5).map((domain) => ask(domain)),
    ]);
    expect(await missing()).toMatchObject({ orders: 10, registrable_domain: 5 });
  });

  it.skipIf(!available)('deletes buckets that are full again', async () => {
    const { prisma } = db.database;
    await orderFor(await db.verified(`docs.${aZone()}`));
    await dropFullBuckets(prisma, later(noon, HOUR));
    const limits = (await prisma.authorityBudget.findMany()).map(({ key }) => key.split(' ')[0]);
    expect(limits.sort()).toEqual(['registrable_domain', 'same_names']);
    // Opening an order sweeps full buckets; only those of the next order remain.
    const next = await orderFor(await db.verified(`docs.${aZone()}`), later(noon, 7 * DAY));
    const left = (await prisma.authorityBudget.findMany()).map(({ key }) => key);
    expect(left.sort()).toEqual([...next.buckets].sort());
  });
});
