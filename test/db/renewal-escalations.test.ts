/** Escalations of served domains: one at most per checked certificate, due again after a crash. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { escalationWords } from '../../src/core/certificates/escalation-words.ts';
import { escalateRenewalAt } from '../../src/core/certificates/renewal.ts';
import { DAY, HOUR } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDueDomains } from '../../src/db/domains/sweeps.ts';
import { createCertificateStore } from '../../src/db/issuance/certificates.ts';
import {
  type NewEscalation,
  openEscalation,
  postponeRenewalEscalation,
  readEvidence,
} from '../../src/db/issuance/escalations.ts';
import { later, missing, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';
import { openAt } from './stored-orders.ts';

const leasesMs = [5 * 60_000];

const evidence = { ...readEvidence({}), servedUntil: later(noon, 90 * DAY).toISOString() };
const aCase: NewEscalation = {
  cause: 'authority_refused',
  ...escalationWords('authority_refused', evidence),
  evidence,
};

describe.each(databasesOfRun())('escalations of served domains on $name', ({ name, available }) => {
  let stored: StoredDomains;

  beforeAll(async () => {
    if (available) stored = await openStoredDomains(name);
  });
  afterAll(() => stored?.close());

  const store = () => createCertificateStore(stored.database.prisma, { timeScale: 1 });
  const row = ({ id }: LoadedDomain) =>
    stored.database.prisma.domain.findUniqueOrThrow({ where: { id } });
  const casesOf = ({ id }: LoadedDomain) =>
    stored.database.prisma.escalation.findMany({ where: { domainId: id } });
  const eventsOf = async (domain: LoadedDomain) =>
    (await stored.events(domain)).filter((type) => type.startsWith('escalation.'));

  /** Gives the domain a certificate of 90 days, as its order does. */
  async function certify(domain: LoadedDomain, at: Date): Promise<LoadedDomain> {
    const order = await openAt(store(), domain, at);
    const life = { issuedAt: at, expiresAt: later(at, 90 * DAY) };
    await store().store(domain, order?.id ?? '', { chain: 'PEM', issuer: 'CA', ...life }, at);
    return stored.load(domain.id);
  }
  const live = async (hostname: string) => certify(await stored.verified(hostname), noon);

  const open = (domain: LoadedDomain, wakes = false, at = later(noon, 72 * DAY)) =>
    openEscalation(stored.database.prisma, domain, aCase, {
      at,
      againAt: later(at, HOUR),
      wakes,
    });

  it.skipIf(!available)('are due with a fifth of the certificate’s life left', async () => {
    const domain = await live('due.example.com');
    const life = { issuedAt: noon, expiresAt: later(noon, 90 * DAY) };
    expect((await row(domain)).escalateAt).toEqual(escalateRenewalAt(life));
  });

  it.skipIf(!available)('are opened once by concurrent runs', async () => {
    const domain = await live('once.example.com');
    const runs = await Promise.all(Array.from({ length: 5 }, () => open(domain)));
    expect(runs.sort()).toEqual(['kept', 'kept', 'kept', 'kept', 'opened']);
    expect(await casesOf(domain)).toHaveLength(1);
    expect(await eventsOf(domain)).toEqual(['escalation.opened']);
    expect((await row(domain)).escalateAt).toEqual(later(noon, 72 * DAY + HOUR));
  });

  it.skipIf(!available)('make the renewal due in the same transaction, if requested', async () => {
    const domain = await live('wake.example.com');
    const planned = (await row(domain)).renewAt;
    await open(domain);
    expect((await row(domain)).renewAt).toEqual(planned);
    await open(domain, true);
    expect((await row(domain)).renewAt).toEqual(later(noon, 72 * DAY));
  });

  it.skipIf(!available)('are not opened for a renewed certificate', async () => {
    const domain = await live('renewed.example.com');
    const renewed = await certify(domain, later(noon, 60 * DAY));
    expect(await open(domain)).toBe('gone');
    expect(await casesOf(domain)).toEqual([]);
    expect((await row(renewed)).escalateAt).toEqual(later(noon, 132 * DAY));
  });

  it.skipIf(!available)('are closed by the renewed certificate, after its event', async () => {
    const domain = await live('closed.example.com');
    await open(domain);
    await certify(domain, later(noon, 80 * DAY));
    expect((await stored.events(domain)).slice(-2)).toEqual([
      'certificate.renewed',
      'escalation.closed',
    ]);
    expect(await casesOf(domain)).toMatchObject([{ closedAt: later(noon, 80 * DAY) }]);
  });

  it.skipIf(!available)('survive drift and recovery, with their time', async () => {
    const domain = await live('drift.example.com');
    const at = later(noon, 75 * DAY);
    await open(domain);
    await stored.check(domain, missing, at);
    await stored.check(await stored.load(domain.id), missing, later(at, HOUR));
    expect(await row(domain)).toMatchObject({
      status: 'drifted',
      escalateAt: later(noon, 72 * DAY + HOUR),
    });
    expect(await casesOf(domain)).toMatchObject([{ closedAt: null }]);
    expect(await open(await stored.load(domain.id))).toBe('kept');
  });

  it.skipIf(!available)('taken by a killed worker are due again', async () => {
    const { id } = await live('killed.example.com');
    const due = createDueDomains(stored.database.prisma, 'escalate-renewals');
    const take = async (now: Date) => {
      const taken = await due.take({ now, leasesMs, limit: 100, suspects: false });
      return taken.filter((one) => one.id === id);
    };
    const at = later(noon, 72 * DAY);
    expect(await take(later(at, -1))).toEqual([]);
    expect(await take(at)).toEqual([{ id, takes: 1 }]);
    // The worker was killed.
    expect(await take(later(at, 1))).toEqual([]);
    expect(await take(later(at, 5 * 60_000))).toEqual([{ id, takes: 2 }]);
    const domain = await stored.load(id);
    await postponeRenewalEscalation(stored.database.prisma, domain, later(at, DAY));
    expect(await take(later(at, DAY - 1))).toEqual([]);
    expect((await row(domain)).leases).toBe(0);
  });
});
