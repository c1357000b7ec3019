/** Rate limit tokens of orders that end without a result, are placed late, or change their kind. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { bucketOf, refillMs } from '../../src/core/certificates/budget.ts';
import type { Certificate } from '../../src/core/records.ts';
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { AuthorityBudgets } from '../../src/db/issuance/authority-budget.ts';
import {
  type CertificateStore,
  createCertificateStore,
} from '../../src/db/issuance/certificates.ts';
import { isWait } from '../../src/db/issuance/orders.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openAt, openStoredOrders, type StoredOrders } from './stored-orders.ts';

const first = 'https://first.test/dir';
const second = 'https://second.test/dir';
const budgets: AuthorityBudgets = [
  { directoryUrl: first, budget: 'letsencrypt' },
  { directoryUrl: second, budget: 'letsencrypt' },
];

describe.each(databasesOfRun())('an order on $name', ({ name, available }) => {
  let db: StoredOrders;
  let store: CertificateStore;

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

  async function orderFor(domain: LoadedDomain, at = noon): Promise<Certificate> {
    const order = await openAt(store, domain, at, undefined, first);
    if (order === null) throw new Error('the domain gets no order');
    return order;
  }
  async function anOrder() {
    const domain = await db.verified(`${randomUUID()}.example`);
    return { domain, order: await orderFor(domain) };
  }
  /** The number of missing tokens per limit, of any CA. */
  async function missing(at = noon) {
    const rows = await db.database.prisma.authorityBudget.findMany({ orderBy: { key: 'asc' } });
    const used = rows.flatMap(({ key, fullAt }) => {
      const limit = bucketOf(key)?.limit ?? 'orders';
      const tokens = Math.round(((+fullAt - +at) / refillMs(limit)) * 1_000) / 1_000;
      return tokens > 0 ? [[limit, tokens] as const] : [];
    });
    return Object.fromEntries(used);
  }
  const remove = ({ projectId, hostname }: LoadedDomain) =>
    db.domains.remove(wholeInstallation, { projectId, hostname }, { at: noon });
  async function moveTo(domain: LoadedDomain, authority: string, instead: string, at: Date) {
    const wanted = { id: randomUUID(), sealedKey: new Uint8Array(4), authority, instead };
    const opened = await store.openOrder(domain, wanted, at);
    if (opened === null || isWait(opened)) throw new Error('no order was opened');
    return opened;
  }

  describe.skipIf(!available)('that is ended with its domain', () => {
    const certificates = { registrable_domain: 1, same_names: 1 };
    const orders = { orders: 1, account_share: 1, project_share: 1 };
    it('returns the certificate tokens when it was not placed', async () => {
      const { domain } = await anOrder();
      await remove(domain);
      expect(await missing()).toEqual(orders);
    });
    it('returns them when it was placed', async () => {
      const { domain, order } = await anOrder();
      await store.orderPlaced(order.id, 'https://first.test/order/1');
      await remove(domain);
      expect(await missing()).toEqual(orders);
    });
    it('keeps them when the CA was working on it', async () => {
      const { domain, order } = await anOrder();
      await store.orderPlaced(order.id, 'https://first.test/order/1');
      const setback = { at: noon, since: noon, answered: true, detail: 'slow', retryAfter: null };
      await store.setBack(order.id, setback);
      await remove(domain);
      expect(await missing()).toEqual({ ...orders, ...certificates });
    });
    it('does not block the sixth one of a week', async () => {
      const hostname = `docs.${randomUUID()}.example`;
      for (let nth = 0; nth < 6; nth += 1) {
        const domain = await db.verified(hostname);
        await orderFor(domain);
        await remove(domain);
      }
      expect(await missing()).toMatchObject({ orders: 6 });
    });
  });

  describe.skipIf(!available)('that continues at another CA', () => {
    it('charges its certificates only to that CA', async () => {
      const { domain, order } = await anOrder();
      await moveTo(domain, second, order.id, noon);
      const rows = await db.database.prisma.authorityBudget.findMany();
      const taken = rows.filter(({ fullAt }) => fullAt > noon).map(({ key }) => key);
      expect(taken.filter((key) => key.startsWith('same_names'))).toEqual([
        `same_names ${second} ${domain.hostname}`,
      ]);
    });

    it('is remembered and displaces no refusal', async () => {
      const { domain, order } = await anOrder();
      const refusal = { problem: { type: 'connection', detail: 'no' }, nextAttemptAt: noon };
      await store.refuse(domain, order.id, refusal, noon);
      let last = await orderFor(domain, later(noon, 1));
      for (let nth = 2; nth < 14; nth += 1) {
        await db.database.prisma.authorityBudget.deleteMany();
        last = await moveTo(domain, nth % 2 === 0 ? second : first, last.id, later(noon, nth));
      }
      const work = await store.loadWork(domain.id, noon);
      expect(work).toMatchObject({ refusals: 1, order: { id: last.id } });
      expect(work?.left[0]).toEqual({ authority: second, at: later(noon, 13) });
      expect(work?.left).toHaveLength(10);
    });
  });

  describe.skipIf(!available)('that is placed', () => {
    const placed = ({ id }: Certificate, at: Date, kind: 'opened' | 'plain' = 'opened') =>
      store.beforePlacing(id, kind, at);

    it('within a minute keeps its tokens', async () => {
      const { order } = await anOrder();
      expect(await placed(order, later(noon, MINUTE))).toBeNull();
      expect(await missing()).toMatchObject({ orders: 1, same_names: 1 });
    });

    it("after an outage of a day waits for the account's current limit", async () => {
      const key = `orders ${first}`;
      const morning = later(noon, DAY);
      const domains = [await anOrder(), await anOrder(), await anOrder(), await anOrder()];
      // Two are left of the 300.
      const fullAt = later(morning, 298 * refillMs('orders'));
      await db.database.prisma.authorityBudget.update({ where: { key }, data: { fullAt } });
      const waits = await Promise.all(domains.map(({ order }) => placed(order, morning)));
      const until = later(morning, refillMs('orders'));
      const wait = { limit: 'orders', subject: '', until };
      expect(waits.filter((one) => one !== null)).toEqual([wait, wait]);
      const late = domains.flatMap(({ order }, nth) => (waits[nth] === null ? [] : [order]));
      const next = await Promise.all(late.map((order) => placed(order, until)));
      expect(next.filter((one) => one === null)).toHaveLength(1);
    });

    it('without naming its predecessor is charged once, like any renewal', async () => {
      const { domain, order } = await anOrder();
      const life = { issuedAt: noon, expiresAt: later(noon, 90 * DAY) };
      await store.store(domain, order.id, { chain: 'PEM', issuer: 'CA', ...life }, noon);
      const renewalInfo = { window: { start: later(noon, -HOUR), end: later(noon, HOUR) } };
      await db.database.prisma.certificate.update({
        where: { id: order.id },
        data: { renewalInfo: JSON.parse(JSON.stringify(renewalInfo)) },
      });
      await db.database.prisma.authorityBudget.deleteMany();
      const live = await db.load(domain.id);
      const replacement = await orderFor(live);
      expect([await missing(), replacement.buckets]).toEqual([{}, []]);
      expect(await placed(replacement, noon, 'plain')).toBeNull();
      expect(await placed(replacement, noon, 'plain')).toBeNull();
      expect(await missing()).toEqual({ same_names: 1 });
      const problem = { type: 'connection', detail: 'no' };
      await store.refuse(live, replacement.id, { problem, nextAttemptAt: noon }, noon);
      expect(await missing()).toEqual({ failed_authorizations: 1 });
    });

    it('fails when it has ended', async () => {
      const { domain, order } = await anOrder();
      await remove(domain);
      await expect(placed(order, noon)).rejects.toThrow('has ended');
    });
  });

  it.skipIf(!available)('does not deadlock with one that moves the opposite way', async () => {
    const zone = `${randomUUID()}.example`;
    const there = await Promise.all([0, 1, 2, 3].map((nth) => db.verified(`a${nth}.${zone}`)));
    const back = await Promise.all([0, 1, 2, 3].map((nth) => db.verified(`b${nth}.${zone}`)));
    const moves: [LoadedDomain, string, string][] = [];
    for (const domain of there) moves.push([domain, second, (await orderFor(domain)).id]);
    for (const domain of back) {
      const order = await moveTo(domain, second, (await orderFor(domain)).id, noon);
      moves.push([domain, first, order.id]);
    }
    await Promise.all(moves.map(([domain, to, from]) => moveTo(domain, to, from, noon)));
    expect(await missing()).toMatchObject({ registrable_domain: 4 });
  });
});
