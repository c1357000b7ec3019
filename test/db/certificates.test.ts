import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import { type CertificateStore, createCertificateStore } from '../../src/db/certificates.ts';
import type { LoadedDomain } from '../../src/db/domain-row.ts';
import { createDomainStore, type DomainStore } from '../../src/db/domains.ts';
import { createEdgeLookups, type EdgeLookups } from '../../src/db/edge-lookups.ts';
import { later, missing, noon } from '../support/builders.ts';
import { storages } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const DAY = 86_400_000;
const issued = {
  chain: 'PEM',
  issuer: 'Test CA',
  issuedAt: new Date(),
  expiresAt: later(new Date(), 90 * DAY),
};
const refusal = {
  problem: { type: 'unauthorized', detail: 'no' },
  nextAttemptAt: later(noon, 60_000),
};
const challenge = { token: 'token', keyAuthorization: 'token.thumbprint' };

describe.each(storages)('orders on $name', ({ name, available }) => {
  let stored: StoredDomains;
  let certificates: CertificateStore;
  let domains: DomainStore;
  let edge: EdgeLookups;

  beforeAll(async () => {
    if (!available) return;
    stored = await openStoredDomains(name);
    const { prisma } = stored.database;
    certificates = createCertificateStore(prisma);
    domains = createDomainStore(prisma);
    edge = createEdgeLookups(prisma);
  });
  afterAll(() => stored?.close());

  const newOrder = (domain: LoadedDomain) =>
    certificates.openOrder(domain, { id: randomUUID(), sealedKey: new Uint8Array(4) });

  async function anOrder(hostname: string) {
    const domain = await stored.verified(hostname);
    const order = await newOrder(domain);
    if (order === null) throw new Error('no order was opened');
    return { domain, order };
  }

  it.skipIf(!available)('two workers open one order', async () => {
    const domain = await stored.verified('one.example.com');
    const orders = await Promise.all([newOrder(domain), newOrder(domain)]);
    expect(new Set(orders.map((order) => order?.id)).size).toBe(1);
  });

  it.skipIf(!available)('a certificate stored twice is told once', async () => {
    const { domain, order } = await anOrder('twice.example.com');
    await Promise.all([
      certificates.store(domain, order.id, issued, noon),
      certificates.store(domain, order.id, issued, noon),
    ]);
    const story = ['domain.added', 'domain.verified', 'certificate.issued', 'domain.live'];
    expect(await stored.events(domain)).toEqual(story);
  });

  it.skipIf(!available)(
    'what warns is still said of a live domain, what is over is not',
    async () => {
      const warning: Finding = {
        code: 'wildcard_answers',
        hostname: 'warned.example.com',
        target: 'x.edge.test',
        wildcard: '*.example.com',
      };
      const unknown: Finding = { code: 'dns_unknown', hostname: 'warned.example.com', servers: [] };
      const { domain, order } = await anOrder('warned.example.com');
      const loaded = { ...domain, findings: [warning, unknown] };
      await certificates.store(loaded, order.id, issued, noon);
      expect((await stored.load(domain.id)).findings).toEqual([warning]);
      expect(await stored.events(domain)).toContain('domain.findings_changed');
    },
  );

  it.skipIf(!available)('a refusal that comes late takes nothing from a live domain', async () => {
    const { domain, order } = await anOrder('late.example.com');
    await certificates.store(domain, order.id, issued, noon);
    await certificates.refuse(domain, order.id, refusal, noon);
    expect(await edge.findRoute('late.example.com')).toMatchObject({ certificateId: order.id });
    expect(await stored.events(domain)).not.toContain('certificate.failed');
  });

  it.skipIf(!available)(
    'a removed domain gets no order, no certificate and no answer',
    async () => {
      const { domain, order } = await anOrder('removed.example.com');
      await certificates.publishChallenge(order, challenge);
      expect(await edge.findChallenge('token', order.hostname)).toBe('token.thumbprint');
      await domains.remove(domain.projectId, domain.hostname, noon);
      expect(await edge.findChallenge('token', order.hostname)).toBeNull();
      await expect(certificates.publishChallenge(order, challenge)).rejects.toThrow('ended');
      await expect(certificates.orderPlaced(order.id, 'https://ca.test/1')).rejects.toThrow(
        'ended',
      );
      await certificates.store(domain, order.id, issued, noon);
      expect(await newOrder(domain)).toBeNull();
      expect((await stored.events(domain)).at(-1)).toBe('domain.removed');
    },
  );

  it.skipIf(!available)(
    'a live domain gets no second order from a job that comes late',
    async () => {
      const { domain, order } = await anOrder('live.example.com');
      await certificates.store(domain, order.id, issued, noon);
      expect(await newOrder(domain)).toBeNull();
    },
  );

  it.skipIf(!available)('verify during an order continues it', async () => {
    const { domain, order } = await anOrder('verify.example.com');
    await certificates.publishChallenge(order, { ...challenge, token: 'other' });
    await domains.requestVerify(domain.projectId, domain.hostname, noon, 48 * 3_600_000);
    expect(await edge.findChallenge('other', order.hostname)).toBe('token.thumbprint');
    // The earlier life's job finishes it; its own domain is no longer its to change.
    await certificates.store(domain, order.id, issued, noon);
    const work = await certificates.loadWork(domain.id, noon);
    expect(work).toMatchObject({
      domain: { state: { status: 'pending' } },
      usable: { id: order.id },
    });
  });

  it.skipIf(!available)('removal and the end of an order do not wait for each other', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { domain, order } = await anOrder(`race-${round}.example.com`);
      await Promise.all([
        domains.remove(domain.projectId, domain.hostname, noon),
        certificates.store(domain, order.id, issued, noon),
      ]);
      const story = await stored.events(domain);
      expect(story.filter((event) => event === 'domain.removed')).toHaveLength(1);
    }
  });

  it.skipIf(!available)('what the authority refused is remembered across lives', async () => {
    const { domain, order } = await anOrder('refused.example.com');
    const retryAfter = later(noon, DAY).toISOString();
    const problem = { ...refusal.problem, retryAfter };
    await certificates.refuse(domain, order.id, { ...refusal, problem }, noon);
    await domains.requestVerify(domain.projectId, domain.hostname, noon, 48 * 3_600_000);
    const work = await certificates.loadWork(domain.id, noon);
    expect(work?.recentRefusals).toMatchObject([{ retryAfter: later(noon, DAY) }]);
  });

  it.skipIf(!available)(
    'a domain whose DNS changes keeps its order for when it is right again',
    async () => {
      const { domain, order } = await anOrder('changes.example.com');
      await stored.look(domain, missing);
      expect((await certificates.loadWork(domain.id, noon))?.order?.id).toBe(order.id);
      expect(await newOrder(domain)).toBeNull();
    },
  );
});
