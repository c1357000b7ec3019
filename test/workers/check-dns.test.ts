import { describe, expect, it } from 'vitest';
import type { DnsAnswer } from '../../src/core/diagnosis/observation.ts';
import { domainQueues } from '../../src/core/operations/jobs.ts';
import { HOUR } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave, MoveResult } from '../../src/db/domains/transitions.ts';
import { checkDns } from '../../workers/check-dns.ts';
import { samples } from '../core/support/sample-findings.ts';
import { aChange, aDomain, anObservation, later, missing, noon } from '../support/builders.ts';
import { plainService, recordingQueues } from '../support/plain-service.ts';
import { type SeenAs, seenAs } from '../support/seen-as.ts';

const job = { domainId: aDomain().id, epoch: 1 };

type Situation = {
  readonly domain?: LoadedDomain;
  readonly seen?: SeenAs;
  /** A light check that found what was stored. */
  readonly unchanged?: true;
  readonly saved?: readonly MoveResult[];
  readonly now?: Date;
  /** The TXT records that could prove ownership. */
  readonly proofs?: readonly string[];
};

/** Saves and follow-up jobs are recorded. */
function world(situation: Situation) {
  const { domain = aDomain(), seen = 'right', saved = [], now = noon } = situation;
  const saves: CheckSave[] = [];
  const results = [...saved];
  const { jobs, queues } = recordingQueues();
  const observation = seenAs(seen);
  const service = plainService({
    checks: {
      load: async (id) => (id === domain.id ? domain : undefined),
      save: async (check) => {
        saves.push(check);
        return results.shift() ?? { kind: 'saved', epoch: check.domain.epoch };
      },
    },
    observer: {
      observe: async () => observation,
      observeAgain: async (_check, earlier) =>
        situation.unchanged
          ? { kind: 'unchanged', observation: earlier.observation }
          : { kind: 'observed', observation },
      lookupTexts: async () => [proofAnswer(situation.proofs ?? [])],
    },
    proofFor: (domainId: string) => `proof-of-${domainId}`,
    queues,
    now: () => now,
  });
  return { service, saves, jobs };
}

function proofAnswer([first, ...rest]: readonly string[]): DnsAnswer<string> {
  return first === undefined
    ? { kind: 'nodata' }
    : { kind: 'records', records: [first, ...rest], ttlSeconds: 60 };
}

const ours = `proof-of-${aDomain().id}`;

describe('a check of a pending domain', () => {
  it('verifies it when the DNS is right, and enqueues its order', async () => {
    const { service, saves, jobs } = world({ seen: 'right' });
    expect(await checkDns(service, job)).toEqual({ kind: 'done' });
    expect(saves[0]?.change).toMatchObject({
      kind: 'moved',
      to: { status: 'verified', verifiedAt: noon },
      events: [{ type: 'domain.verified' }],
      nextCheckAt: noon,
      escalateAt: later(noon, HOUR / 2),
    });
    const escalation = later(noon, HOUR / 2).toISOString();
    expect(jobs).toEqual([
      `issue-certificate ${job.domainId}.1 at ${noon.toISOString()}`,
      `escalate-certificate ${job.domainId}.1 at ${escalation}`,
    ]);
  });

  it('keeps its findings without a new diagnosis when the DNS is unchanged', async () => {
    const observation = anObservation();
    const domain = aDomain({ observation, findings: missing.findings, attempts: 3 });
    const { service, saves } = world({ domain, unchanged: true });
    const outcome = await checkDns(service, job);
    expect(outcome).toEqual({ kind: 'again', at: later(noon, 15_000), note: 'record_missing' });
    expect(saves[0]?.change).toMatchObject({ kind: 'stayed', events: [] });
  });

  it('retries the claim of a name held elsewhere even if its DNS is unchanged', async () => {
    const observation = anObservation();
    const findings = [samples.held_elsewhere];
    const domain = aDomain({ observation, findings });
    const { service, saves } = world({ domain, unchanged: true });
    await checkDns(service, job);
    expect(saves[0]?.change).toMatchObject({ to: { status: 'verified' } });
  });

  it('stores the finding and schedules the next check', async () => {
    const { service, saves } = world({ seen: 'missing' });
    const at = later(noon, 15_000);
    expect(await checkDns(service, job)).toEqual({ kind: 'again', at, note: 'record_missing' });
    expect(saves[0]?.change).toMatchObject({
      kind: 'stayed',
      findings: missing.findings,
      events: [{ type: 'domain.findings_changed', appeared: missing.findings, cleared: [] }],
      nextCheckAt: at,
    });
  });

  it('fires one event per finding, however often it is seen', async () => {
    const domain = aDomain({ findings: missing.findings });
    const { service, saves } = world({ domain, seen: 'missing' });
    await checkDns(service, job);
    expect(saves[0]?.change.events).toEqual([]);
  });

  it('does not move it when the DNS is unknown', async () => {
    const { service, saves } = world({ seen: 'unknown' });
    expect(await checkDns(service, job)).toMatchObject({ kind: 'again', note: 'dns_unknown' });
    expect(saves[0]?.change).toMatchObject({ kind: 'stayed', to: { status: 'pending' } });
  });

  it('fails it after 48 hours, with the reason', async () => {
    const { service, saves } = world({ seen: 'missing', now: later(noon, 48 * HOUR) });
    expect(await checkDns(service, job)).toEqual({
      kind: 'over',
      reason: 'window ended: record_missing',
    });
    expect(saves[0]?.change).toMatchObject({ to: { status: 'failed' }, nextCheckAt: null });
  });

  it('never schedules a check past the end of the window', async () => {
    const { service } = world({ seen: 'missing', now: later(noon, 48 * HOUR - 1_000) });
    expect(await checkDns(service, job)).toMatchObject({ at: later(noon, 48 * HOUR) });
  });

  it('runs again at once when another save came first', async () => {
    const { service, jobs } = world({ seen: 'right', saved: [{ kind: 'stale' }] });
    expect(await checkDns(service, job)).toMatchObject({ kind: 'again', at: later(noon, 1_000) });
    expect(jobs).toEqual([]);
  });

  const held = { kind: 'unproven', because: 'held', rivals: ['theirs'] } as const;

  it('reports that another project holds the apex, and keeps waiting', async () => {
    const finding = { code: 'held_elsewhere', hostname: 'docs.shop.test' } as const;
    const { service, saves } = world({ saved: [held] });
    expect(await checkDns(service, job)).toMatchObject({ kind: 'again', note: 'held_elsewhere' });
    expect(saves[1]?.change).toMatchObject({ kind: 'stayed', findings: [finding] });
    expect(saves[1]?.provenAgainst).toBeUndefined();
  });

  it('takes the name with its TXT record, and enqueues a check of the other project’s domain', async () => {
    const lost = {
      id: 'theirs',
      projectId: 'another',
      epoch: 4,
      change: aChange({ kind: 'moved', epoch: 'next' }),
    };
    const saved = [held, { kind: 'saved', epoch: 1, lost } as const];
    const { service, saves, jobs } = world({ saved, proofs: [ours] });
    expect(await checkDns(service, job)).toEqual({ kind: 'done' });
    expect(saves[1]).toMatchObject({ provenAgainst: ['theirs'], change: { kind: 'moved' } });
    expect(jobs.map((one) => one.split(' at ')[0])).toEqual([
      'check-dns theirs.4',
      ...domainQueues.map((queue) => `remove ${queue} theirs.3`),
      `issue-certificate ${job.domainId}.1`,
      `escalate-certificate ${job.domainId}.1`,
    ]);
  });

  it('examines the proof again when the name has moved to a third project', async () => {
    const third = { ...held, rivals: ['theirs', 'a third'] };
    const { service, saves } = world({ saved: [held, third], proofs: [ours] });
    expect(await checkDns(service, job)).toEqual({ kind: 'done' });
    expect(saves.map(({ provenAgainst }) => provenAgainst)).toEqual([
      undefined,
      ['theirs'],
      ['theirs', 'a third'],
    ]);
  });
});

describe('a check that comes too late', () => {
  it.each([
    ['of a removed domain', { domainId: '00000000-0000-4000-8000-00000000dead', epoch: 1 }],
    ['of an earlier epoch', { domainId: job.domainId, epoch: 0 }],
  ])('%s changes nothing', async (_title, late) => {
    const { service, saves, jobs } = world({});
    expect(await checkDns(service, late)).toEqual({ kind: 'done' });
    expect([saves, jobs]).toEqual([[], []]);
  });

  it('enqueues the follow-up job that a killed worker did not', async () => {
    const domain = aDomain({
      state: { status: 'verified', verifiedAt: noon },
      escalateAt: later(noon, HOUR / 2),
    });
    const { service, saves, jobs } = world({ domain });
    expect(await checkDns(service, job)).toEqual({ kind: 'done' });
    expect(saves).toEqual([]);
    expect(jobs).toEqual([
      `issue-certificate ${job.domainId}.1 at ${noon.toISOString()}`,
      `escalate-certificate ${job.domainId}.1 at ${domain.escalateAt?.toISOString()}`,
    ]);
  });
});
