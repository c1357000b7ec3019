import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type { EscalationCause } from '../../src/core/certificates/escalation.ts';
import { escalationWords } from '../../src/core/certificates/escalation-words.ts';
import { HOUR } from '../../src/core/time.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import {
  type EscalationRow,
  loadEscalations,
  loadOpenEscalation,
  type NewEscalation,
  openEscalation,
  readEvidence,
} from '../../src/db/issuance/escalations.ts';
import type { ListPlace, Page } from '../../src/db/page.ts';
import { aCheckSave, later, missing, noon } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

function aCase(cause: EscalationCause, refusals = 0): NewEscalation {
  const evidence = { ...readEvidence({}), refusals };
  return { cause, ...escalationWords(cause, evidence), evidence };
}

describe.each(databasesOfRun())('escalations on $name', ({ name, available }) => {
  let stored: StoredDomains;

  beforeAll(async () => {
    if (available) stored = await openStoredDomains(name);
  });
  afterAll(() => stored?.close());

  const open = (domain: LoadedDomain, escalation: NewEscalation, at = noon) =>
    openEscalation(stored.database.prisma, domain, escalation, { at, againAt: later(at, HOUR) });
  const casesOf = ({ id }: LoadedDomain) =>
    stored.database.prisma.escalation.findMany({
      where: { domainId: id },
      orderBy: { openedAt: 'asc' },
    });
  const eventsOf = async (domain: LoadedDomain) =>
    (await stored.events(domain)).filter((type) => type.startsWith('escalation.'));

  it.skipIf(!available)('are opened once by concurrent runs, with a next check', async () => {
    const domain = await stored.verified('one.example.com');
    const runs = Array.from({ length: 5 }, () => open(domain, aCase('platform_fault')));
    expect((await Promise.all(runs)).sort()).toEqual(['kept', 'kept', 'kept', 'kept', 'opened']);
    expect(await casesOf(domain)).toHaveLength(1);
    expect(await eventsOf(domain)).toEqual(['escalation.opened']);
    expect((await stored.load(domain.id)).escalateAt).toEqual(later(noon, HOUR));
  });

  it.skipIf(!available)('with the same cause are only updated', async () => {
    const domain = await stored.verified('same.example.com');
    await open(domain, aCase('authority_refused', 1));
    expect(await open(domain, aCase('authority_refused', 2), later(noon, HOUR))).toBe('kept');
    expect(await loadOpenEscalation(stored.database.prisma, domain.id)).toEqual({
      cause: 'authority_refused',
      openedAt: noon,
      evidence: { ...readEvidence({}), refusals: 2 },
    });
    expect(await eventsOf(domain)).toEqual(['escalation.opened']);
  });

  it.skipIf(!available)('with another cause are closed and opened again', async () => {
    const domain = await stored.verified('next.example.com');
    await open(domain, aCase('authority_unreachable'));
    expect(await open(domain, aCase('authority_refused'), later(noon, HOUR))).toBe('opened');
    expect(await casesOf(domain)).toMatchObject([
      { cause: 'authority_unreachable', closedAt: later(noon, HOUR) },
      { cause: 'authority_refused', openedAt: later(noon, HOUR), closedAt: null },
    ]);
    expect(await eventsOf(domain)).toEqual([
      'escalation.opened',
      'escalation.closed',
      'escalation.opened',
    ]);
    const closed = await stored.database.prisma.event.findFirst({
      where: { domainId: domain.id, type: 'escalation.closed' },
    });
    expect(closed?.data).toEqual({ cause: 'authority_unreachable', reason: 'cause_changed' });
  });

  /** Saves a check with a missing record and an escalation, as the worker does. */
  function takeBack(domain: LoadedDomain, escalation: NewEscalation) {
    return createCheckStore(stored.database).save({ ...aCheckSave(domain, missing), escalation });
  }

  it.skipIf(!available)('are saved atomically with the way back to pending', async () => {
    const domain = await stored.verified('back.example.com');
    expect(await takeBack({ ...domain, version: 7 }, aCase('dns_changed'))).toEqual({
      kind: 'stale',
    });
    expect(await casesOf(domain)).toEqual([]);
    expect(await takeBack(domain, aCase('dns_changed'))).toEqual({ kind: 'saved', epoch: 2 });
    expect((await stored.load(domain.id)).state.status).toBe('pending');
    expect(await casesOf(domain)).toMatchObject([{ cause: 'dns_changed', closedAt: null }]);
    expect((await stored.events(domain)).slice(-2)).toEqual([
      'domain.unverified',
      'escalation.opened',
    ]);
    expect(await open(domain, aCase('platform_fault'))).toBe('gone');
  });

  it.skipIf(!available)('end with a removal', async () => {
    const domain = await stored.verified('removed.example.com');
    await open(domain, aCase('platform_fault'));
    await createDomainStore(stored.database.prisma).remove(
      wholeInstallation,
      { projectId: domain.projectId, hostname: domain.hostname },
      { at: later(noon, HOUR) },
    );
    expect(await casesOf(domain)).toMatchObject([{ closedAt: later(noon, HOUR) }]);
    expect(await open(domain, aCase('platform_fault'))).toBe('gone');
    expect((await eventsOf(domain)).at(-1)).toBe('escalation.closed');
  });

  it.skipIf(!available)('are listed newest first in pages, open or closed', async () => {
    const prisma = stored.database.prisma;
    await prisma.escalation.deleteMany();
    const domain = await stored.verified('list.example.com');
    const causes = ['caa_unknown', 'dns_unknown', 'authority_refused'] as const;
    for (const [index, cause] of causes.entries()) {
      await open(domain, aCase(cause), later(noon, index * HOUR));
    }
    const query = { status: null, after: null, limit: 2 } as const;
    const first = await loadEscalations(prisma, wholeInstallation, query);
    expect(first.rows.map(({ cause }) => cause)).toEqual(['authority_refused', 'dns_unknown']);
    expect(first.rows[0]?.domain).toEqual({
      projectId: domain.projectId,
      hostname: domain.hostname,
    });
    const rest = await loadEscalations(prisma, wholeInstallation, { ...query, after: first.next });
    expect(rest.rows.map(({ cause }) => cause)).toEqual(['caa_unknown']);
    expect(rest.next).toBeNull();
    const causesOf = async (status: 'open' | 'closed') =>
      (await loadEscalations(prisma, wholeInstallation, { ...query, status })).rows.map(
        ({ cause }) => cause,
      );
    expect(await causesOf('open')).toEqual(['authority_refused']);
    expect(await causesOf('closed')).toEqual(['dns_unknown', 'caa_unknown']);
  });

  it.skipIf(!available)('opened at the same moment are on one page each', async () => {
    const prisma = stored.database.prisma;
    await prisma.escalation.deleteMany();
    for (const label of ['a', 'b', 'c', 'd', 'e']) {
      await open(await stored.verified(`twin-${label}.example.com`), aCase('platform_fault'));
    }
    const seen: string[] = [];
    let after: ListPlace | null = null;
    do {
      const page: Page<EscalationRow> = await loadEscalations(prisma, wholeInstallation, {
        status: 'open',
        after,
        limit: 2,
      });
      seen.push(...page.rows.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    expect(seen).toHaveLength(5);
    expect(new Set(seen).size).toBe(5);
    expect(seen).toHaveLength(5);
  });
});
