import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { HOUR } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { moveDomain } from '../../src/db/domains/transitions.ts';
import { openEscalation, readEvidence } from '../../src/db/issuance/escalations.ts';
import { aChange, anObservation, later, missing, noon, right } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

describe.each(databasesOfRun())('saving checks on $name', ({ name, available }) => {
  let stored: StoredDomains;

  beforeAll(async () => {
    if (available) stored = await openStoredDomains(name);
  });
  afterAll(() => stored?.close());

  it.skipIf(!available)('stores an unchanged state with its finding, once', async () => {
    const domain = await stored.pending('one.example.com');
    expect(await stored.check(domain, missing)).toMatchObject({ kind: 'saved' });
    // The same job again, with the data it had loaded.
    expect(await stored.check(domain, missing)).toEqual({ kind: 'stale' });
    const saved = await stored.load(domain.id);
    expect(saved).toMatchObject({ attempts: 1, findings: missing.findings });
    expect(saved.nextCheckAt).toEqual(later(noon, 15_000));
    expect(await stored.check(saved, missing)).toMatchObject({ kind: 'saved' });
    expect(await stored.events(domain)).toEqual(['domain.added', 'domain.findings_changed']);
  });

  it.skipIf(!available)('stores many concurrent checks separately', async () => {
    const domains: LoadedDomain[] = [];
    for (let index = 0; index < 50; index += 1) {
      domains.push(await stored.pending(`many-${index}.example.com`));
    }
    const results = await Promise.all(domains.map((domain) => stored.check(domain, missing)));
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['saved']));
    const loaded = await Promise.all(domains.map(({ id }) => stored.load(id)));
    expect(loaded.map(({ attempts }) => attempts)).toEqual(domains.map(() => 1));
  });

  it.skipIf(!available)('stores the same check once when run twice at once', async () => {
    const domain = await stored.pending('twin.example.com');
    const results = await Promise.all([
      stored.check(domain, missing),
      stored.check(domain, missing),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['saved', 'stale']);
    expect(await stored.events(domain)).toEqual(['domain.added', 'domain.findings_changed']);
  });

  it.skipIf(!available)('makes one transition with one event when run twice', async () => {
    const domain = await stored.pending('twice.example.com');
    const results = await Promise.all([stored.check(domain, right), stored.check(domain, right)]);
    expect(results.map(({ kind }) => kind).sort()).toEqual(['saved', 'stale']);
    expect((await stored.load(domain.id)).state).toEqual({ status: 'verified', verifiedAt: noon });
    expect(await stored.events(domain)).toEqual(['domain.added', 'domain.verified']);
  });

  it.skipIf(!available)('ignores a late check after removal or verify', async () => {
    const store = createDomainStore(stored.database.prisma);
    const domain = await stored.pending('late.example.com');
    await store.requestVerify(wholeInstallation, domain.projectId, domain.hostname, noon);
    expect(await stored.check(domain, missing)).toEqual({ kind: 'stale' });
    expect(await stored.check(domain, right)).toEqual({ kind: 'stale' });
    const again = await stored.load(domain.id);
    await store.remove(
      wholeInstallation,
      { projectId: domain.projectId, hostname: domain.hostname },
      { at: noon },
    );
    expect(await stored.check(again, missing)).toEqual({ kind: 'stale' });
    expect(await stored.check(again, right)).toEqual({ kind: 'stale' });
  });

  it.skipIf(!available)('moves a name to the project of its CNAME, with an event', async () => {
    const [loser, winner] = [
      await stored.pending('moves.example.com'),
      await stored.pending('moves.example.com'),
    ];
    await stored.check(loser, right);
    expect(await stored.check(winner, right)).toMatchObject({ kind: 'saved' });
    expect((await stored.load(winner.id)).state.status).toBe('verified');
    expect(await stored.load(loser.id)).toMatchObject({ state: { status: 'pending' }, epoch: 2 });
    expect((await stored.events(loser)).at(-1)).toBe('domain.claimed_elsewhere');
  });

  it.skipIf(!available)('keeps an apex with the project that holds it', async () => {
    const holder = await stored.verified('apex-example.com');
    const other = await stored.pending('apex-example.com');
    const held = { kind: 'unproven', because: 'held', rivals: [holder.id] };
    expect(await stored.check(other, right)).toEqual(held);
    // A proof that was not compared with the holder's record is ignored.
    expect(await stored.check(other, right, noon, [other.id])).toEqual(held);
    expect((await stored.load(holder.id)).state.status).toBe('verified');
    expect((await stored.load(other.id)).state.status).toBe('pending');
    expect(await stored.check(other, right, noon, [holder.id])).toMatchObject({
      kind: 'saved',
      lost: { id: holder.id, epoch: 2, change: { to: { status: 'pending', pendingSince: noon } } },
    });
    expect((await stored.load(holder.id)).state.status).toBe('pending');
    expect((await stored.load(other.id)).state.status).toBe('verified');
  });

  it.skipIf(!available)('does the same for the apex of a delegated zone', async () => {
    const hostname = 'own-zone.example.com';
    const holder = await stored.pending(hostname);
    await stored.check(holder, right);
    const other = await stored.pending(hostname);
    const zone = { parent: 'example.com', atParent: [], atZone: null, ttlSeconds: 60 };
    const delegation = { kind: 'delegated', zone: hostname, ...zone } as const;
    const observation = { ...anObservation(), delegation };
    const to = { status: 'verified', verifiedAt: noon } as const;
    const change = aChange({ kind: 'moved', to });
    const observed = { kind: 'observed', observation } as const;
    const move = { domain: other, observed, change, at: noon };
    expect(await moveDomain(stored.database.prisma, move)).toMatchObject({
      kind: 'unproven',
      rivals: [holder.id],
    });
  });

  it.skipIf(!available)('verifies no apex by its addresses while two claim it', async () => {
    const first = await stored.pending('contested-example.com');
    const second = await stored.pending('contested-example.com');
    const inTheWay = ({ id }: LoadedDomain) => ({
      kind: 'unproven',
      because: 'held',
      rivals: [id],
    });
    expect(await stored.check(second, right)).toEqual(inTheWay(first));
    expect(await stored.check(first, right)).toEqual(inTheWay(second));
    for (const { id } of [first, second]) {
      expect(await stored.load(id)).toMatchObject({ epoch: 1, state: { status: 'pending' } });
    }
  });

  it.skipIf(!available)('compares with every other claim when three claim an apex', async () => {
    const hostname = 'three-example.com';
    const all = [
      await stored.pending(hostname),
      await stored.pending(hostname),
      await stored.pending(hostname),
    ];
    const [first, second, third] = all.map(({ id }) => id) as [string, string, string];
    const unproven = (...rivals: readonly string[]) => ({
      kind: 'unproven',
      because: 'held',
      rivals,
    });
    const check = async (id: string, against?: readonly string[]) =>
      stored.check(await stored.load(id), right, noon, against);
    expect((await check(second)).kind).toBe('unproven');
    // A proof against one of two others is none.
    expect((await check(second, [first])).kind).toBe('unproven');
    expect(await check(second, [third, first])).toMatchObject({ kind: 'saved' });
    const held = await check(third);
    expect(held).toEqual(unproven(second, first));
    expect(await check(third, [first])).toEqual(held);
  });

  it.skipIf(!available)('reserves no name for an unverified claim', async () => {
    const [first, second] = [
      await stored.pending('free-example.com'),
      await stored.pending('free-example.com'),
    ];
    const saved = await stored.check(second, right, noon, [first.id]);
    expect(saved).toMatchObject({ kind: 'saved' });
    expect(saved).not.toHaveProperty('lost');
    expect((await stored.load(second.id)).state.status).toBe('verified');
    expect(await stored.load(first.id)).toMatchObject({ epoch: 1, state: { status: 'pending' } });
    expect(await stored.events(first)).toEqual(['domain.added']);
  });

  it.skipIf(!available)('gives a name to one of several domains right at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const hostname = `race-${round}-example.com`;
      const all = [
        await stored.pending(hostname),
        await stored.pending(hostname),
        await stored.pending(hostname),
      ];
      for (const domain of all) await stored.check(domain, missing);
      const data = { status: 'failed', failedAt: noon } as const;
      await stored.database.prisma.domain.updateMany({ where: { hostname }, data });
      const failed = await Promise.all(all.map(({ id }) => stored.load(id)));
      const results = await Promise.all(failed.map((domain) => stored.check(domain, right)));
      expect(results.filter(({ kind }) => kind === 'saved')).toHaveLength(1);
      const loaded = await Promise.all(all.map(({ id }) => stored.load(id)));
      expect(loaded.filter(({ state }) => state.status === 'verified')).toHaveLength(1);
    }
  });

  it.skipIf(!available)('keeps one escalation open, also back in pending', async () => {
    const domain = await stored.pending('case.example.com');
    await stored.check(domain, right);
    const escalation = {
      cause: 'authority_refused',
      summary: 'No.',
      nextAction: 'Again.',
      evidence: readEvidence({}),
    } as const;
    const times = { at: noon, againAt: later(noon, HOUR) };
    const open = () => openEscalation(stored.database.prisma, domain, escalation, times);
    expect((await Promise.all([open(), open()])).sort()).toEqual(['kept', 'opened']);
    expect(
      await stored.check(await stored.load(domain.id), missing, later(noon, HOUR)),
    ).toMatchObject({
      epoch: 2,
    });
    expect(await stored.events(domain)).toEqual([
      'domain.added',
      'domain.verified',
      'escalation.opened',
      'domain.findings_changed',
      'domain.unverified',
    ]);
    expect(await open()).toBe('gone');
  });
});
