import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AddressShown, ServedCheck } from '../../src/core/certificates/served.ts';
import { MINUTE } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createServedCertificateStore, shownIn } from '../../src/db/domains/served-certificates.ts';
import type { Prisma } from '../../src/db/generated/client.ts';
import { later, noon } from '../support/builders.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const one: AddressShown = {
  address: '192.0.2.1',
  outcome: 'ours',
  issuer: 'CA',
  names: ['a.test'],
};
const ours: ServedCheck = { checkedAt: noon, addresses: [one] };
const silent: ServedCheck = {
  checkedAt: noon,
  addresses: [one, { address: '2001:db8::1', outcome: 'timeout', issuer: null, names: [] }],
};

describe('a served-certificate check', () => {
  let stored: StoredDomains;
  let store: ReturnType<typeof createServedCertificateStore>;

  beforeAll(async () => {
    stored = await openStoredDomains();
    store = createServedCertificateStore(stored.database.prisma, {
      timeScale: 1,
    });
  });
  afterAll(() => stored?.close());

  const row = (id: string) => stored.database.prisma.domain.findUniqueOrThrow({ where: { id } });

  async function live(data: Prisma.DomainUpdateInput = {}): Promise<LoadedDomain> {
    const { id } = await stored.verified(`${randomUUID()}.example.com`);
    const recheckAt = later(noon, 50 * MINUTE);
    const where = { id };
    await stored.database.prisma.domain.update({
      where,
      data: { status: 'live', recheckAt, ...data },
    });
    return stored.load(id);
  }

  it('is read as it was stored', async () => {
    const domain = await live();
    expect(shownIn((await row(domain.id)).shown)).toBeNull();
    for (const shown of [silent, ours]) {
      await store.save(domain, shown);
      expect(shownIn((await row(domain.id)).shown)).toEqual(shown);
    }
  });

  it('is stored for a live domain in the checked epoch only', async () => {
    const [before, drifted, removed] = [
      await live(),
      await live({ status: 'drifted' }),
      await live(),
    ];
    const { id } = removed;
    await stored.database.prisma.domain.update({ where: { id }, data: { removedAt: noon } });
    await store.save({ ...before, epoch: before.epoch - 1 }, silent);
    await store.save(drifted, silent);
    await store.save(removed, silent);
    for (const { id } of [before, drifted, removed]) {
      expect(await row(id)).toMatchObject({ shown: null, recheckAt: later(noon, 50 * MINUTE) });
    }
  });

  it('brings the next check forward after a problem, and never delays it', async () => {
    const domain = await live();
    await store.save(domain, ours);
    expect((await row(domain.id)).recheckAt).toEqual(later(noon, 50 * MINUTE));
    await store.save(domain, silent);
    expect((await row(domain.id)).recheckAt).toEqual(later(noon, 5 * MINUTE));
    const sooner = await live({ recheckAt: later(noon, MINUTE) });
    await store.save(sooner, silent);
    expect(await row(sooner.id)).toMatchObject({
      recheckAt: later(noon, MINUTE),
      missedAt: null,
      attempts: sooner.attempts,
    });
  });

  it('compares with the newest certificates whose key the edge has', async () => {
    const { id: domainId, hostname } = await live();
    const certificate = (chain: string | null, minutes: number, more = {}) => ({
      id: randomUUID(),
      domainId,
      hostname,
      status: 'issued' as const,
      sealedKey: new Uint8Array(1),
      chain,
      createdAt: later(noon, minutes * MINUTE),
      expiresAt: later(noon, (minutes + 90) * MINUTE),
      ...more,
    });
    await stored.database.prisma.certificate.createMany({
      data: [
        ...[3, 1, 7, 5, 6, 2, 4].map((minutes) => certificate(`chain ${minutes}`, minutes)),
        certificate('of another edge', 8, { sealedKey: null }),
        certificate(null, 9, { status: 'ordering' }),
        certificate('refused', 10, { status: 'failed' }),
      ],
    });
    const newest = ['chain 7', 'chain 6', 'chain 5', 'chain 4', 'chain 3'];
    expect(await store.loadChains(domainId)).toEqual(newest);
  });
});
