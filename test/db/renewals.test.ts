/** Renewal information in the database: for one certificate, while it is the served one. */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { plannedRenewalAt } from '../../src/core/certificates/renewal.ts';
import type { Certificate } from '../../src/core/records.ts';
import { DAY, HOUR } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createEdgeLookups } from '../../src/db/domains/edge-lookups.ts';
import { createDueDomains } from '../../src/db/domains/sweeps.ts';
import {
  knownRenewal,
  planRenewal,
  type RenewalPlan,
  renewableOf,
} from '../../src/db/issuance/renewals.ts';
import { later, missing, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openAt, openStoredOrders, type StoredOrders } from './stored-orders.ts';

const plan: RenewalPlan = {
  renewAt: later(noon, 20 * DAY),
  askAt: later(noon, DAY),
  known: {
    window: { start: later(noon, 19 * DAY), end: later(noon, 21 * DAY) },
    explanationUrl: 'https://ca.test/why',
    silentSince: null,
  },
};

describe.each(databasesOfRun())('renewal information on $name', ({ name, available }) => {
  let db: StoredOrders;
  beforeAll(async () => {
    if (available) db = await openStoredOrders(name);
  });
  afterAll(() => db?.close());

  const save = (domain: LoadedDomain, certificate: Certificate, plan: RenewalPlan) =>
    planRenewal(db.database.prisma, domain, certificate, plan);
  const row = ({ id }: LoadedDomain) =>
    db.database.prisma.domain.findUniqueOrThrow({ where: { id } });
  const certificateOf = ({ id }: Certificate) =>
    db.database.prisma.certificate.findUniqueOrThrow({ where: { id } });

  async function certify(domain: LoadedDomain, days: number, at = noon): Promise<Certificate> {
    const order = await openAt(db.certificates, domain, at);
    const life = { issuedAt: at, expiresAt: later(at, days * DAY) };
    await db.certificates.store(
      domain,
      order?.id ?? '',
      { chain: 'PEM', issuer: 'CA', ...life },
      at,
    );
    return db.database.prisma.certificate.findUniqueOrThrow({ where: { id: order?.id ?? '' } });
  }
  async function live(hostname: string) {
    const verified = await db.verified(hostname);
    const certificate = await certify(verified, 90);
    return { domain: await db.load(verified.id), certificate };
  }

  describe.skipIf(!available)('for a new certificate', () => {
    it('is due within six hours, spread over certificates', async () => {
      const times: Date[] = [];
      for (let nth = 0; nth < 8; nth += 1) {
        const { domain } = await live(`first${nth}.example.com`);
        times.push((await row(domain)).renewalInfoAt ?? new Date(0));
      }
      for (const at of times) {
        expect(at >= noon).toBe(true);
        expect(at < later(noon, 6 * HOUR)).toBe(true);
      }
      expect(new Set(times.map(Number)).size).toBeGreaterThan(6);
    });

    it('is due again when it replaces another one', async () => {
      const { domain, certificate } = await live('next.example.com');
      await save(domain, certificate, { ...plan, askAt: later(noon, DAY) });
      await certify(domain, 90, later(noon, 60 * DAY));
      const { renewalInfoAt } = await row(domain);
      expect(Number(renewalInfoAt)).toBeGreaterThanOrEqual(Number(later(noon, 60 * DAY)));
    });
  });

  describe.skipIf(!available)('with a response', () => {
    it('is stored with the certificate and moves the renewal', async () => {
      const { domain, certificate } = await live('answer.example.com');
      await save(domain, certificate, plan);
      expect(await row(domain)).toMatchObject({
        renewAt: plan.renewAt,
        renewalInfoAt: plan.askAt,
        leases: 0,
      });
      const { renewalInfo } = await certificateOf(certificate);
      expect(knownRenewal(renewalInfo)).toEqual(plan.known);
      const work = await db.certificates.loadWork(domain.id, noon);
      expect(work?.usable && renewableOf(work.usable)?.window).toEqual(plan.known.window);
    });

    it('without a window leaves the renewal unchanged', async () => {
      const { domain, certificate } = await live('silence.example.com');
      const { renewAt } = await row(domain);
      const known = { window: null, explanationUrl: null, silentSince: noon };
      await save(domain, certificate, { ...plan, renewAt: null, known });
      expect(await row(domain)).toMatchObject({ renewAt, renewalInfoAt: plan.askAt });
      expect(knownRenewal((await certificateOf(certificate)).renewalInfo)).toEqual(known);
    });

    it.each([
      ['about a certificate that is no longer served', 'renewed'],
      ['in an earlier epoch', 'begun again'],
      ['of a removed domain', 'removed'],
      ['of a drifted domain', 'drifted'],
    ] as const)('%s changes nothing', async (_what, end) => {
      const { domain, certificate } = await live(`${end.replace(' ', '-')}.example.com`);
      const where = { id: domain.id };
      if (end === 'renewed') await certify(domain, 90, later(noon, HOUR));
      if (end === 'begun again') {
        await db.database.prisma.domain.update({ where, data: { epoch: { increment: 1 } } });
      }
      if (end === 'removed')
        await db.domains.remove(
          wholeInstallation,
          { projectId: domain.projectId, hostname: domain.hostname },
          { at: noon },
        );
      if (end === 'drifted') {
        const data = { status: 'drifted', driftedAt: noon } as const;
        await db.database.prisma.domain.update({ where, data });
      }
      const before = await row(domain);
      await save(domain, certificate, plan);
      expect(await row(domain)).toEqual(before);
      expect((await certificateOf(certificate)).renewalInfo).toBeNull();
    });
  });

  it.skipIf(!available)('is queried for live domains only, once per lease', async () => {
    const { prisma } = db.database;
    await prisma.domain.updateMany({ data: { renewalInfoAt: null } });
    const { domain } = await live('due.example.com');
    const drifted = (await live('due-drifted.example.com')).domain;
    const data = { status: 'drifted', driftedAt: noon } as const;
    await prisma.domain.update({ where: { id: drifted.id }, data });
    const due = createDueDomains(prisma, 'ask-renewals');
    const take = async (at: Date) => {
      const taken = await due.take({ now: at, leasesMs: [HOUR], limit: 9, suspects: false });
      return taken.map(({ id }) => id);
    };
    expect(await take(later(noon, 6 * HOUR))).toEqual([domain.id]);
    expect(await take(later(noon, 6 * HOUR))).toEqual([]);
    expect(await take(later(noon, 7 * HOUR))).toEqual([domain.id]);
  });

  it.skipIf(!available)('is no longer queried when the certificate is not served', async () => {
    const { domain } = await live('over.example.com');
    await db.domains.remove(
      wholeInstallation,
      { projectId: domain.projectId, hostname: domain.hostname },
      { at: noon },
    );
    expect((await row(domain)).renewalInfoAt).toBeNull();
    const failed = (await live('over-failed.example.com')).domain;
    const ended = { ...failed, state: { status: 'drifted', driftedAt: noon } } as const;
    const data = { status: 'drifted', driftedAt: noon } as const;
    await db.database.prisma.domain.update({ where: { id: failed.id }, data });
    await db.check({ ...ended, certificateEndsAt: noon }, missing, later(noon, HOUR));
    const { status, renewalInfoAt } = await row(failed);
    expect({ status, renewalInfoAt }).toEqual({ status: 'failed', renewalInfoAt: null });
  });

  it.skipIf(!available)("is due at once after the runbook's statement", async () => {
    const { pool } = db.database;
    const { domain, certificate } = await live('runbook.example.com');
    const page = readFileSync(
      new URL('../../docs/run/certificate-authorities.md', import.meta.url),
      'utf8',
    );
    const [statement = ''] = /^ {8}WITH wanted AS[\s\S]*?;$/m.exec(page) ?? [];
    await pool.query("UPDATE certificate SET expires_at = now() + interval '60 days'");
    await pool.query(statement.replace("'R10'", "'CA'"));
    const work = await db.certificates.loadWork(domain.id, noon);
    const planned = work?.usable && renewableOf(work.usable);
    expect(planned?.id).toBe(certificate.id);
    expect(planned && plannedRenewalAt(planned, noon)).toEqual(noon);
    expect(Number((await row(domain)).renewAt)).toBeLessThanOrEqual(Date.now());
  });

  it.skipIf(!available)('leaves the newest certificate served, even if short', async () => {
    const verified = await db.verified('shorter.example.com');
    await certify(verified, 400, later(new Date(), -DAY));
    const domain = await db.load(verified.id);
    const next = await certify(domain, 6, new Date());
    const route = await createEdgeLookups(db.database).findRoute('shorter.example.com');
    expect(route?.certificateId).toBe(next.id);
    expect((await db.certificates.loadWork(domain.id, new Date()))?.usable?.id).toBe(next.id);
  });
});
