/** Batch checks with every kind of light check: unchanged differs from unknown. */
import { describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { Observation, Observed } from '../../src/core/diagnosis/observation.ts';
import type { DomainState } from '../../src/core/life/lifecycle.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave, MoveResult } from '../../src/db/domains/transitions.ts';
import { type NewEscalation, readEvidence } from '../../src/db/issuance/escalations.ts';
import type { NextWork } from '../../workers/check-dns.ts';
import { type RecheckLiveDeps, recheckLive } from '../../workers/recheck-live.ts';
import {
  aDomain,
  anObservation,
  checkRules,
  later,
  missing,
  noon,
  right,
  unknown,
} from '../support/builders.ts';
import { dueOnce } from './due-once.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const running = new AbortController().signal;
const before = anObservation();

type Situation = {
  readonly state: DomainState;
  /** The result of each check: `unchanged` is a light one that returns what was loaded. */
  readonly checks: readonly ('unchanged' | Diagnosis)[];
  /** The diagnosis of the stored observation. */
  readonly stored?: Diagnosis;
  readonly saved?: readonly MoveResult[];
  readonly endsAt?: Date | null;
};

const escalationAtEnd: NewEscalation = {
  cause: 'platform_fault',
  summary: '',
  nextAction: '',
  evidence: readEvidence({}),
};

function world({ state, checks, stored = right, saved = [], endsAt = null }: Situation) {
  const findings = stored.findings;
  const domain = aDomain({ state, observation: before, findings, certificateEndsAt: endsAt });
  const left = [...checks];
  const results = [...saved];
  const meaning = new Map<Observation, Diagnosis>([[before, stored]]);
  const asked: ('cheaply' | 'in full')[] = [];
  const saves: CheckSave[] = [];
  const followed: NextWork[] = [];
  const visited: string[] = [];
  const { due, takings } = dueOnce(domain.id);
  function observe(how: (typeof asked)[number]): Observed {
    asked.push(how);
    const next = left.shift();
    if (next === undefined) throw new Error('one check too many');
    if (next === 'unchanged' && how === 'cheaply')
      return { kind: 'unchanged', observation: before };
    const seen = anObservation();
    meaning.set(seen, next === 'unchanged' ? stored : next);
    return { kind: 'observed', observation: seen };
  }
  const deps: RecheckLiveDeps = {
    due,
    load: async (): Promise<LoadedDomain | undefined> => domain,
    observeAgain: async () => observe('cheaply'),
    observe: async () => observe('in full').observation,
    diagnose: async (_domain, observation) => meaning.get(observation) ?? unknown,
    save: async (check) => {
      saves.push(check);
      return results.shift() ?? { kind: 'saved', epoch: check.domain.epoch };
    },
    resolveClaim: async () => ({
      kind: 'held',
      result: {
        verdict: 'wrong',
        findings: [{ code: 'held_elsewhere', hostname: domain.hostname }],
      },
    }),
    enqueueFollowUps: async (_domain, outcome) => void followed.push(outcome),
    escalationAtEnd: async () => escalationAtEnd,
    recordServedCertificate: async ({ hostname }) =>
      void visited.push(`${hostname} after ${saves.length} saves`),
    onFault: (fault) => {
      throw fault;
    },
    rules: checkRules,
    now: () => noon,
    atOnce: 2,
  };
  return { deps, saves, asked, followed, visited, takings, unasked: left };
}

const well: DomainState = { status: 'live', missedAt: null };
const missedNow: DomainState = { status: 'live', missedAt: noon };
const missed: DomainState = { status: 'live', missedAt: later(noon, -10 * MINUTE) };
const drifted: DomainState = { status: 'drifted', driftedAt: later(noon, -HOUR) };
const failed: DomainState = { status: 'failed', failedAt: later(noon, -HOUR) };
const toDrifted: DomainState = { status: 'drifted', driftedAt: noon };

type Row = readonly [string, Situation, DomainState];
const table: readonly Row[] = [
  ['a live domain, unchanged and right', { state: well, checks: ['unchanged'] }, well],
  [
    'a live domain that missed, unchanged and right',
    { state: missed, checks: ['unchanged'] },
    well,
  ],
  ['a live domain that misses', { state: well, checks: [missing] }, missedNow],
  [
    'a live domain whose miss is unchanged in a full check',
    { state: missed, stored: missing, checks: ['unchanged', missing] },
    toDrifted,
  ],
  [
    'a live domain whose miss only a light check would confirm',
    { state: missed, stored: missing, checks: ['unchanged', right] },
    well,
  ],
  [
    'a live domain that is still unknown',
    { state: well, stored: unknown, checks: ['unchanged', unknown] },
    well,
  ],
  [
    'a drifted domain, unchanged and wrong',
    { state: drifted, stored: missing, checks: ['unchanged'] },
    drifted,
  ],
  ['a drifted domain, repaired', { state: drifted, stored: missing, checks: [right] }, well],
  [
    'a failed domain, unchanged and wrong',
    { state: failed, stored: missing, checks: ['unchanged'] },
    failed,
  ],
  [
    'a failed domain, repaired',
    { state: failed, stored: missing, checks: [right] },
    { status: 'verified', verifiedAt: noon },
  ],
];

describe('a batch check', () => {
  it.each(table)('of %s', async (_title, situation, to) => {
    const { deps, saves, asked, unasked } = world(situation);
    expect(await recheckLive(deps, running)).toEqual({ kind: 'done' });
    expect(saves.map(({ outcome }) => outcome.to)).toEqual([to]);
    expect(unasked).toEqual([]);
    // The first may be light; a repeated one is full.
    expect(asked).toEqual(['cheaply', 'in full'].slice(0, situation.checks.length));
  });

  it.each([
    ['a live domain', { state: well, checks: ['unchanged'] }, 1],
    ['one that has missed', { state: well, checks: [missing] }, 1],
    ['one that is live again', { state: drifted, stored: missing, checks: [right] }, 1],
    ['a drifted one, never', { state: missed, checks: [missing] }, 0],
    ['a failed one, never', { state: failed, stored: missing, checks: ['unchanged'] }, 0],
    ['a stale one, never', { state: well, checks: [right], saved: [{ kind: 'stale' }] }, 0],
  ] as const satisfies readonly (readonly [string, Situation, number])[])(
    'triggers a served-certificate check of %s',
    async (_title, situation, times) => {
      const { deps, visited } = world(situation);
      await recheckLive(deps, running);
      const expected = Array.from({ length: times }, () => 'docs.shop.test after 1 saves');
      expect(visited).toEqual(expected);
    },
  );

  it('enqueues follow-up jobs only after a move', async () => {
    const revived = world({ state: failed, stored: missing, checks: [right] });
    await recheckLive(revived.deps, running);
    expect(revived.followed).toMatchObject([{ to: { status: 'verified' }, nextCheckAt: noon }]);
    const stays = world({ state: well, checks: ['unchanged'] });
    await recheckLive(stays.deps, running);
    expect(stays.followed).toEqual([]);
  });

  it('keeps a failed domain failed while another project holds its name, with a finding', async () => {
    const { deps, saves, followed } = world({
      state: failed,
      checks: [right],
      saved: [{ kind: 'held_elsewhere', holderProjectId: 'another' }],
    });
    await recheckLive(deps, running);
    expect(saves[1]?.outcome).toMatchObject({
      to: failed,
      findings: [{ code: 'held_elsewhere' }],
    });
    expect(followed).toEqual([]);
  });

  it('gives up when another save came first', async () => {
    const { deps, saves } = world({ state: well, checks: [missing], saved: [{ kind: 'stale' }] });
    await recheckLive(deps, running);
    expect(saves).toHaveLength(1);
  });

  it.each([
    ['a live domain with an expired certificate', well, noon, escalationAtEnd],
    ['a live domain with a valid certificate', well, later(noon, 1), undefined],
    ['a drifted one, which fails with it', drifted, noon, undefined],
  ])(
    'saves an escalation together with the expiry: %s',
    async (_title, state, endsAt, escalation) => {
      const { deps, saves } = world({ state, checks: [missing], endsAt });
      await recheckLive(deps, running);
      expect(saves.map((save) => save.escalation)).toEqual([escalation]);
    },
  );

  it('takes some hundred for two minutes, and a suspect alone', async () => {
    const { deps, takings } = world({ state: well, checks: ['unchanged'] });
    await recheckLive(deps, running);
    const leasesMs = [2, 2, 2, 5, 60, 24 * 60].map((minutes) => minutes * MINUTE);
    expect(takings).toEqual([
      { now: noon, leasesMs, limit: 200, suspects: false },
      { now: noon, leasesMs, limit: 1, suspects: true },
    ]);
  });
});

describe('a domain that was taken', () => {
  it.each([
    ['and verified again since', aDomain()],
    ['and removed since', undefined],
  ])('%s is not checked', async (_title, loaded) => {
    const { deps, asked, saves } = world({ state: well, checks: [] });
    await recheckLive({ ...deps, load: async () => loaded }, running);
    expect([asked, saves]).toEqual([[], []]);
  });
});
