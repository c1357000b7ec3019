/** A certificate authority's budget among accounts: who waits is served before somebody who has taken much. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refillMs } from '../../src/core/certificates/budget.ts';
import { VERIFY_WINDOW_MS } from '../../src/core/life/ladder.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { dropFullBuckets } from '../../src/db/issuance/authority-budget.ts';
import {
  type CertificateStore,
  createCertificateStore,
} from '../../src/db/issuance/certificates.ts';
import { isWait } from '../../src/db/issuance/orders.ts';
import { granted } from '../support/access.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun, type FreshStorage, freshStorage } from '../support/storage.ts';

const directoryUrl = 'https://first.test/dir';
const REFILL_MS = refillMs('orders');

describe.each(databasesOfRun())('accounts that share a budget on $name', ({ name, available }) => {
  let fresh: FreshStorage;
  let database: Database;
  let store: CertificateStore;

  beforeAll(async () => {
    if (!available) return;
    fresh = await freshStorage(name);
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    const options = { verifyWindowMs: VERIFY_WINDOW_MS };
    const budgets = [{ directoryUrl, budget: 'letsencrypt' }] as const;
    store = createCertificateStore(database.prisma, options, budgets);
  });
  beforeEach(async () => {
    await database?.prisma.authorityBudget.deleteMany();
    await database?.prisma.budgetWaiting.deleteMany();
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.close();
  });

  /** Makes verified domains of an account of their own. */
  async function anAccount() {
    const { prisma } = database;
    const [accountId, projectId] = [randomUUID(), randomUUID()];
    await prisma.account.create({ data: { id: accountId, name: 'A' } });
    await prisma.project.create({ data: { id: projectId, accountId, name: 'P', slug: 'p' } });
    return async (): Promise<LoadedDomain> => {
      const id = randomUUID();
      const names = { hostname: `${id}.example`, target: 't.edge.test' };
      const times = { addedAt: noon, pendingSince: noon, verifiedAt: noon };
      await prisma.domain.create({
        data: { id, projectId, ...names, ...times, status: 'verified' },
      });
      const loaded = await createCheckStore(database).load(id);
      if (loaded === undefined) throw new Error('no such domain');
      return loaded;
    };
  }

  const open = (domain: LoadedDomain, at: Date) =>
    store.openOrder(
      domain,
      { id: randomUUID(), sealedKey: new Uint8Array(4), authority: directoryUrl },
      at,
    );
  /** The limit that keeps it back; null where it has its order. */
  async function waitOf(domain: LoadedDomain, at: Date): Promise<string | null> {
    const opened = await open(domain, at);
    if (opened === null) throw new Error('the domain gets no order');
    return isWait(opened) ? opened.limit : null;
  }
  async function leave(tokens: number): Promise<void> {
    const fullAt = later(noon, (300 - tokens) * REFILL_MS);
    const key = `orders ${directoryUrl}`;
    await database.prisma.authorityBudget.create({ data: { key, fullAt } });
  }

  it.skipIf(!available)('serve the one that waits before the one that took all', async () => {
    const [big, small] = [await anAccount(), await anAccount()];
    const domain = await small();
    await leave(2);
    expect(await waitOf(await big(), noon)).toBeNull();
    expect(await waitOf(await big(), noon)).toBeNull();
    // Its job is told when there is one again, and so that it waits.
    const work = await store.loadWork(domain.id, noon);
    expect(work?.budgetWaits).toEqual([
      { limit: 'orders', subject: '', until: later(noon, REFILL_MS) },
    ]);
    const next = later(noon, REFILL_MS);
    expect(await waitOf(await big(), next)).toBe('account_orders');
    expect(await waitOf(domain, next)).toBeNull();
    // Nobody waits any more.
    expect(await waitOf(await big(), later(noon, 2 * REFILL_MS))).toBeNull();
  });

  it.skipIf(!available)('leave three quarters to the others, who came at once', async () => {
    const [big, small] = [await anAccount(), await anAccount()];
    await leave(0);
    const domain = await small();
    await store.loadWork(domain.id, noon);
    await database.prisma.authorityBudget.deleteMany();
    await leave(16);
    const many = await Promise.all(Array.from({ length: 8 }, big));
    const waits = await Promise.all(many.map((each) => waitOf(each, noon)));
    expect(waits.filter((wait) => wait === null)).toHaveLength(4);
    expect(new Set(waits)).toEqual(new Set([null, 'account_orders']));
  });

  it.skipIf(!available)('wait for nobody whose domain was removed', async () => {
    const [big, small] = [await anAccount(), await anAccount()];
    const [one, other] = [await small(), await small()];
    await leave(2);
    for (const domain of [await big(), await big()]) expect(await waitOf(domain, noon)).toBeNull();
    for (const { id } of [one, other]) await store.loadWork(id, noon);
    const domains = createDomainStore(database.prisma);
    const remove = ({ projectId, hostname }: LoadedDomain) =>
      domains.remove(granted.project(projectId), hostname, noon);
    const next = later(noon, REFILL_MS);
    await remove(one);
    expect(await waitOf(await big(), next)).toBe('account_orders');
    await remove(other);
    expect(await waitOf(await big(), next)).toBeNull();
  });

  it.skipIf(!available)('wait for nobody whose other domains have what they need', async () => {
    const [small, third] = [await anAccount(), await anAccount()];
    const [ordered, served] = [await small(), await small()];
    expect(await waitOf(ordered, noon)).toBeNull();
    const renewAt = later(noon, 60 * 24 * 3_600_000);
    await database.prisma.domain.update({
      where: { id: served.id },
      data: { status: 'live', renewAt },
    });
    await database.prisma.authorityBudget.deleteMany();
    await leave(0);
    const [gone, kept] = [await small(), await third()];
    for (const { id } of [gone, kept]) await store.loadWork(id, noon);
    await createDomainStore(database.prisma).remove(
      granted.project(gone.projectId),
      gone.hostname,
      noon,
    );
    const { accountId } = await database.prisma.project.findUniqueOrThrow({
      where: { id: kept.projectId },
    });
    const waiting = await database.prisma.budgetWaiting.findMany();
    expect(waiting.map(({ subject }) => subject)).toEqual([accountId]);
  });

  it.skipIf(!available)('wait for nobody whose turn has passed', async () => {
    const [big, small] = [await anAccount(), await anAccount()];
    await leave(0);
    const domain = await small();
    await store.loadWork(domain.id, noon);
    const passed = later(noon, 10 * REFILL_MS);
    for (let taken = 0; taken < 10; taken += 1) {
      expect(await waitOf(await big(), passed)).toBeNull();
    }
    await dropFullBuckets(database.prisma, passed);
    expect(await database.prisma.budgetWaiting.count()).toBe(0);
  });
});
