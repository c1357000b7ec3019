import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import { DAY } from '../../src/core/time.ts';
import { createEdgeLookups, type EdgeLookups } from '../../src/db/domains/edge-lookups.ts';
import { later, missing, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openAt, openStoredOrders, type StoredOrders } from './stored-orders.ts';

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
const challenge = { type: 'http-01', token: 'token', keyAuthorization: 'token.thumbprint' };

describe.each(databasesOfRun())('certificate orders on $name', ({ name, available }) => {
  let db: StoredOrders;
  let edge: EdgeLookups;

  beforeAll(async () => {
    if (!available) return;
    db = await openStoredOrders(name);
    edge = createEdgeLookups(db.database);
  });
  afterAll(() => db?.close());

  it.skipIf(!available)('are shared by two workers', async () => {
    const domain = await db.verified('one.example.com');
    const orders = await Promise.all([db.newOrder(domain), db.newOrder(domain)]);
    expect(new Set(orders.map((order) => order?.id)).size).toBe(1);
  });

  it.skipIf(!available)('from another edge make a domain live without our edge', async () => {
    const domain = await db.verified('external.example.com');
    const order = await openAt(db.external, domain, noon, null);
    await db.external.store(domain, order?.id ?? '', issued, noon);
    expect((await db.load(domain.id)).state.status).toBe('live');
    expect(await edge.findRoute('external.example.com')).toMatchObject({ certificateId: null });
    expect(await edge.loadCertificate(order?.id ?? '')).toBeNull();
    expect((await db.external.loadWork(domain.id, noon))?.usable?.id).toBe(order?.id);
    expect((await db.certificates.loadWork(domain.id, noon))?.usable).toBeNull();
  });

  it.skipIf(!available)('are not continued after CERTIFICATES has changed', async () => {
    const { domain, order } = await db.anOrder('changed.example.com');
    expect((await db.external.loadWork(domain.id, noon))?.order).toBeNull();
    const key = { id: randomUUID(), sealedKey: null };
    expect(await db.external.openOrder(domain, key, noon)).toMatchObject(key);
    const ended = await db.database.prisma.certificate.findUnique({ where: { id: order.id } });
    expect(ended).toMatchObject({ status: 'failed', problem: { type: 'superseded' } });
    expect(await db.newOrder(domain)).toMatchObject({ sealedKey: new Uint8Array(4) });
    expect((await db.certificates.loadWork(domain.id, noon))?.recentRefusals).toEqual([]);
  });

  it.skipIf(!available)('store a certificate twice with one event', async () => {
    const { domain, order } = await db.anOrder('twice.example.com');
    await Promise.all([
      db.certificates.store(domain, order.id, issued, noon),
      db.certificates.store(domain, order.id, issued, noon),
    ]);
    const story = ['domain.added', 'domain.verified', 'certificate.issued', 'domain.live'];
    expect(await db.events(domain)).toEqual(story);
  });

  it.skipIf(!available)('keep warnings of a live domain and clear the rest', async () => {
    const warning: Finding = {
      code: 'wildcard_answers',
      hostname: 'warned.example.com',
      target: 'x.edge.test',
      wildcard: '*.example.com',
    };
    const unknown: Finding = { code: 'dns_unknown', hostname: 'warned.example.com', servers: [] };
    const { domain, order } = await db.anOrder('warned.example.com');
    const data = { findings: [warning, unknown] };
    await db.database.prisma.domain.update({ where: { id: domain.id }, data });
    await db.certificates.store(domain, order.id, issued, noon);
    expect((await db.load(domain.id)).findings).toEqual([warning]);
    expect(await db.events(domain)).toContain('domain.findings_changed');
  });

  it.skipIf(!available)('a check from before the certificate is stale', async () => {
    const { domain, order } = await db.anOrder('raced.example.com');
    await db.certificates.store(domain, order.id, issued, noon);
    expect(await db.check(domain, missing)).toEqual({ kind: 'stale' });
    expect((await db.load(domain.id)).state.status).toBe('live');
  });

  it.skipIf(!available)('a late refusal does not change a live domain', async () => {
    const { domain, order } = await db.anOrder('late.example.com');
    await db.certificates.store(domain, order.id, issued, noon);
    await db.certificates.refuse(domain, order.id, refusal, noon);
    expect(await edge.findRoute('late.example.com')).toMatchObject({ certificateId: order.id });
    expect(await edge.listNames(1_000)).toContain('late.example.com');
    expect(await edge.listNames(1)).toHaveLength(1);
    expect(await db.events(domain)).not.toContain('certificate.failed');
  });

  it.skipIf(!available)('a removed domain gets no order, certificate or challenge', async () => {
    const { domain, order } = await db.anOrder('removed.example.com');
    await db.certificates.publishChallenge(order, challenge);
    expect(await edge.findChallenge('token', order.hostname)).toBe('token.thumbprint');
    await db.domains.remove(
      wholeInstallation,
      { projectId: domain.projectId, hostname: domain.hostname },
      { at: noon },
    );
    expect(await edge.findChallenge('token', order.hostname)).toBeNull();
    await expect(db.certificates.publishChallenge(order, challenge)).rejects.toThrow('ended');
    await expect(db.certificates.orderPlaced(order.id, 'https://ca.test/1')).rejects.toThrow(
      'ended',
    );
    await db.certificates.store(domain, order.id, issued, noon);
    expect(await db.newOrder(domain)).toBeNull();
    expect((await db.events(domain)).at(-1)).toBe('domain.removed');
  });

  it.skipIf(!available)('a late job gets no second order for a live domain', async () => {
    const { domain, order } = await db.anOrder('live.example.com');
    await db.certificates.store(domain, order.id, issued, noon);
    expect(await db.newOrder(domain)).toBeNull();
  });

  it.skipIf(!available)('verify during an order continues it', async () => {
    const { domain, order } = await db.anOrder('verify.example.com');
    await db.certificates.publishChallenge(order, { ...challenge, token: 'other' });
    await db.domains.requestVerify(wholeInstallation, domain.projectId, domain.hostname, noon);
    expect(await edge.findChallenge('other', order.hostname)).toBe('token.thumbprint');
    expect(await db.certificates.store(domain, order.id, issued, noon)).toBe(true);
    expect((await db.load(domain.id)).state.status).toBe('live');
  });

  it.skipIf(!available)('removal and the end of an order do not deadlock', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { domain, order } = await db.anOrder(`race-${round}.example.com`);
      await Promise.all([
        db.domains.remove(
          wholeInstallation,
          { projectId: domain.projectId, hostname: domain.hostname },
          { at: noon },
        ),
        db.certificates.store(domain, order.id, issued, noon),
      ]);
      const story = await db.events(domain);
      expect(story.filter((event) => event === 'domain.removed')).toHaveLength(1);
    }
  });

  it.skipIf(!available)('a refusal is remembered across epochs', async () => {
    const { domain, order } = await db.anOrder('refused.example.com');
    const retryAfter = later(noon, DAY).toISOString();
    const problem = { ...refusal.problem, retryAfter };
    await db.certificates.refuse(domain, order.id, { ...refusal, problem }, noon);
    await db.domains.requestVerify(wholeInstallation, domain.projectId, domain.hostname, noon);
    const work = await db.certificates.loadWork(domain.id, noon);
    expect(work?.recentRefusals).toMatchObject([{ retryAfter: later(noon, DAY) }]);
  });

  describe.skipIf(!available)('a renewal', () => {
    /** A live domain with its first certificate and the order of the next. */
    async function renewing(hostname: string) {
      const { domain, order } = await db.anOrder(hostname);
      await db.certificates.store(domain, order.id, issued, noon);
      const live = await db.load(domain.id);
      const next = await db.newOrder(live);
      if (next === null) throw new Error('no order was opened');
      return { live, first: order, next };
    }
    const columnsOf = (id: string) =>
      db.database.prisma.domain.findUniqueOrThrow({ where: { id } });
    const later90 = { ...issued, issuedAt: noon, expiresAt: later(new Date(), 150 * DAY) };

    it('is planned with the certificate, with a third of its life left', async () => {
      const { domain, order } = await db.anOrder('planned.example.com');
      await db.certificates.store(domain, order.id, issued, noon);
      const { renewAt, certificateEndsAt } = await columnsOf(domain.id);
      const life = 90 * DAY;
      const share = (Number(renewAt) - issued.issuedAt.getTime()) / life;
      expect(share).toBeGreaterThan(2 / 3 - 0.06);
      expect(share).toBeLessThanOrEqual(2 / 3 + 0.001);
      expect(certificateEndsAt).toEqual(issued.expiresAt);
    });

    it('keeps the old certificate served until the new one is stored, with one event', async () => {
      const { live, first, next } = await renewing('renewed.example.com');
      const served = async () => (await edge.findRoute(live.hostname))?.certificateId;
      expect(await served()).toBe(first.id);
      await Promise.all([
        db.certificates.store(live, next.id, later90, noon),
        db.certificates.store(live, next.id, later90, noon),
      ]);
      expect(await served()).toBe(next.id);
      const { status, certificateEndsAt, renewAt } = await columnsOf(live.id);
      expect({ status, certificateEndsAt }).toEqual({
        status: 'live',
        certificateEndsAt: later90.expiresAt,
      });
      expect(Number(renewAt)).toBeGreaterThan(Number(noon));
      expect((await db.events(live)).slice(-2)).toEqual(['domain.live', 'certificate.renewed']);
    });

    it('keeps a check that saw the old certificate expire from failing the domain', async () => {
      const { live, next } = await renewing('fenced.example.com');
      await db.certificates.store(live, next.id, later90, noon);
      const result = await db.check({ ...live, certificateEndsAt: noon }, missing);
      expect(result).toEqual({ kind: 'stale' });
      expect((await db.load(live.id)).state.status).toBe('live');
    });

    it('that is refused leaves the domain live, fires an event and waits', async () => {
      const { live, next } = await renewing('renewal-refused.example.com');
      await db.certificates.refuse(live, next.id, refusal, noon);
      const { status, renewAt, nextCheckAt } = await columnsOf(live.id);
      expect({ status, renewAt, nextCheckAt }).toEqual({
        status: 'live',
        renewAt: refusal.nextAttemptAt,
        nextCheckAt: null,
      });
      expect((await db.events(live)).at(-1)).toBe('certificate.failed');
      const work = await db.certificates.loadWork(live.id, noon);
      expect(work).toMatchObject({ refusals: 1, lastProblem: refusal.problem });
    });

    it('counts only the refusals since the served certificate', async () => {
      const { live, next } = await renewing('counted.example.com');
      await db.certificates.refuse(live, next.id, refusal, noon);
      const third = await openAt(db.certificates, live, later(noon, DAY));
      await db.certificates.store(live, third?.id ?? '', later90, later(noon, DAY));
      expect(await db.certificates.loadWork(live.id, noon)).toMatchObject({ refusals: 0 });
      const ended = await db.certificates.loadWork(live.id, later90.expiresAt);
      expect(ended).toMatchObject({ usable: null, refusals: 0, lastProblem: null });
    });

    it('completes for a domain that has drifted', async () => {
      const { live, next } = await renewing('drifts.example.com');
      const data = { status: 'drifted', driftedAt: noon } as const;
      await db.database.prisma.domain.update({ where: { id: live.id }, data });
      await db.certificates.store(live, next.id, later90, noon);
      expect(await columnsOf(live.id)).toMatchObject({
        status: 'drifted',
        certificateEndsAt: later90.expiresAt,
      });
    });

    it('ends with the domain', async () => {
      const { live, next } = await renewing('renewal-removed.example.com');
      await db.certificates.publishChallenge(next, { ...challenge, token: 'renewal' });
      await db.domains.remove(
        wholeInstallation,
        { projectId: live.projectId, hostname: live.hostname },
        { at: noon },
      );
      expect(await edge.findChallenge('renewal', next.hostname)).toBeNull();
      await db.certificates.store(live, next.id, later90, noon);
      expect((await db.events(live)).at(-1)).toBe('domain.removed');
      expect((await columnsOf(live.id)).renewAt).toBeNull();
    });

    it('is not ordered for a drifted domain', async () => {
      const { live, next } = await renewing('no-order.example.com');
      await db.certificates.refuse(live, next.id, refusal, noon);
      const drifted = { ...live, state: { status: 'drifted', driftedAt: noon } as const };
      expect(await db.newOrder(drifted)).toBeNull();
    });
  });

  it.skipIf(!available)('the setback of an open order is stored with it', async () => {
    const { domain, order } = await db.anOrder('setback.example.com');
    expect((await db.certificates.loadWork(domain.id, noon))?.setback).toBeNull();
    const times = { at: later(noon, 60_000), since: noon, retryAfter: later(noon, DAY) };
    const setback = { ...times, answered: true, detail: 'ca_unreachable: no answer' };
    await db.certificates.setBack(order.id, setback);
    expect((await db.certificates.loadWork(domain.id, noon))?.setback).toEqual(setback);
    await db.certificates.refuse(domain, order.id, refusal, noon);
    expect((await db.certificates.loadWork(domain.id, noon))?.setback).toBeNull();
  });

  it.skipIf(!available)('an unverified domain keeps its order for later', async () => {
    const { domain, order } = await db.anOrder('changes.example.com');
    await db.check(domain, missing);
    expect((await db.certificates.loadWork(domain.id, noon))?.order?.id).toBe(order.id);
    expect(await db.newOrder(domain)).toBeNull();
  });
});
