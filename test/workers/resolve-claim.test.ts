/** Two projects with one name: who gets it after a right check, in a real database. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DomainStatus } from '../../src/core/life/lifecycle.ts';
import { HOUR } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createEdgeLookups } from '../../src/db/domains/edge-lookups.ts';
import { later, missing, noon } from '../support/builders.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';
import {
  answers,
  checkRight,
  observedAt,
  type Place,
  proofFor,
  type Two,
  type Txt,
} from './claim-world.ts';

const statuses: readonly DomainStatus[] = ['pending', 'verified', 'live', 'drifted', 'failed'];
const holding: readonly DomainStatus[] = ['verified', 'live', 'drifted'];
let stored: StoredDomains;
let count = 0;

beforeAll(async () => {
  stored = await openStoredDomains();
});
afterAll(() => stored.close());

/** Two projects with the same name; the first one's domain is in this state. The records came later. */
async function two(hostname: string, status: DomainStatus): Promise<Two> {
  const { id } = await stored.pending(hostname);
  const claimant = await stored.pending(hostname);
  for (const one of [id, claimant.id]) await stored.check(await stored.load(one), missing);
  await stored.database.prisma.domain.update({ where: { id }, data: { status } });
  return { holder: await stored.load(id), claimant: await stored.load(claimant.id) };
}

/** Of a domain that was verified in its first epoch. */
const certificateJobs = ({ id }: LoadedDomain) =>
  ['issue-certificate', 'escalate-certificate'].map((queue) => `${queue} ${id}.1`);

type Case = { readonly place: Place; readonly status: DomainStatus; readonly txt: Txt };
const rows: readonly Case[] = (['apex', 'sub', 'proxied'] as const).flatMap((place) =>
  statuses.flatMap((status) =>
    (Object.keys(answers) as Txt[]).map((txt) => ({ place, status, txt })),
  ),
);
const isTaken = ({ place, txt }: Case) => place === 'sub' || txt === 'claimant';
/** A pending claim on an apex blocks another one like a holder, but loses nothing. */
const isFree = (row: Case) => row.status === 'failed' || (row.status === 'pending' && isTaken(row));
const free = rows.filter(isFree);
const held = rows.filter(({ status }) => holding.includes(status));

function aPair({ place, status }: Case): Promise<Two> {
  count += 1;
  return two(place === 'apex' ? `claim-${count}.example` : `docs.claim-${count}.example`, status);
}

function claimEvents(domainId: string) {
  const where = { domainId, type: 'domain.claimed_elsewhere' };
  return stored.database.prisma.event.findMany({ where, select: { data: true } });
}

describe('a right check of a name that another project has added', () => {
  it.each(free)('verifies it at the $place when theirs is $status, TXT: $txt', async (row) => {
    const pair = await aPair(row);
    const { followed } = await checkRight(stored, pair, row.txt, observedAt[row.place]);
    expect((await stored.load(pair.claimant.id)).state.status).toBe('verified');
    expect(await stored.load(pair.holder.id)).toMatchObject({ epoch: 1, state: pair.holder.state });
    expect(await claimEvents(pair.holder.id)).toEqual([]);
    expect(followed).toEqual(certificateJobs(pair.claimant));
  });

  const taken = held.filter(isTaken);
  it.each(taken)('takes it at the $place when theirs is $status, TXT: $txt', async (row) => {
    const pair = await aPair(row);
    const { followed } = await checkRight(stored, pair, row.txt, observedAt[row.place]);
    expect((await stored.load(pair.claimant.id)).state.status).toBe('verified');
    const lost = await stored.load(pair.holder.id);
    expect(lost).toMatchObject({ epoch: 2, state: { status: 'pending', pendingSince: noon } });
    const proof = row.place === 'sub' ? 'cname' : 'txt';
    const { hostname, target } = pair.claimant;
    const found = proof === 'cname' ? target : `_signpost.${hostname}`;
    expect(await claimEvents(lost.id)).toEqual([{ data: { proof, found } }]);
    expect(followed).toEqual([`check-dns ${lost.id}.2`, ...certificateJobs(pair.claimant)]);
  });

  const seen = {
    none: 'missing',
    holder: 'missing',
    both: 'both',
    garbage: 'missing',
    unknown: 'unknown',
  };
  const kept = rows.filter((row) => !isFree(row) && !isTaken(row));
  it.each(kept)('leaves it at the $place, $status, TXT: $txt', async (row) => {
    const pair = await aPair(row);
    const { outcome, followed } = await checkRight(stored, pair, row.txt, observedAt[row.place]);
    expect(await stored.load(pair.holder.id)).toMatchObject({ epoch: 1, state: pair.holder.state });
    expect(await claimEvents(pair.holder.id)).toEqual([]);
    const { id, hostname } = pair.claimant;
    const value = proofFor(id, hostname);
    const fullName = `_signpost.${hostname}`;
    const name = row.place === 'proxied' ? '_signpost.docs' : '_signpost';
    const record = { type: 'TXT', name, fullName, value };
    const proof = { record, seen: seen[row.txt as keyof typeof seen] };
    const { state, findings } = await stored.load(pair.claimant.id);
    expect(state.status).toBe('pending');
    expect(findings).toMatchObject([{ code: 'held_elsewhere', hostname, proof }]);
    expect(outcome?.findings).toEqual(findings);
    expect(followed).toEqual([]);
  });
});

describe('a project that loses a name', () => {
  it('loses its order, escalation, renewal and visitors, and gets a new check', async () => {
    const pair = await two('everything.example', 'live');
    const { prisma } = stored.database;
    const { id: domainId, hostname } = pair.holder;
    const sealedKey = new Uint8Array(1);
    const dates = { renewAt: noon, recheckAt: noon, escalateAt: noon };
    await prisma.domain.update({ where: { id: domainId }, data: dates });
    const order = { id: randomUUID(), domainId, hostname, sealedKey };
    await prisma.certificate.create({ data: { ...order, status: 'ordering' } });
    const issued = { ...order, id: randomUUID(), status: 'issued', chain: 'x' } as const;
    await prisma.certificate.create({
      data: { ...issued, expiresAt: later(new Date(), 24 * HOUR) },
    });
    const challenge = { token: 't', keyAuthorization: 't.k', hostname, certificateId: order.id };
    await prisma.challenge.create({ data: challenge });
    const about = { cause: 'authority_refused', evidence: {}, nextAction: '', openedAt: noon };
    await prisma.escalation.create({ data: { id: randomUUID(), domainId, ...about } });
    const lookups = createEdgeLookups(stored.database);
    expect(await lookups.findRoute(hostname)).toMatchObject({ certificateId: issued.id });

    await checkRight(stored, pair, 'claimant');

    expect(await lookups.findRoute(hostname)).toMatchObject({ certificateId: null });
    expect(await lookups.findChallenge('t', hostname)).toBeNull();
    expect(await prisma.domain.findUnique({ where: { id: domainId } })).toMatchObject({
      status: 'pending',
      pendingSince: noon,
      nextCheckAt: noon,
      attempts: 0,
      recheckAt: null,
      renewAt: null,
      escalateAt: null,
    });
    expect(await prisma.certificate.count({ where: { domainId, status: 'ordering' } })).toBe(0);
    expect(await stored.events(pair.holder)).toEqual([
      'domain.added',
      'domain.findings_changed',
      'domain.claimed_elsewhere',
      'escalation.closed',
    ]);
  });
});

describe('two projects with concurrent right checks of an apex', () => {
  const statusesOf = async ({ claimant, holder }: Two) =>
    [await stored.load(claimant.id), await stored.load(holder.id)].map(({ state }) => state.status);

  it('both get the record that proves ownership, and neither has the apex', async () => {
    const pair = await two('at-once.example', 'pending');
    const swapped = { claimant: pair.holder, holder: pair.claimant };
    const checks = await Promise.all([
      checkRight(stored, pair, 'none'),
      checkRight(stored, swapped, 'none'),
    ]);
    expect(await statusesOf(pair)).toEqual(['pending', 'pending']);
    const codes = checks.map(({ outcome }) => outcome?.findings.map(({ code }) => code));
    expect(codes).toEqual([['held_elsewhere'], ['held_elsewhere']]);
  });

  it('give it to the one with the record', async () => {
    const pair = await two('at-once-proven.example', 'pending');
    const swapped = { claimant: pair.holder, holder: pair.claimant };
    await Promise.all([
      checkRight(stored, pair, 'claimant'),
      checkRight(stored, swapped, 'holder'),
    ]);
    expect(await statusesOf(pair)).toEqual(['verified', 'pending']);
  });
});

describe('an apex pending in two projects', () => {
  const endings: readonly [
    string,
    Parameters<typeof stored.database.prisma.domain.update>[0]['data'],
  ][] = [
    ['removed', { removedAt: noon, nextCheckAt: null }],
    ['failed at the end of its window', { status: 'failed', failedAt: noon, nextCheckAt: null }],
  ];
  it.each(endings)('goes to one by its addresses once the other is %s', async (_how, data) => {
    count += 1;
    const pair = await two(`ends-${count}.example`, 'pending');
    await checkRight(stored, pair, 'none');
    const claimant = await stored.load(pair.claimant.id);
    expect(claimant.state.status).toBe('pending');
    await stored.database.prisma.domain.update({ where: { id: pair.holder.id }, data });
    await checkRight(stored, { ...pair, claimant }, 'none');
    const { state, findings } = await stored.load(claimant.id);
    expect({ status: state.status, findings }).toEqual({ status: 'verified', findings: [] });
  });

  it('stays blocked for the second once the first has proven it', async () => {
    const pair = await two('proven-first.example', 'pending');
    await checkRight(stored, pair, 'claimant');
    const swapped = { claimant: pair.holder, holder: pair.claimant };
    const { outcome } = await checkRight(stored, swapped, 'holder');
    expect(outcome?.findings).toMatchObject([
      { code: 'held_elsewhere', proof: { seen: 'missing' } },
    ]);
    expect((await stored.load(pair.claimant.id)).state.status).toBe('verified');
  });

  it('is found by an index among any number of hostnames', async () => {
    const { prisma } = stored.database;
    const plan = await prisma.$transaction(async (tx) => {
      const project = { id: randomUUID(), name: 'Many', slug: 'many' };
      await tx.project.create({ data: project });
      await tx.$executeRaw`
        INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since)
        SELECT gen_random_uuid(), ${project.id}::uuid, 'd' || n || '.example', 'x', 'pending', now(), now()
        FROM generate_series(1, 5000) AS n`;
      await tx.$executeRaw`ANALYZE domain`;
      return tx.$queryRaw<{ 'QUERY PLAN': string }[]>`
        EXPLAIN SELECT * FROM domain WHERE hostname = 'x.example' AND removed_at IS NULL
          AND status IN ('pending', 'verified', 'live', 'drifted')
        ORDER BY status DESC, added_at, id LIMIT 1`;
    });
    const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
    expect(lines).toMatch(/domain_hostname_idx[\s\S]*Index Cond: \(hostname = /);
  });
});
