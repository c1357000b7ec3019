import { describe, expect, it } from 'vitest';
import {
  countFleet,
  differences,
  GONE_MS,
  queueState,
  refusalWords,
  seeFleet,
} from '../../src/core/operations/fleet.ts';
import { at, local, self, settings, worker } from './support/sample-fleet.ts';

describe('Shared settings', () => {
  it.each([
    ['agree', settings, settings, []],
    ['differ', local, settings, ['ACME_DIRECTORY_URL']],
    ['differ twice', { ...local, EDGE: 'caddy' }, settings, ['ACME_DIRECTORY_URL', 'EDGE']],
    ['are compared only where both have one', { EDGE: 'own' }, { CERTIFICATES: 'own' }, []],
    ['name one Redis differently', { REDIS_URL: 'a:1/0' }, { REDIS_URL: 'b:1/0' }, []],
    ['lack Redis', { REDIS_URL: 'not set' }, { REDIS_URL: 'b:1/0' }, ['REDIS_URL']],
  ])('%s', (_what, own, current, names) => {
    expect(differences(own, current).map(({ name }) => name)).toEqual(names);
  });

  it('that differ are named with both values and the repair', () => {
    expect(refusalWords(differences(local, settings))).toBe(
      'ACME_DIRECTORY_URL is local, but https://acme.example/directory in this installation. Set the same value. If the change is intended: signpost fleet accept.',
    );
  });

  it('cannot be accepted for another Redis', () => {
    const found = differences({ REDIS_URL: 'not set' }, { REDIS_URL: 'b:1/0' });
    expect(refusalWords(found)).toMatch(/To move to another Redis, stop every process first\.$/);
  });
});

describe('The queue in a Redis', () => {
  const known = { installation: 'one', queueId: 'q1', knownId: 'q1', isUsed: true };
  const unknown = { ...known, knownId: null };
  it.each([
    ['has the mark', unknown, 'one q1', 'ours'],
    ['is new', { ...unknown, queueId: null, isUsed: false }, null, 'free'],
    ['was emptied while this process runs', known, null, 'emptied'],
    ['was emptied, and another process restores it', unknown, null, 'waits'],
    ['was emptied, and others moved on', { ...known, knownId: 'q0' }, null, 'waits'],
    [
      'was emptied, or is another, and no process uses one',
      { ...unknown, isUsed: false },
      null,
      'free',
    ],
    ['was used earlier, and others use the new one', unknown, 'one q0', 'other'],
    [
      'was used earlier, and no process uses the new one',
      { ...unknown, isUsed: false },
      'one q0',
      'free',
    ],
    ['is of another installation', { ...unknown, isUsed: false }, 'two q1', 'foreign'],
    ['is of another installation by now', known, 'two q1', 'foreign'],
  ] as const)('%s', (_what, input, mark, expected) => {
    expect(queueState({ ...input, mark })).toBe(expected);
  });
});

describe('The processes', () => {
  const now = at(110);
  const see = (...processes: Parameters<typeof seeFleet>[0]) =>
    seeFleet(processes, settings, { now, goneMs: GONE_MS });

  it('show what they set unlike the installation, the last one started first', () => {
    const edge = { ...self, id: 'd', role: 'edge', startedAt: at(105), settings: { EDGE: 'own' } };
    const seen = see(worker, { ...self, settings: local }, { ...edge, role: 'edge' });
    expect(seen.map(({ id, differs }) => [id, differs.map(({ name }) => name)])).toEqual([
      ['d', []],
      ['c', ['ACME_DIRECTORY_URL']],
      ['b', []],
    ]);
  });

  it('run, are gone or were refused', () => {
    const gone = { ...worker, id: 'x', seenAt: at(50) };
    const refused = { ...worker, id: 'y', isRefused: true };
    expect(see(worker, gone, refused).map(({ id, state }) => [id, state])).toEqual([
      ['b', 'running'],
      ['x', 'gone'],
      ['y', 'refused'],
    ]);
  });

  it.each([
    ['answered its last report', {}, false],
    ['has not answered for half a minute', { queueSeenAt: at(65) }, true],
    ['never answered since it started', { queueSeenAt: null }, true],
    ['is not used', { queueSeenAt: null, settings: { REDIS_URL: 'not set' } }, false],
    ['is not a setting of an edge', { queueSeenAt: null, settings: {} }, false],
    ['has not answered, and the process is gone', { queueSeenAt: at(0), seenAt: at(70) }, false],
  ])('are cut off or not if their Redis %s', (_what, change, isCutOff) => {
    expect(see({ ...worker, ...change })[0]?.isCutOff).toBe(isCutOff);
  });

  it('count as a problem until they are gone', () => {
    const refused = { ...worker, id: 'y', isRefused: true, problem: 'EDGE is caddy.' };
    const running = { ...worker, id: 'z', problem: 'another Redis' };
    const gone = { ...running, id: 'x', seenAt: at(50) };
    expect(countFleet(see(refused, running, gone), []).mismatches.refused).toBe(2);
  });
});
