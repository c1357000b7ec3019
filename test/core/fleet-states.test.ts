import { describe, expect, it } from 'vitest';
import { countFleet, differences, GONE_MS, seeFleet } from '../../src/core/operations/fleet.ts';
import { at, local, self, settings, worker } from './support/sample-fleet.ts';

describe('The fleet', () => {
  const now = at(110);
  it('shows what a process sets unlike the one that started last', () => {
    const edge = {
      ...self,
      id: 'd',
      role: 'edge',
      startedAt: at(105),
      settings: { EDGE: 'own' },
    } as const;
    const changed = { ...self, settings: local };
    expect(
      seeFleet([worker, changed, edge], now, GONE_MS).map(({ id, differs }) => [id, differs]),
    ).toEqual([
      ['d', []],
      ['c', []],
      ['b', [{ name: 'ACME_DIRECTORY_URL', one: settings.ACME_DIRECTORY_URL, other: 'local' }]],
    ]);
  });

  it('separates processes that run from those that are gone or were refused', () => {
    const gone = { ...worker, id: 'x', seenAt: at(50) };
    const refused = { ...worker, id: 'y', refusedAt: at(100) };
    const starting = { ...worker, id: 'z', joinedAt: null };
    const states = seeFleet([worker, gone, refused, starting], now, GONE_MS).map(
      ({ id, state }) => [id, state],
    );
    expect(states).toEqual([
      ['b', 'running'],
      ['x', 'gone'],
      ['y', 'refused'],
      ['z', 'starting'],
    ]);
  });

  it.each([
    ['answered its last report', {}, false],
    ['has not answered for half a minute', { queueSeenAt: at(65) }, true],
    ['never answered since it joined', { queueSeenAt: null }, true],
    ['is not used', { queueSeenAt: null, settings: { REDIS_URL: 'not set' } }, false],
    ['is not a setting of an edge', { queueSeenAt: null, settings: {} }, false],
    ['has not answered, and the process is gone', { queueSeenAt: at(0), seenAt: at(70) }, false],
  ] as const)('is cut off or not if the Redis of a process %s', (_what, change, isCutOff) => {
    const [seen] = seeFleet([{ ...worker, ...change }], now, GONE_MS);
    expect(seen?.isCutOff).toBe(isCutOff);
  });

  it('counts a problem until its process is gone', () => {
    const refused = { ...worker, id: 'y', refusedAt: at(100), problem: 'EDGE is caddy.' };
    const running = { ...worker, id: 'z', problem: 'another Redis' };
    const gone = { ...running, id: 'x', seenAt: at(50) };
    const { mismatches } = countFleet(seeFleet([refused, running, gone], now, GONE_MS), []);
    expect(mismatches.refused).toBe(2);
  });

  it('compares only settings that both use', () => {
    expect(differences({ EDGE: 'own' }, { CERTIFICATES: 'own' })).toEqual([]);
  });
});
