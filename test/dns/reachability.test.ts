import { describe, expect, it } from 'vitest';
import { createReachability } from '../../src/dns/reachability.ts';

/** At a second: an address was silent, an address answered, or how it looks then. */
type Step =
  | readonly [second: number, what: 'silent' | 'answers', address: string]
  | readonly [second: number, what: 'blocked' | 'free'];

const threeSilent = (second: number): readonly Step[] => [
  [second, 'silent', '198.51.100.1'],
  [second, 'silent', '198.51.100.2'],
  [second, 'silent', '198.51.100.3'],
];

const lives: readonly (readonly [title: string, steps: readonly Step[]])[] = [
  ['nothing was asked yet', [[0, 'free']]],
  [
    'two are silent, however often',
    [
      [0, 'silent', '198.51.100.1'],
      [1, 'silent', '198.51.100.2'],
      [500, 'silent', '198.51.100.1'],
      [1_000, 'free'],
    ],
  ],
  ['three are silent, and nobody has ever answered', [...threeSilent(0), [0, 'blocked']]],
  [
    'three are silent, and somebody answered before',
    [[0, 'answers', '192.0.2.1'], ...threeSilent(1), [2, 'free'], [60, 'free'], [61, 'blocked']],
  ],
  [
    'they are silent again and again',
    [
      [0, 'answers', '192.0.2.1'],
      ...threeSilent(1),
      ...threeSilent(40),
      [60, 'free'],
      [61, 'blocked'],
    ],
  ],
  [
    'somebody answers in between',
    [
      [0, 'answers', '192.0.2.1'],
      ...threeSilent(1),
      [50, 'answers', '192.0.2.1'],
      ...threeSilent(51),
      [110, 'free'],
      [111, 'blocked'],
    ],
  ],
  [
    'after an hour in which nobody was asked three are silent',
    [[0, 'answers', '192.0.2.1'], ...threeSilent(3_600), [3_601, 'free'], [3_660, 'blocked']],
  ],
  [
    'one of the silent ones answers',
    [...threeSilent(0), [90, 'blocked'], [91, 'answers', '198.51.100.3'], [91, 'free']],
  ],
];

function openReachability() {
  const clock = { seconds: 0 };
  const reachability = createReachability({ now: () => clock.seconds * 1_000 });
  return { clock, reachability };
}

describe('port 53 is blocked or free when', () => {
  it.each(lives)('%s', (_title, steps) => {
    const { clock, reachability } = openReachability();
    for (const [second, what, address] of steps) {
      clock.seconds = second;
      if (address !== undefined) reachability.note(address, what === 'answers');
      else
        expect(`${second} ${reachability.isBlocked() ? 'blocked' : 'free'}`).toBe(
          `${second} ${what}`,
        );
    }
  });
});

describe('authorities may be asked', () => {
  it('by every look while nothing is blocked', () => {
    const { reachability } = openReachability();
    expect([reachability.mayProbe(), reachability.mayProbe()]).toEqual([true, true]);
  });

  it('by one look a minute while port 53 is blocked, and by all after one answer', () => {
    const { clock, reachability } = openReachability();
    for (const n of [1, 2, 3]) reachability.note(`198.51.100.${n}`, false);
    const probes: number[] = [];
    for (; clock.seconds < 200; clock.seconds += 5) {
      if (reachability.mayProbe()) probes.push(clock.seconds);
      reachability.note('198.51.100.1', false);
    }
    expect(probes).toEqual([0, 60, 120, 180]);
    reachability.note('198.51.100.1', true);
    expect([reachability.mayProbe(), reachability.mayProbe()]).toEqual([true, true]);
  });
});
