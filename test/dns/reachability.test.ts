import { describe, expect, it } from 'vitest';
import { createReachability } from '../../src/dns/servers/reachability.ts';

/** At a second: a server was silent, a server answered, or the expected state. */
type Step =
  | readonly [second: number, what: 'silent' | 'answers', server: string]
  | readonly [second: number, what: 'blocked' | 'free'];

const threeSilent = (second: number): readonly Step[] => [
  [second, 'silent', 'ns1.shop.test'],
  [second, 'silent', 'ns2.shop.test'],
  [second, 'silent', 'ns3.shop.test'],
];

const lives: readonly (readonly [title: string, steps: readonly Step[]])[] = [
  ['no query was sent yet', [[0, 'free']]],
  [
    'two servers are silent repeatedly',
    [
      [0, 'silent', 'ns1.shop.test'],
      [1, 'silent', 'ns2.shop.test'],
      [500, 'silent', 'ns1.shop.test'],
      [1_000, 'free'],
    ],
  ],
  ['three servers are silent and none has ever answered', [...threeSilent(0), [0, 'blocked']]],
  [
    'three servers are silent and another one answered before',
    [
      [0, 'answers', 'ns.other.test'],
      ...threeSilent(1),
      [2, 'free'],
      [60, 'free'],
      [61, 'blocked'],
    ],
  ],
  [
    'they are silent again and again',
    [
      [0, 'answers', 'ns.other.test'],
      ...threeSilent(1),
      ...threeSilent(40),
      [60, 'free'],
      [61, 'blocked'],
    ],
  ],
  [
    'a server answers in between',
    [
      [0, 'answers', 'ns.other.test'],
      ...threeSilent(1),
      [50, 'answers', 'ns.other.test'],
      ...threeSilent(51),
      [110, 'free'],
      [111, 'blocked'],
    ],
  ],
  [
    'three servers are silent after an hour without queries',
    [[0, 'answers', 'ns.other.test'], ...threeSilent(3_600), [3_601, 'free'], [3_660, 'blocked']],
  ],
  [
    'one of the silent servers answers',
    [...threeSilent(0), [90, 'blocked'], [91, 'answers', 'ns3.shop.test'], [91, 'free']],
  ],
];

function openReachability() {
  const clock = { seconds: 0 };
  const reachability = createReachability({ now: () => clock.seconds * 1_000 });
  return { clock, reachability };
}

describe('the state of port 53 is right when', () => {
  it.each(lives)('%s', (_title, steps) => {
    const { clock, reachability } = openReachability();
    for (const [second, what, server] of steps) {
      clock.seconds = second;
      if (server !== undefined) reachability.note(server, what === 'answers');
      else
        expect(`${second} ${reachability.isBlocked() ? 'blocked' : 'free'}`).toBe(
          `${second} ${what}`,
        );
    }
  });
});

describe('name servers may be queried', () => {
  it('by every check while port 53 is not blocked', () => {
    const { reachability } = openReachability();
    expect([reachability.mayProbe(), reachability.mayProbe()]).toEqual([true, true]);
  });

  it('by one check per minute while port 53 is blocked, and by all after one response', () => {
    const { clock, reachability } = openReachability();
    for (const n of [1, 2, 3]) reachability.note(`ns${n}.shop.test`, false);
    const probes: number[] = [];
    for (; clock.seconds < 200; clock.seconds += 5) {
      if (reachability.mayProbe()) probes.push(clock.seconds);
      reachability.note('ns1.shop.test', false);
    }
    expect(probes).toEqual([0, 60, 120, 180]);
    reachability.note('ns1.shop.test', true);
    expect([reachability.mayProbe(), reachability.mayProbe()]).toEqual([true, true]);
  });
});
