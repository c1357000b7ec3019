import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RenewalInformation, Silence } from '../../src/certificates/authorities/authority.ts';
import { certificateFault } from '../../src/certificates/fault.ts';
import type { Certificate } from '../../src/core/records.ts';
import { DAY, HOUR } from '../../src/core/time.ts';
import type { DueDomains } from '../../src/db/domains/sweeps.ts';
import type { Prisma } from '../../src/db/generated/client.ts';
import { createCertificateStore } from '../../src/db/issuance/certificates.ts';
import { knownRenewal, type RenewalPlan } from '../../src/db/issuance/renewals.ts';
import { askRenewals } from '../../workers/ask-renewals.ts';
import { later, noon } from '../support/builders.ts';
import { plainService, throwingLog } from '../support/plain-service.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';
import { dueOnce } from './due-once.ts';
import { aCertificate } from './order-world.ts';

const running = new AbortController().signal;

/** Valid for 90 days, a third of which are over; its place in a window is the start. */
const served = aCertificate({
  status: 'issued',
  chain: 'PEM',
  issuedAt: later(noon, -30 * DAY),
  expiresAt: later(noon, 60 * DAY),
});
const inDays = (from: number, to: number) => ({
  start: later(noon, from * DAY),
  end: later(noon, to * DAY),
});
const wants = (from: number, to: number): RenewalInformation => ({
  window: inDays(from, to),
  explanationUrl: 'https://ca.test/why',
  askAgainAt: later(noon, 6 * HOUR),
});
const away: Silence = { kind: 'silence', retryAfter: null, isAway: true };
const failed: Silence = { kind: 'silence', retryAfter: null, isAway: false };
/** As src/db/issuance/renewals.ts stores it. */
const inDatabase = (from: number, to: number, more = {}) => {
  const { start, end } = inDays(from, to);
  return { window: { start: start.toISOString(), end: end.toISOString() }, ...more };
};

type Asked = {
  readonly answer?: RenewalInformation | Silence | null;
  readonly authorities?: readonly (string | null)[];
  /** The certificate of each domain; null: it has expired. */
  readonly usable?: Certificate | null;
  readonly status?: 'live' | 'drifted';
};

let stored: StoredDomains;
beforeAll(async () => {
  stored = await openStoredDomains();
});
afterAll(() => stored.close());

/** A domain for each CA, due at noon. The IDs of their certificates draw the start of a window. */
async function domainsAt(
  authorities: Asked['authorities'] = [],
  { usable, status = 'live' }: Asked,
) {
  const { prisma } = stored.database;
  await prisma.certificate.deleteMany();
  const ids: string[] = [];
  for (const [nth, authority] of authorities.entries()) {
    const { id: domainId, hostname } = await stored.pending(`${randomUUID()}.example.com`);
    const expiresAt = usable === null ? later(noon, -1) : served.expiresAt;
    const data = { status, certificateEndsAt: expiresAt, nextCheckAt: null, renewalInfoAt: noon };
    await prisma.domain.update({ where: { id: domainId }, data });
    const id = `00000000-0000-4000-8000-0000000000c${nth + 1}`;
    const { renewalInfo, status: kind, sealedKey, chain, issuedAt } = usable ?? served;
    const row = { id, domainId, hostname, authority, expiresAt, sealedKey, chain, issuedAt };
    const more = renewalInfo === null ? {} : { renewalInfo: renewalInfo as Prisma.InputJsonObject };
    await prisma.certificate.create({ data: { ...row, status: kind, ...more } });
    ids.push(domainId);
  }
  return ids;
}

/** Queries for each certificate in turn; returns the CAs queried and the stored plans. */
async function asked(given: Asked) {
  const { answer = null, authorities = [null] } = given;
  const { database } = stored;
  const ids = await domainsAt(authorities, given);
  const waiting = ids.map((id) => ({ id, takes: 1 }));
  // Suspects are taken one by one.
  const take: DueDomains['take'] = async ({ suspects }) => (suspects ? waiting.splice(0, 1) : []);
  const due = { ...dueOnce('').due, take };
  const questions: Certificate['authority'][] = [];
  const configured = [...new Set(authorities)].map((directoryUrl) => ({
    directoryUrl,
    authority: {
      renewalInfo: async () => {
        questions.push(directoryUrl);
        if (answer === null || !('kind' in answer)) return answer;
        throw certificateFault(answer.isAway ? 'ca_unreachable' : 'ca_failed', 'no');
      },
    },
  }));
  const certificates = createCertificateStore(database.prisma, { timeScale: 1 });
  const service = plainService({
    database,
    certificates,
    authorities: configured,
    due: { 'ask-renewals': due },
    log: throwingLog,
  });
  expect(await askRenewals(service, running)).toEqual({ kind: 'done' });
  return { questions, plans: await plansOf(ids) };
}

/** Of the domains whose next query was planned. */
async function plansOf(ids: readonly string[]): Promise<readonly RenewalPlan[]> {
  const { prisma } = stored.database;
  const rows = await prisma.domain.findMany({
    where: { id: { in: [...ids] }, renewalInfoAt: { not: noon } },
    include: { certificates: true },
  });
  return rows.map(({ renewAt, renewalInfoAt, certificates: [certificate] }) => ({
    renewAt,
    askAt: renewalInfoAt ?? noon,
    known: knownRenewal(certificate?.renewalInfo),
  }));
}

describe('a CA queried for renewal information', () => {
  const known = {
    window: inDays(10, 12),
    explanationUrl: 'https://ca.test/why',
    silentSince: null,
  };
  const askAt = later(noon, 6 * HOUR);

  it('gives a window: the renewal is planned within it, and the next query after Retry-After', async () => {
    const { plans } = await asked({ answer: wants(10, 12) });
    expect(plans).toEqual([{ renewAt: later(noon, 10 * DAY), askAt, known }]);
  });

  it('gives a past window: the certificate is renewed now', async () => {
    const { plans } = await asked({ answer: wants(-2, -1) });
    expect(plans).toMatchObject([{ renewAt: noon, askAt }]);
  });

  it('delays a renewal to three quarters of the life at most', async () => {
    const { plans } = await asked({ answer: wants(50, 55) });
    expect(plans).toMatchObject([
      { renewAt: later(noon, 37.5 * DAY), known: { window: inDays(50, 55) } },
    ]);
  });

  it('does not affect the retries of a renewal that is due', async () => {
    const usable = { ...served, renewalInfo: inDatabase(-2, -1) };
    const { plans } = await asked({ usable, answer: wants(-1, 0) });
    expect(plans).toMatchObject([{ renewAt: null, askAt, known: { window: inDays(-1, 0) } }]);
  });

  it('is queried again a day later without a window, and the previous window stays', async () => {
    const silentSince = later(noon, -HOUR).toISOString();
    const usable = { ...served, renewalInfo: inDatabase(10, 12, { silentSince }) };
    const { plans } = await asked({ usable, answer: null });
    expect(plans).toEqual([
      { renewAt: null, askAt: later(noon, DAY), known: { ...known, explanationUrl: null } },
    ]);
  });

  it('is queried again an hour later after a failure, and the previous window stays', async () => {
    const usable = { ...served, renewalInfo: inDatabase(10, 12) };
    const { plans } = await asked({ usable, answer: failed });
    expect(plans).toMatchObject([
      {
        renewAt: null,
        askAt: later(noon, HOUR),
        known: { window: inDays(10, 12), silentSince: noon },
      },
    ]);
  });

  it('is queried less often while it keeps failing', async () => {
    const silentSince = later(noon, -5 * HOUR);
    const usable = { ...served, renewalInfo: { silentSince: silentSince.toISOString() } };
    const { plans } = await asked({ usable, answer: failed });
    expect(plans).toMatchObject([
      { askAt: later(noon, 5 * HOUR), known: { window: null, silentSince } },
    ]);
  });

  it('gives a window again after failures', async () => {
    const silentSince = later(noon, -5 * HOUR).toISOString();
    const usable = { ...served, renewalInfo: inDatabase(20, 22, { silentSince }) };
    const { plans } = await asked({ usable, answer: wants(10, 12) });
    expect(plans).toEqual([{ renewAt: later(noon, 10 * DAY), askAt, known }]);
  });

  it('is skipped for the rest of the run after a timeout, unlike others', async () => {
    const authorities = ['https://one.test', 'https://one.test', 'https://two.test'];
    const { questions, plans } = await asked({ answer: away, authorities });
    expect(questions).toEqual(['https://one.test', 'https://two.test']);
    expect(plans.map(({ askAt }) => askAt)).toEqual(Array(3).fill(later(noon, HOUR)));
  });

  it('is queried for its other certificates after a failure with one', async () => {
    const { questions } = await asked({ answer: failed, authorities: [null, null] });
    expect(questions).toHaveLength(2);
  });
});

describe('no CA is queried for', () => {
  it.each<[string, Asked]>([
    ['a drifted domain', { status: 'drifted' }],
    ['an expired certificate', { usable: null }],
  ])('%s', async (_what, given) => {
    const { questions, plans } = await asked({ ...given, answer: wants(1, 2) });
    expect([questions, plans]).toEqual([[], []]);
  });
});
