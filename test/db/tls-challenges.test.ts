/** A name identifies its tls-alpn-01 challenge (RFC 8737, 3), so only an open one is stored. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { createEdgeLookups, type EdgeLookups } from '../../src/db/domains/edge-lookups.ts';
import { later, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredOrders, type StoredOrders } from './stored-orders.ts';

const keyAuthorization = 'token.thumbprint';
const expiresAt = later(new Date(), 90 * 86_400_000);
const issued = { chain: 'PEM', issuer: 'Test CA', issuedAt: new Date(), expiresAt };

describe.each(databasesOfRun())('a tls-alpn-01 challenge on $name', ({ name, available }) => {
  let db: StoredOrders;
  let edge: EdgeLookups;
  beforeAll(async () => {
    if (!available) return;
    db = await openStoredOrders(name);
    edge = createEdgeLookups(db.database);
  });
  afterAll(() => db?.close());

  /** A domain with an open order, and a challenge of each kind. */
  async function challenged(hostname: string) {
    const one = await db.anOrder(hostname);
    for (const type of ['http-01', 'tls-alpn-01']) {
      const token = `${type}-${hostname}`;
      const challenge = { type, token, keyAuthorization: `${type}.${keyAuthorization}` };
      await db.certificates.publishChallenge(one.order, challenge);
    }
    expect(await edge.findTlsChallenge(hostname)).toBe(`tls-alpn-01.${keyAuthorization}`);
    return one;
  }

  it.skipIf(!available)('is found by its name, and never over HTTP', async () => {
    await challenged('found.example.com');
    const find = (type: string) =>
      edge.findChallenge(`${type}-found.example.com`, 'found.example.com');
    expect(await find('http-01')).toBe(`http-01.${keyAuthorization}`);
    expect(await find('tls-alpn-01')).toBeNull();
    expect(await edge.findTlsChallenge('other.example.com')).toBeNull();
  });

  it.skipIf(!available)('ends with its order', async () => {
    const { domain, order } = await challenged('ended.example.com');
    await db.certificates.store(domain, order.id, issued, noon);
    expect(await edge.findTlsChallenge('ended.example.com')).toBeNull();
  });

  it.skipIf(!available)('ends with its domain', async () => {
    const { domain } = await challenged('removed.example.com');
    await db.domains.remove(
      wholeInstallation,
      { projectId: domain.projectId, hostname: domain.hostname },
      { at: noon },
    );
    expect(await edge.findTlsChallenge('removed.example.com')).toBeNull();
  });

  it.skipIf(!available)('is served only while the name is held', async () => {
    const { domain } = await challenged('unheld.example.com');
    const to = { where: { id: domain.id }, data: { status: 'pending' } } as const;
    await db.database.prisma.domain.update(to);
    expect(await edge.findTlsChallenge('unheld.example.com')).toBeNull();
  });
});
