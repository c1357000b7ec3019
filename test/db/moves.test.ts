import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoadedDomain } from '../../src/db/domain-row.ts';
import { createDomainStore } from '../../src/db/domains.ts';
import { openEscalation } from '../../src/db/escalations.ts';
import { later, missing, noon, right } from '../support/builders.ts';
import { storages } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const HOUR = 3_600_000;

describe.each(storages)('saving looks on $name', ({ name, available }) => {
  let stored: StoredDomains;

  beforeAll(async () => {
    if (available) stored = await openStoredDomains(name);
  });
  afterAll(() => stored?.close());

  it.skipIf(!available)('a look that moves nothing is saved with its finding, once', async () => {
    const domain = await stored.pending('one.example.com');
    expect(await stored.look(domain, missing)).toMatchObject({ kind: 'saved' });
    // The same job a second time, with what it had loaded.
    expect(await stored.look(domain, missing)).toEqual({ kind: 'stale' });
    const saved = await stored.load(domain.id);
    expect(saved).toMatchObject({ attempts: 1, findings: missing.findings });
    expect(saved.nextCheckAt).toEqual(later(noon, 15_000));
    expect(await stored.look(saved, missing)).toMatchObject({ kind: 'saved' });
    expect(await stored.events(domain)).toEqual(['domain.added', 'domain.findings_changed']);
  });

  it.skipIf(!available)('many looks at once are all saved, each its own', async () => {
    const domains: LoadedDomain[] = [];
    for (let index = 0; index < 50; index += 1) {
      domains.push(await stored.pending(`many-${index}.example.com`));
    }
    const results = await Promise.all(domains.map((domain) => stored.look(domain, missing)));
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['saved']));
    const loaded = await Promise.all(domains.map(({ id }) => stored.load(id)));
    expect(loaded.map(({ attempts }) => attempts)).toEqual(domains.map(() => 1));
  });

  it.skipIf(!available)('the same look twice at once is saved once', async () => {
    const domain = await stored.pending('twin.example.com');
    const results = await Promise.all([stored.look(domain, missing), stored.look(domain, missing)]);
    expect(results.map(({ kind }) => kind)).toEqual(['saved', 'stale']);
    expect(await stored.events(domain)).toEqual(['domain.added', 'domain.findings_changed']);
  });

  it.skipIf(!available)('a transition run twice is one transition with one event', async () => {
    const domain = await stored.pending('twice.example.com');
    const results = await Promise.all([stored.look(domain, right), stored.look(domain, right)]);
    expect(results.map(({ kind }) => kind).sort()).toEqual(['saved', 'stale']);
    expect((await stored.load(domain.id)).state).toEqual({ status: 'verified', verifiedAt: noon });
    expect(await stored.events(domain)).toEqual(['domain.added', 'domain.verified']);
  });

  it.skipIf(!available)('a late look changes nothing after removal or verify', async () => {
    const store = createDomainStore(stored.database.prisma);
    const domain = await stored.pending('late.example.com');
    await store.requestVerify(domain.projectId, domain.hostname, noon, 48 * HOUR);
    expect(await stored.look(domain, missing)).toEqual({ kind: 'stale' });
    expect(await stored.look(domain, right)).toEqual({ kind: 'stale' });
    const again = await stored.load(domain.id);
    await store.remove(domain.projectId, domain.hostname, noon);
    expect(await stored.look(again, missing)).toEqual({ kind: 'stale' });
    expect(await stored.look(again, right)).toEqual({ kind: 'stale' });
  });

  it.skipIf(!available)(
    'a name moves to the project that its CNAME points to, and the loser is told',
    async () => {
      const [loser, winner] = [
        await stored.pending('moves.example.com'),
        await stored.pending('moves.example.com'),
      ];
      await stored.look(loser, right);
      expect(await stored.look(winner, right)).toMatchObject({ kind: 'saved' });
      expect((await stored.load(winner.id)).state.status).toBe('verified');
      expect(await stored.load(loser.id)).toMatchObject({ state: { status: 'pending' }, epoch: 2 });
      expect((await stored.events(loser)).at(-1)).toBe('domain.claimed_elsewhere');
    },
  );

  it.skipIf(!available)('an apex stays with the project that holds it', async () => {
    const [holder, other] = [
      await stored.pending('apex-example.com'),
      await stored.pending('apex-example.com'),
    ];
    await stored.look(holder, right);
    expect(await stored.look(other, right)).toEqual({ kind: 'held_elsewhere' });
    expect((await stored.load(holder.id)).state.status).toBe('verified');
    expect((await stored.load(other.id)).state.status).toBe('pending');
  });

  it.skipIf(!available)(
    'one case is open at most, and ends when its domain leaves verified',
    async () => {
      const domain = await stored.pending('case.example.com');
      await stored.look(domain, right);
      const escalation = { cause: 'authority_refused', nextAction: 'Again.', evidence: {} };
      const open = () => openEscalation(stored.database.prisma, domain, escalation, noon);
      expect((await Promise.all([open(), open()])).sort()).toEqual([false, true]);
      expect(
        await stored.look(await stored.load(domain.id), missing, later(noon, HOUR)),
      ).toMatchObject({
        epoch: 2,
      });
      expect(await stored.events(domain)).toEqual([
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
