/** What a claim knows and proves, in a real database: its nonce, how its addresses came, and what others had. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore, type DomainStore } from '../../src/db/domains/domains.ts';
import { granted } from '../support/access.ts';
import { later, missing, noon, right, unknown } from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const DAY = 24 * 3_600_000;

describe.each(databasesOfRun())('claims on $name', ({ name, available }) => {
  let stored: StoredDomains;
  let domains: DomainStore;

  beforeAll(async () => {
    if (!available) return;
    stored = await openStoredDomains(name);
    domains = createDomainStore(stored.database.prisma);
  });
  afterAll(() => stored?.close());

  const set = (id: string, data: object) =>
    stored.database.prisma.domain.update({ where: { id }, data });
  const inAccount = async ({ projectId }: LoadedDomain) => {
    const account = { id: randomUUID(), name: 'Another' };
    await stored.database.prisma.account.create({ data: account });
    await stored.database.prisma.project.update({
      where: { id: projectId },
      data: { accountId: account.id },
    });
  };
  const remove = ({ projectId, hostname }: LoadedDomain) =>
    domains.remove(granted.project(projectId), hostname, noon);
  /** A claim that no check has placed yet. */
  async function unplaced(hostname: string): Promise<LoadedDomain> {
    const { id } = await stored.pending(hostname);
    await set(id, { arrival: null });
    return stored.load(id);
  }
  async function held(hostname: string): Promise<LoadedDomain> {
    const { id } = await stored.verified(hostname);
    await set(id, { status: 'live', certificateEndsAt: later(noon, DAY) });
    return stored.load(id);
  }

  it.skipIf(!available)('a nonce lasts as long as its claim', async () => {
    const domain = await stored.pending('nonce.com');
    const { projectId, hostname, target, claimNonce } = domain;
    const nonceNow = async () => (await stored.load(domain.id)).claimNonce;
    expect(claimNonce).toMatch(/^nonce of /);
    await domains.requestVerify(projectId, hostname, noon, 2 * DAY);
    expect(await nonceNow()).toBe(claimNonce);
    await stored.check(await stored.load(domain.id), right);
    expect(await nonceNow()).toBe(claimNonce);
    await remove(domain);
    const where = { id: domain.id };
    const removed = { claimNonce: null, arrival: null };
    expect(await stored.database.prisma.domain.findUnique({ where })).toMatchObject(removed);
    await domains.add({ projectId, hostname, target, claimNonce: 'the next' }, noon);
    expect(await stored.load(domain.id)).toMatchObject({ claimNonce: 'the next', arrival: null });
  });

  it.skipIf(!available)(
    'a loss of the name keeps the nonce, and its addresses no longer count',
    async () => {
      const loser = await stored.verified('docs.loss.com');
      const winner = await stored.pending('docs.loss.com');
      await stored.check(winner, right);
      const { claimNonce } = loser;
      expect(await stored.load(loser.id)).toMatchObject({ claimNonce, arrival: 'held_before' });
    },
  );

  it.skipIf(!available)(
    'the first check that could tell places a claim, and no later one',
    async () => {
      const domain = await unplaced('placed.com');
      await stored.check(domain, unknown);
      expect((await stored.load(domain.id)).arrival).toBeNull();
      await stored.check(await stored.load(domain.id), missing);
      expect((await stored.load(domain.id)).arrival).toBe('awaited');
      // The same findings as before: nothing else is written with it.
      await stored.check(await stored.load(domain.id), { ...missing, addresses: 'here' });
      expect((await stored.load(domain.id)).arrival).toBe('awaited');
      expect(await stored.check(await stored.load(domain.id), right)).toMatchObject({
        kind: 'saved',
      });
    },
  );

  const needs = (reason: string) => ({ kind: 'proof_needed', reason, rival: null });
  const proven = { against: null };

  it.skipIf(!available)(
    'an apex that points here at the first check needs its record',
    async () => {
      const domain = await unplaced('already.com');
      expect(await stored.check(domain, right)).toEqual(needs('already_here'));
      expect((await stored.load(domain.id)).state.status).toBe('pending');
      expect(await stored.check(domain, right, noon, proven)).toMatchObject({ kind: 'saved' });
      expect((await stored.load(domain.id)).state.status).toBe('verified');
    },
  );

  it.skipIf(!available)('a CNAME needs no record, whatever there was before', async () => {
    const other = await held('docs.had.com');
    await inAccount(other);
    await remove(other);
    const domain = await unplaced('docs.had.com');
    expect(await stored.check(domain, right)).toMatchObject({ kind: 'saved' });
  });

  it.skipIf(!available)(
    'an apex that another account had needs its record, removed or not',
    async () => {
      const before = await stored.verified('had.com');
      await inAccount(before);
      await remove(before);
      const [claimant, second] = [await stored.pending('had.com'), await stored.pending('had.com')];
      await remove(second);
      expect(await stored.check(claimant, right)).toEqual(needs('held_before'));
      expect(await stored.check(claimant, right, noon, proven)).toMatchObject({ kind: 'saved' });
    },
  );

  it.skipIf(!available)('not one that another project of the same account had', async () => {
    const before = await stored.verified('own.com');
    await remove(before);
    const claimant = await stored.pending('own.com');
    expect(await stored.check(claimant, right)).toMatchObject({ kind: 'saved' });
  });

  it.skipIf(!available)('nor one that another account only claimed', async () => {
    const before = await stored.pending('claimed.com');
    await inAccount(before);
    await remove(before);
    const claimant = await stored.pending('claimed.com');
    expect(await stored.check(claimant, right)).toMatchObject({ kind: 'saved' });
  });

  it.skipIf(!available).each(['verified', 'live', 'drifted'] as const)(
    'a %s apex is asked for nothing, whoever else claims or had it',
    async (status) => {
      const hostname = `holds-${status}.com`;
      const before = await stored.verified(hostname);
      await inAccount(before);
      await remove(before);
      const holder = await stored.pending(hostname);
      await stored.check(holder, right, noon, proven);
      await set(holder.id, { status, driftedAt: noon, arrival: 'already_here' });
      await stored.pending(hostname);
      const loaded = await stored.load(holder.id);
      expect(await stored.check(loaded, right)).toMatchObject({ kind: 'saved' });
      const after = await stored.load(holder.id);
      expect(after.state.status).toBe(status === 'drifted' ? 'live' : status);
      expect(after.epoch).toBe(loaded.epoch);
    },
  );

  it.skipIf(!available)('a served domain is loaded with what others have of its name', async () => {
    const hostname = 'others.com';
    const holder = await held(hostname);
    const othersNow = async () => (await stored.load(holder.id)).others;
    expect(await othersNow()).toBeNull();
    const claimant = await stored.pending(hostname);
    expect(await othersNow()).toEqual({ pending: true, held: false });
    expect(claimant.others).toBeNull();
    await remove(claimant);
    expect(await othersNow()).toEqual({ pending: false, held: false });
    await set(claimant.id, { certificateEndsAt: noon });
    expect(await othersNow()).toEqual({ pending: false, held: true });
  });
});
