import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CheckOutcome, judgeCheck } from '../../src/core/check.ts';
import { createCheckStore } from '../../src/db/checks.ts';
import { type Database, openDatabase } from '../../src/db/client.ts';
import type { LoadedDomain } from '../../src/db/domain-row.ts';
import { createDomainStore } from '../../src/db/domains.ts';
import { openEscalation } from '../../src/db/escalations.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { anObservation, later, missing, noon, right } from '../support/builders.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';

const HOUR = 3_600_000;

function outcomeOf(domain: LoadedDomain, look: typeof right, now = noon): CheckOutcome {
  return judgeCheck(domain, look, {
    now,
    windowMs: 48 * HOUR,
    escalateAfterMs: HOUR,
    jitter: 0.5,
    eager: false,
  });
}

describe.each(storages)('saving looks on $name', ({ name, available }) => {
  let fresh: FreshStorage;
  let database: Database;

  beforeAll(async () => {
    if (!available) return;
    fresh = await freshStorage(name);
    database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  });
  afterAll(async () => {
    if (!available) return;
    await database.close();
    await fresh.close();
  });

  async function aPending(hostname: string): Promise<LoadedDomain> {
    const slug = `p-${randomUUID()}`;
    const project = await createProjectStore(database.prisma).create({
      name: 'P',
      slug,
      plan: 'pro',
    });
    const added = await createDomainStore(database.prisma).add(
      { projectId: project?.id ?? '', hostname, target: `${slug}.edge.test` },
      noon,
    );
    return load(added?.id ?? '');
  }

  async function load(id: string): Promise<LoadedDomain> {
    const domain = await createCheckStore(database.prisma).load(id);
    if (domain === undefined) throw new Error('no such domain');
    return domain;
  }

  async function save(domain: LoadedDomain, look: typeof right, at = noon) {
    const outcome = outcomeOf(domain, look, at);
    const observation = anObservation();
    return createCheckStore(database.prisma).save({ domain, observation, outcome, at });
  }

  async function eventsOf({ id }: LoadedDomain): Promise<string[]> {
    const rows = await database.prisma.event.findMany({
      where: { domainId: id },
      orderBy: { id: 'asc' },
    });
    return rows.map(({ type }) => type);
  }

  it.skipIf(!available)('a look that moves nothing is saved with its finding, once', async () => {
    const domain = await aPending('one.example.com');
    expect(await save(domain, missing)).toMatchObject({ kind: 'saved' });
    // The same job a second time, with what it had loaded.
    expect(await save(domain, missing)).toEqual({ kind: 'stale' });
    const saved = await load(domain.id);
    expect(saved).toMatchObject({ attempts: 1, findings: missing.findings });
    expect(saved.nextCheckAt).toEqual(later(noon, 15_000));
    expect(await save(saved, missing)).toMatchObject({ kind: 'saved' });
    expect(await eventsOf(domain)).toEqual(['domain.added', 'domain.findings_changed']);
  });

  it.skipIf(!available)('many looks at once are all saved, each its own', async () => {
    const domains = await Promise.all(
      Array.from({ length: 50 }, (_, index) => aPending(`many-${index}.example.com`)),
    );
    const store = createCheckStore(database.prisma);
    const results = await Promise.all(
      domains.map((domain) =>
        store.save({
          domain,
          observation: anObservation(),
          outcome: outcomeOf(domain, missing),
          at: noon,
        }),
      ),
    );
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['saved']));
    const loaded = await Promise.all(domains.map(({ id }) => store.load(id)));
    expect(loaded.map((domain) => domain?.attempts)).toEqual(domains.map(() => 1));
  });

  it.skipIf(!available)('a transition run twice is one transition with one event', async () => {
    const domain = await aPending('twice.example.com');
    const results = await Promise.all([save(domain, right), save(domain, right)]);
    expect(results.map(({ kind }) => kind).sort()).toEqual(['saved', 'stale']);
    expect((await load(domain.id)).state).toEqual({ status: 'verified', verifiedAt: noon });
    expect(await eventsOf(domain)).toEqual(['domain.added', 'domain.verified']);
  });

  it.skipIf(!available)('a late look changes nothing after removal or verify', async () => {
    const store = createDomainStore(database.prisma);
    const domain = await aPending('late.example.com');
    await store.requestVerify(domain.projectId, domain.hostname, noon, 48 * HOUR);
    expect(await save(domain, missing)).toEqual({ kind: 'stale' });
    expect(await save(domain, right)).toEqual({ kind: 'stale' });
    const again = await load(domain.id);
    await store.remove(domain.projectId, domain.hostname, noon);
    expect(await save(again, missing)).toEqual({ kind: 'stale' });
    expect(await save(again, right)).toEqual({ kind: 'stale' });
  });

  it.skipIf(!available)(
    'a name moves to the project that its CNAME points to, and the loser is told',
    async () => {
      const [loser, winner] = [
        await aPending('moves.example.com'),
        await aPending('moves.example.com'),
      ];
      await save(loser, right);
      expect(await save(winner, right)).toMatchObject({ kind: 'saved' });
      expect((await load(winner.id)).state.status).toBe('verified');
      expect(await load(loser.id)).toMatchObject({ state: { status: 'pending' }, epoch: 2 });
      expect((await eventsOf(loser)).at(-1)).toBe('domain.claimed_elsewhere');
    },
  );

  it.skipIf(!available)('an apex stays with the project that holds it', async () => {
    const [holder, other] = [
      await aPending('apex-example.com'),
      await aPending('apex-example.com'),
    ];
    await save(holder, right);
    expect(await save(other, right)).toEqual({ kind: 'held_elsewhere' });
    expect((await load(holder.id)).state.status).toBe('verified');
    expect((await load(other.id)).state.status).toBe('pending');
  });

  it.skipIf(!available)(
    'one case is open at most, and ends when its domain leaves verified',
    async () => {
      const domain = await aPending('case.example.com');
      await save(domain, right);
      const escalation = { cause: 'authority_refused', nextAction: 'Again.', evidence: {} };
      const open = () => openEscalation(database.prisma, domain, escalation, noon);
      expect((await Promise.all([open(), open()])).sort()).toEqual([false, true]);
      expect(await save(await load(domain.id), missing, later(noon, HOUR))).toMatchObject({
        epoch: 2,
      });
      expect(await eventsOf(domain)).toEqual([
        'domain.added',
        'domain.verified',
        'escalation.opened',
        'escalation.closed',
        'domain.findings_changed',
        'domain.unverified',
      ]);
      expect(await open()).toBe(false);
    },
  );
});
