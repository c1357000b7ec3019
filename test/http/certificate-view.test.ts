import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_AUTHORITY } from '../../src/certificates/authorities/local.ts';
import { wholeInstallation } from '../../src/core/access.ts';
import { explainProblem } from '../../src/core/certificates/problem-words.ts';
import { DAY } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import {
  type CertificateStore,
  createCertificateStore,
} from '../../src/db/issuance/certificates.ts';
import { planRenewal } from '../../src/db/issuance/renewals.ts';
import { domainView } from '../../src/http/routes/domain-view.ts';
import { openAt } from '../db/stored-orders.ts';
import { later, noon } from '../support/builders.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const days = (count: number) => later(noon, count * DAY);
const certificateOf = (day: number) => ({
  chain: 'PEM',
  issuer: 'Test CA',
  issuedAt: days(day),
  expiresAt: days(day + 90),
});
const problem = { type: 'rate_limited', detail: 'Too many.' };

describe('The certificate in a domain response', () => {
  let stored: StoredDomains;
  let certificates: CertificateStore;

  beforeAll(async () => {
    stored = await openStoredDomains();
    certificates = createCertificateStore(stored.database.prisma, {
      timeScale: 1,
    });
  });
  afterAll(() => stored?.close());

  async function order(domain: LoadedDomain, at: Date): Promise<string> {
    return (await openAt(certificates, domain, at))?.id ?? '';
  }
  async function renew(id: string, day: number): Promise<void> {
    const domain = await stored.load(id);
    const next = await order(domain, days(day));
    await certificates.store(domain, next, certificateOf(day), days(day));
  }
  async function shown({ projectId, hostname }: LoadedDomain, day: number) {
    const found = await createDomainStore(stored.database.prisma).find(
      wholeInstallation,
      projectId,
      hostname,
    );
    if (found === null) throw new Error('no such domain');
    return domainView(found, 2 * DAY, days(day)).certificate;
  }

  it('shows why its renewal failed and when Signpost retries', async () => {
    const domain = await stored.verified('renewal.example.com');
    // Any number of old certificates must not hide it.
    for (const day of [0, 60, 120, 180, 240, 300]) await renew(domain.id, day);
    expect(await shown(domain, 301)).toMatchObject({ problem: null, nextAttemptAt: null });

    const live = await stored.load(domain.id);
    const refused = await order(live, days(360));
    const refusal = { problem, nextAttemptAt: days(361) };
    await certificates.refuse(live, refused, refusal, days(360));
    expect(await shown(domain, 360)).toMatchObject({
      status: 'issued',
      expiresAt: days(390),
      problem: { ...problem, ...explainProblem(problem.type) },
      nextAttemptAt: days(361),
    });

    await renew(domain.id, 361);
    expect(await shown(domain, 361)).toMatchObject({
      expiresAt: days(451),
      problem: null,
      nextAttemptAt: null,
    });
  });

  it('shows the renewal and the CA error while the domain stays live', async () => {
    const domain = await stored.verified('planned.example.com');
    expect((await shown(domain, 0)).renewal).toBeNull();
    await renew(domain.id, 0);
    const { prisma } = stored.database;
    const { renewAt } = await prisma.domain.findUniqueOrThrow({ where: { id: domain.id } });
    expect(renewAt && renewAt > days(55) && renewAt <= days(60)).toBe(true);
    const ours = { plannedAt: renewAt, window: null, explanationUrl: null };
    expect((await shown(domain, 1)).renewal).toEqual(ours);

    const live = await stored.load(domain.id);
    const certificate = await prisma.certificate.findFirstOrThrow({
      where: { domainId: domain.id },
    });
    const window = { start: days(20), end: days(22) };
    const explanationUrl = 'https://ca.test/why';
    const known = { window, explanationUrl, silentSince: null };
    const plan = { renewAt: days(21), askAt: days(2), known };
    await planRenewal(prisma, live, certificate, plan);
    expect((await shown(domain, 1)).renewal).toEqual({
      plannedAt: days(21),
      window,
      explanationUrl,
    });
    const drifted = { status: 'drifted', driftedAt: noon } as const;
    await prisma.domain.update({ where: { id: domain.id }, data: drifted });
    expect((await shown(domain, 1)).renewal).toBeNull();
  });

  it('explains what a browser warning means', async () => {
    const domain = await stored.verified('warning.example.com');
    const state = async (day: number) => (await shown(domain, day)).browser.state;
    expect(await state(0)).toBe('no_certificate_yet');
    await renew(domain.id, 0);
    expect(await state(0)).toBe('may_be_cached');
    expect(await state(1)).toBe('served');
    await renew(domain.id, 60);
    expect(await state(60)).toBe('may_be_cached');
    expect(await state(150)).toBe('no_certificate_yet');
  });

  it('is reported as untrusted by browsers when the local CA signed it', async () => {
    const domain = await stored.verified('local.example.com');
    const next = await order(domain, noon);
    const local = { ...certificateOf(0), issuer: `${LOCAL_AUTHORITY} 0a1b2c3d` };
    await certificates.store(domain, next, local, noon);
    const { browser } = await shown(domain, 0);
    expect(browser).toMatchObject({ state: 'served' });
    expect(browser.summary).toContain('which they do not trust');
  });
});
