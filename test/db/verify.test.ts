/** Verify in each state: who holds the name, and which work in progress still counts. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { HOUR } from '../../src/core/time.ts';
import { createDomainStore, type DomainStore } from '../../src/db/domains/domains.ts';
import { later, missing, noon, right } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const at = later(noon, HOUR);

describe.each(databasesOfRun())('verify on $name', ({ name, available }) => {
  let stored: StoredDomains;
  let domains: DomainStore;

  beforeAll(async () => {
    if (!available) return;
    stored = await openStoredDomains(name);
    domains = createDomainStore(stored.database.prisma);
  });
  afterAll(() => stored?.close());

  const verify = ({ projectId, hostname }: { projectId: string; hostname: string }) =>
    domains.requestVerify(wholeInstallation, projectId, hostname, at);
  const columnsOf = (id: string) =>
    stored.database.prisma.domain.findUniqueOrThrow({ where: { id } });

  it.skipIf(!available)('keeps name, epoch, count and escalation of a domain', async () => {
    const domain = await stored.verified('keeps.example.com');
    expect(await verify(domain)).toMatchObject({ ended: null, domain: { status: 'verified' } });
    const { state, epoch, attempts, nextCheckAt, escalateAt } = await stored.load(domain.id);
    expect({ state, epoch, escalateAt }).toEqual({
      state: domain.state,
      epoch: domain.epoch,
      escalateAt: domain.escalateAt,
    });
    expect({ attempts, nextCheckAt }).toEqual({ attempts: domain.attempts, nextCheckAt: at });
    expect((await stored.events(domain)).at(-1)).toBe('domain.reverify_requested');
  });

  it.skipIf(!available)('counts requests in the same status in one event', async () => {
    const domain = await stored.pending('counted.example.com');
    const where = { domainId: domain.id, type: 'domain.reverify_requested' };
    const data = async () => {
      const orderBy = { id: 'asc' } as const;
      const rows = await stored.database.prisma.event.findMany({ where, orderBy });
      return rows.map((row) => row.data);
    };
    for (let requests = 0; requests < 20; requests += 1) {
      await verify(domain);
      // A finding that comes and goes is no new status.
      const check = requests % 2 === 0 ? missing : { ...missing, findings: [] };
      await stored.check(await stored.load(domain.id), check);
    }
    const counted = { count: 20, lastAt: at.toISOString() };
    expect(await data()).toEqual([counted]);
    await stored.check(await stored.load(domain.id), right);
    await verify(domain);
    expect(await data()).toEqual([counted, {}]);
  });

  it.skipIf(!available)('keeps other projects from taking a verified apex', async () => {
    const owner = await stored.verified('apex-of-two.com');
    const other = await stored.pending('apex-of-two.com');
    await verify(owner);
    expect(await stored.check(other, right)).toMatchObject({ kind: 'unproven', because: 'held' });
    expect((await stored.load(owner.id)).state.status).toBe('verified');
  });

  it.skipIf(!available)('keeps an apex with an expired certificate from others', async () => {
    const owner = await stored.verified('apex-of-three.com');
    const other = await stored.pending('apex-of-three.com');
    await stored.database.prisma.domain.update({
      where: { id: owner.id },
      data: { status: 'live', certificateEndsAt: noon, renewAt: noon, missedAt: noon },
    });
    await stored.check(await stored.load(owner.id), right, at);
    expect(await columnsOf(owner.id)).toMatchObject({
      status: 'verified',
      verifiedAt: at,
      epoch: owner.epoch,
      nextCheckAt: at,
      escalateAt: later(at, HOUR / 2),
      recheckAt: null,
      renewAt: null,
      missedAt: null,
    });
    expect((await stored.events(owner)).at(-1)).toBe('certificate.ended');
    expect(await stored.check(other, right)).toMatchObject({ kind: 'unproven', because: 'held' });
  });

  it.skipIf(!available)('makes a running check of a verified domain stale', async () => {
    const domain = await stored.verified('fenced.example.com');
    await verify(domain);
    expect(await stored.check(domain, missing)).toEqual({ kind: 'stale' });
    expect((await stored.load(domain.id)).nextCheckAt).toEqual(at);
  });

  it.skipIf(!available).each(['live', 'drifted'] as const)(
    'is not delayed by a running check of a %s domain',
    async (status) => {
      const { id } = await stored.verified(`${status}-fenced.example.com`);
      const data = { status, driftedAt: noon, nextCheckAt: null, escalateAt: null };
      await stored.database.prisma.domain.update({ where: { id }, data });
      const loaded = await stored.load(id);
      await verify(loaded);
      expect(await stored.check(loaded, status === 'live' ? right : missing)).toEqual({
        kind: 'stale',
      });
      expect(await columnsOf(id)).toMatchObject({ status, recheckAt: at });
    },
  );

  it.skipIf(!available)('starts a new window for a pending domain', async () => {
    const domain = await stored.pending('pending.example.com');
    const { id, epoch } = domain;
    expect(await verify(domain)).toMatchObject({ ended: { id, epoch } });
    expect((await stored.load(id)).state).toEqual({ status: 'pending', pendingSince: at });
  });
});
