/** A database with its stores, and domains with an order, for tests of orders. */
import { randomUUID } from 'node:crypto';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import {
  type CertificateStore,
  createCertificateStore,
} from '../../src/db/issuance/certificates.ts';
import { isWait } from '../../src/db/issuance/orders.ts';
import { noon } from '../support/builders.ts';
import type { StorageName } from '../support/storage.ts';
import { openStoredDomains } from '../support/stored-domains.ts';

/** The key is null for another edge; null if the domain gets none. Throws if a token is missing. */
export async function openAt(
  { openOrder }: CertificateStore,
  domain: LoadedDomain,
  at: Date,
  sealedKey: Uint8Array | null = new Uint8Array(4),
  authority: string | null = null,
) {
  const opened = await openOrder(domain, { id: randomUUID(), sealedKey, authority }, at);
  if (opened !== null && isWait(opened)) throw new Error(`${opened.limit} is used up`);
  return opened;
}

export type StoredOrders = Awaited<ReturnType<typeof openStoredOrders>>;

export async function openStoredOrders(name?: StorageName) {
  const stored = await openStoredDomains(name);
  const { prisma } = stored.database;
  const certificates = createCertificateStore(prisma, {
    timeScale: 1,
  });
  /** As with CERTIFICATES=external. */
  const external = createCertificateStore(prisma, {
    timeScale: 1,
    certificates: { source: 'external' },
  });

  const newOrder = (domain: LoadedDomain) => openAt(certificates, domain, noon);

  async function anOrder(hostname: string) {
    const domain = await stored.verified(hostname);
    const order = await newOrder(domain);
    if (order === null) throw new Error('no order was opened');
    return { domain, order };
  }

  return {
    ...stored,
    certificates,
    external,
    domains: createDomainStore(prisma),
    newOrder,
    anOrder,
  };
}
