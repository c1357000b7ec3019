import { describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave, MoveResult } from '../../src/db/domains/transitions.ts';
import type { NextWork } from '../../workers/check-dns.ts';
import { type CheckDnsDeps, checkDns } from '../../workers/check-dns.ts';
import type { Claim } from '../../workers/resolve-claim.ts';
import {
  aChange,
  aDomain,
  anObservation,
  checkRules,
  later,
  missing,
  noon,
  right,
  unknown,
} from '../support/builders.ts';

const HOUR = 3_600_000;
const job = { domainId: aDomain().id, epoch: 1 };

type Situation = {
  readonly domain?: LoadedDomain | undefined;
  readonly result?: Diagnosis;
  readonly saved?: readonly MoveResult[];
  readonly now?: Date;
  readonly claim?: Claim;
};

/** The job's dependencies as plain values; saves and follow-up jobs are recorded. */
function world({ domain = aDomain(), result = right, saved = [], now = noon, claim }: Situation) {
  const saves: CheckSave[] = [];
  const followed: NextWork[] = [];
  const followedIds: string[] = [];
  const results = [...saved];
  const deps: CheckDnsDeps = {
    load: async (id) => (id === domain.id ? domain : undefined),
    observeAgain: async () => ({ kind: 'observed', observation: anObservation() }),
    diagnose: async () => result,
    save: async (check) => {
      saves.push(check);
      return results.shift() ?? { kind: 'saved', epoch: check.domain.epoch };
    },
    resolveClaim: async () => {
      if (claim === undefined) throw new Error('unexpected claim');
      return claim;
    },
    enqueueFollowUps: async ({ id }, outcome) => {
      followed.push(outcome);
      followedIds.push(id);
    },
    rules: checkRules,
    now: () => now,
  };
  return { deps, saves, followed, followedIds };
}

describe('a check of a pending domain', () => {
  it('verifies it when the DNS is right, and enqueues its order', async () => {
    const { deps, saves, followed } = world({ result: right });
    expect(await checkDns(deps, job)).toEqual({ kind: 'done' });
    expect(saves[0]?.outcome).toMatchObject({
      kind: 'moved',
      to: { status: 'verified', verifiedAt: noon },
      events: [{ type: 'domain.verified' }],
      nextCheckAt: noon,
      escalateAt: later(noon, HOUR / 2),
    });
    expect(followed).toHaveLength(1);
  });

  it('keeps its findings without a new diagnosis when the DNS is unchanged', async () => {
    const observation = anObservation();
    const domain = aDomain({ observation, findings: missing.findings, attempts: 3 });
    const { deps, saves } = world({ domain, result: right });
    const outcome = await checkDns(
      { ...deps, observeAgain: async () => ({ kind: 'unchanged', observation }) },
      job,
    );
    expect(outcome).toEqual({ kind: 'again', at: later(noon, 15_000), note: 'record_missing' });
    expect(saves[0]?.outcome).toMatchObject({ kind: 'stayed', events: [] });
  });

  it('retries the claim of a name held elsewhere even if its DNS is unchanged', async () => {
    const observation = anObservation();
    const findings = [{ code: 'held_elsewhere', hostname: 'docs.shop.test' }] as const;
    const { deps, saves } = world({ domain: aDomain({ observation, findings }), result: right });
    await checkDns(
      { ...deps, observeAgain: async () => ({ kind: 'unchanged', observation }) },
      job,
    );
    expect(saves[0]?.outcome).toMatchObject({ to: { status: 'verified' } });
  });

  it('stores the finding and schedules the next check', async () => {
    const { deps, saves } = world({ result: missing });
    const at = later(noon, 15_000);
    expect(await checkDns(deps, job)).toEqual({ kind: 'again', at, note: 'record_missing' });
    expect(saves[0]?.outcome).toMatchObject({
      kind: 'stayed',
      findings: missing.findings,
      events: [{ type: 'domain.findings_changed', appeared: missing.findings, cleared: [] }],
      nextCheckAt: at,
    });
  });

  it('fires one event per finding, however often it is seen', async () => {
    const domain = aDomain({ findings: missing.findings });
    const { deps, saves } = world({ domain, result: missing });
    await checkDns(deps, job);
    expect(saves[0]?.outcome.events).toEqual([]);
  });

  it('does not move it when the DNS is unknown', async () => {
    const { deps, saves } = world({ result: unknown });
    expect(await checkDns(deps, job)).toMatchObject({ kind: 'again', note: 'dns_unknown' });
    expect(saves[0]?.outcome).toMatchObject({ kind: 'stayed', to: { status: 'pending' } });
  });

  it('fails it after 48 hours, with the reason', async () => {
    const { deps, saves } = world({ result: missing, now: later(noon, 48 * HOUR) });
    expect(await checkDns(deps, job)).toEqual({
      kind: 'over',
      reason: 'window ended: record_missing',
    });
    expect(saves[0]?.outcome).toMatchObject({ to: { status: 'failed' }, nextCheckAt: null });
  });

  it('never schedules a check past the end of the window', async () => {
    const { deps } = world({ result: missing, now: later(noon, 48 * HOUR - 1_000) });
    expect(await checkDns(deps, job)).toMatchObject({ at: later(noon, 48 * HOUR) });
  });

  it('runs again at once when another save came first', async () => {
    const { deps, followed } = world({ result: right, saved: [{ kind: 'stale' }] });
    expect(await checkDns(deps, job)).toMatchObject({ kind: 'again', at: later(noon, 1_000) });
    expect(followed).toEqual([]);
  });

  const held = { kind: 'held_elsewhere', holderProjectId: 'another' } as const;

  it('reports that another project holds the apex, and keeps waiting', async () => {
    const finding = { code: 'held_elsewhere', hostname: 'docs.shop.test' } as const;
    const claim = { kind: 'held', result: { verdict: 'wrong', findings: [finding] } } as const;
    const { deps, saves } = world({ result: right, saved: [held], claim });
    expect(await checkDns(deps, job)).toMatchObject({ kind: 'again', note: 'held_elsewhere' });
    expect(saves[1]?.outcome).toMatchObject({ kind: 'stayed', findings: [finding] });
    expect(saves[1]).not.toHaveProperty('provenAgainst');
  });

  it('takes the name with its TXT record, and enqueues a check of the other project’s domain', async () => {
    const lost = { id: 'theirs', epoch: 4, change: aChange({ kind: 'moved', epoch: 'next' }) };
    const saved = [held, { kind: 'saved', epoch: 1, lost } as const];
    const { deps, saves, followed, followedIds } = world({ saved, claim: { kind: 'proven' } });
    expect(await checkDns(deps, job)).toEqual({ kind: 'done' });
    expect(saves[1]).toMatchObject({ provenAgainst: 'another', outcome: { kind: 'moved' } });
    expect(followedIds).toEqual(['theirs', job.domainId]);
    expect(followed[0]).toBe(lost.change);
  });

  it('judges the proof again when the name has moved to a third project', async () => {
    const third = { ...held, holderProjectId: 'a third' };
    const { deps, saves } = world({ saved: [held, third], claim: { kind: 'proven' } });
    expect(await checkDns(deps, job)).toEqual({ kind: 'done' });
    expect(saves.map(({ provenAgainst }) => provenAgainst)).toEqual([
      undefined,
      'another',
      'a third',
    ]);
  });
});

describe('a check that comes too late', () => {
  it.each([
    ['of a removed domain', { domainId: '00000000-0000-4000-8000-00000000dead', epoch: 1 }],
    ['of an earlier epoch', { domainId: job.domainId, epoch: 0 }],
  ])('%s changes nothing', async (_title, late) => {
    const { deps, saves, followed } = world({});
    expect(await checkDns(deps, late)).toEqual({ kind: 'done' });
    expect([saves, followed]).toEqual([[], []]);
  });

  it('enqueues the follow-up job that a killed worker did not', async () => {
    const domain = aDomain({
      state: { status: 'verified', verifiedAt: noon },
      escalateAt: later(noon, HOUR / 2),
    });
    const { deps, saves, followed } = world({ domain });
    expect(await checkDns(deps, job)).toEqual({ kind: 'done' });
    expect(saves).toEqual([]);
    expect(followed).toMatchObject([
      { to: { status: 'verified' }, nextCheckAt: noon, escalateAt: domain.escalateAt },
    ]);
  });
});
