/** Batch checks with every kind of light check: unchanged differs from unknown. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Observed } from '../../src/core/diagnosis/observation.ts';
import type { DomainState } from '../../src/core/life/lifecycle.ts';
import { HOUR, MINUTE } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave, MoveResult } from '../../src/db/domains/transitions.ts';
import { recheckLive } from '../../workers/recheck-live.ts';
import { aDomain, later, missing, noon, unknown } from '../support/builders.ts';
import { plainService, recordingQueues, throwingLog } from '../support/plain-service.ts';
import { type SeenAs, seenAs } from '../support/seen-as.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';
import { dueOnce } from './due-once.ts';
import { nothingYet } from './order-world.ts';

const running = new AbortController().signal;

type Situation = {
  readonly state: DomainState;
  /** The result of each check: `unchanged` is a light one that returns what was loaded. */
  readonly checks: readonly ('unchanged' | SeenAs)[];
  /** What the stored observation shows. */
  readonly stored?: Exclude<SeenAs, 'forbidden'>;
  readonly saved?: readonly MoveResult[];
  readonly endsAt?: Date | null;
  /** Null: removed since it was taken. */
  readonly loaded?: LoadedDomain | null;
};

const findingsOf = { right: [], missing: missing.findings, unknown: unknown.findings } as const;

let db: StoredDomains;
beforeAll(async () => {
  db = await openStoredDomains();
});
afterAll(() => db.close());

function world({ state, checks, stored = 'right', saved = [], endsAt = null, loaded }: Situation) {
  const observation = seenAs(stored);
  const findings = findingsOf[stored];
  const domain = aDomain({ state, observation, findings, certificateEndsAt: endsAt });
  const left = [...checks];
  const results = [...saved];
  const asked: ('cheaply' | 'in full')[] = [];
  const saves: CheckSave[] = [];
  const visited: string[] = [];
  const { due, takings } = dueOnce(domain.id);
  const { jobs, queues } = recordingQueues();
  function observe(how: (typeof asked)[number]): Observed {
    asked.push(how);
    const next = left.shift();
    if (next === undefined) throw new Error('one check too many');
    if (next === 'unchanged' && how === 'cheaply') return { kind: 'unchanged', observation };
    return { kind: 'observed', observation: seenAs(next === 'unchanged' ? stored : next) };
  }
  const service = plainService({
    database: db.database,
    due: { 'recheck-live': due },
    checks: {
      load: async () => (loaded === null ? undefined : (loaded ?? domain)),
      save: async (check) => {
        saves.push(check);
        return results.shift() ?? { kind: 'saved', epoch: check.domain.epoch };
      },
    },
    // The domain is only loaded for an escalation.
    certificates: { loadWork: async () => nothingYet(domain) },
    observer: {
      observe: async () => observe('in full').observation,
      observeAgain: async () => observe('cheaply'),
      lookupTexts: async () => [{ kind: 'nodata' }],
    },
    proofFor: (domainId: string) => `proof-of-${domainId}`,
    queues,
    handshakes: {
      recordServed: async ({ hostname }) =>
        void visited.push(`${hostname} after ${saves.length} saves`),
    },
    log: throwingLog,
  });
  return { service, saves, asked, jobs, visited, takings, unasked: left };
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
  ['a live domain that misses', { state: well, checks: ['missing'] }, missedNow],
  [
    'a live domain whose miss is unchanged in a full check',
    { state: missed, stored: 'missing', checks: ['unchanged', 'missing'] },
    toDrifted,
  ],
  [
    'a live domain whose miss only a light check would confirm',
    { state: missed, stored: 'missing', checks: ['unchanged', 'right'] },
    well,
  ],
  [
    'a live domain that is still unknown',
    { state: well, stored: 'unknown', checks: ['unchanged', 'unknown'] },
    well,
  ],
  [
    'a drifted domain, unchanged and wrong',
    { state: drifted, stored: 'missing', checks: ['unchanged'] },
    drifted,
  ],
  ['a drifted domain, repaired', { state: drifted, stored: 'missing', checks: ['right'] }, well],
  [
    'a failed domain, unchanged and wrong',
    { state: failed, stored: 'missing', checks: ['unchanged'] },
    failed,
  ],
  [
    'a failed domain, repaired',
    { state: failed, stored: 'missing', checks: ['right'] },
    { status: 'verified', verifiedAt: noon },
  ],
];

describe('a batch check', () => {
  it.each(table)('of %s', async (_title, situation, to) => {
    const { service, saves, asked, unasked } = world(situation);
    expect(await recheckLive(service, running)).toEqual({ kind: 'done' });
    expect(saves.map(({ change }) => change.to)).toEqual([to]);
    expect(unasked).toEqual([]);
    // The first may be light; a repeated one is full.
    expect(asked).toEqual(['cheaply', 'in full'].slice(0, situation.checks.length));
  });

  it.each([
    ['a live domain', { state: well, checks: ['unchanged'] }, 1],
    ['one that has missed', { state: well, checks: ['missing'] }, 1],
    ['one that is live again', { state: drifted, stored: 'missing', checks: ['right'] }, 1],
    ['a drifted one, never', { state: missed, checks: ['missing'] }, 0],
    ['a failed one, never', { state: failed, stored: 'missing', checks: ['unchanged'] }, 0],
    ['a stale one, never', { state: well, checks: ['right'], saved: [{ kind: 'stale' }] }, 0],
  ] as const satisfies readonly (readonly [string, Situation, number])[])(
    'triggers a served-certificate check of %s',
    async (_title, situation, times) => {
      const { service, visited } = world(situation);
      await recheckLive(service, running);
      const expected = Array.from({ length: times }, () => 'docs.shop.test after 1 saves');
      expect(visited).toEqual(expected);
    },
  );

  it('enqueues follow-up jobs only after a move', async () => {
    const revived = world({ state: failed, stored: 'missing', checks: ['right'] });
    await recheckLive(revived.service, running);
    expect(revived.jobs[0]).toMatch(/^issue-certificate .* at 2026-11-20T12:00:00/);
    const stays = world({ state: well, checks: ['unchanged'] });
    await recheckLive(stays.service, running);
    expect(stays.jobs).toEqual([]);
  });

  it('keeps a failed domain failed while another project holds its name, with a finding', async () => {
    const { service, saves, jobs } = world({
      state: failed,
      checks: ['right'],
      saved: [{ kind: 'unproven', because: 'held', rivals: ['another'] }],
    });
    await recheckLive(service, running);
    expect(saves[1]?.change).toMatchObject({
      to: failed,
      findings: [{ code: 'held_elsewhere' }],
    });
    expect(jobs).toEqual([]);
  });

  it('gives up when another save came first', async () => {
    const { service, saves } = world({
      state: well,
      checks: ['missing'],
      saved: [{ kind: 'stale' }],
    });
    await recheckLive(service, running);
    expect(saves).toHaveLength(1);
  });

  it.each([
    ['a live domain with an expired certificate', well, noon, 'dns_changed'],
    ['a live domain with a valid certificate', well, later(noon, 1), undefined],
    ['a drifted one, which fails with it', drifted, noon, undefined],
  ])('saves an escalation together with the expiry: %s', async (_title, state, endsAt, cause) => {
    const { service, saves } = world({ state, checks: ['missing'], endsAt });
    await recheckLive(service, running);
    expect(saves.map(({ escalation }) => escalation?.cause)).toEqual([cause]);
  });

  it('takes some hundred for two minutes, and a suspect alone', async () => {
    const { service, takings } = world({ state: well, checks: ['unchanged'] });
    await recheckLive(service, running);
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
    ['and removed since', null],
  ])('%s is not checked', async (_title, loaded) => {
    const { service, asked, saves } = world({ state: well, checks: [], loaded });
    await recheckLive(service, running);
    expect([asked, saves]).toEqual([[], []]);
  });
});
