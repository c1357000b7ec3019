import { describe, expect, it } from 'vitest';
import {
  type AuthorityState,
  chooseAuthority,
  isOwnView,
  worthAsking,
} from '../../src/core/certificates/choose-authority.ts';
import { HOUR, MINUTE, SECOND } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

const well: AuthorityState = {
  isForbidden: false,
  saidNo: false,
  pausedUntil: new Date(0),
  downForMs: 0,
  isSilent: false,
  moves: 0,
};
const forbidden = { ...well, isForbidden: true };
const saidNo = { ...well, saidNo: true };
const paused = (ms: number) => ({ ...well, pausedUntil: later(noon, ms) });
const down = (downForMs: number) => ({ ...well, downForMs });
const silent = { ...well, isSilent: true };
const moved = (moves: number, downForMs: number) => ({ ...down(downForMs), moves });

type Chosen = 'first' | 'second' | 'none';
type Row = readonly [string, AuthorityState, AuthorityState, Chosen];

const table: readonly Row[] = [
  ['the first when both are healthy', well, well, 'first'],
  ['the first when the second is worse', well, forbidden, 'first'],
  ['the second when CAA forbids the first', forbidden, well, 'second'],
  ['neither when CAA forbids both', forbidden, forbidden, 'none'],
  ['the first when its pause is over', paused(-MINUTE), well, 'first'],
  ['the second while the first is paused for longer', paused(5 * MINUTE + 1), well, 'second'],
  ['the second while the first is paused for a day', paused(24 * HOUR), well, 'second'],
  ['the first when it is down for a moment', down(15 * SECOND), well, 'first'],
  ['the first when it is down for nearly 5 minutes', down(5 * MINUTE - 1), well, 'first'],
  ['the second when the first is down for 5 minutes', down(5 * MINUTE), well, 'second'],
  ['the second when the first rejects the name', saidNo, well, 'second'],
  ['the first when both reject the name', saidNo, saidNo, 'first'],
  ['the first when both are down', down(HOUR), down(HOUR), 'first'],
  ['the first, down, instead of a paused second', down(HOUR), paused(HOUR), 'first'],
  ['the second, down, instead of a paused first', paused(HOUR), down(HOUR), 'second'],
  ['the first, down, instead of a forbidden second', down(HOUR), forbidden, 'first'],
  ['the first, down, instead of a silent second', down(HOUR), silent, 'first'],
  ['the first when both are silent', silent, silent, 'first'],
  ['the first when down for less than 10 minutes after one move', moved(1, 599_999), well, 'first'],
  [
    'the second when the first is down for 10 minutes after one move',
    moved(1, 10 * MINUTE),
    well,
    'second',
  ],
  ['the first for 5 hours after many moves', moved(9, 5 * HOUR), well, 'first'],
  ['the second after 5 hours and 20 minutes', moved(9, 320 * MINUTE), well, 'second'],
];

type Late = readonly [string, AuthorityState, AuthorityState, Chosen, number];

const late: readonly Late[] = [
  ['the first when its pause is short', paused(MINUTE), well, 'first', MINUTE],
  ['the first when its pause is 5 minutes', paused(5 * MINUTE), well, 'first', 5 * MINUTE],
  ['the second when it is down for a moment', down(HOUR), paused(MINUTE), 'second', MINUTE],
  ['the one whose pause ends first', paused(2 * HOUR), paused(HOUR), 'second', HOUR],
  ['the first when both pauses end together', paused(HOUR), paused(HOUR), 'first', HOUR],
  ['the first instead of a forbidden second', paused(HOUR), forbidden, 'first', HOUR],
  ['the second instead of a forbidden first', forbidden, paused(HOUR), 'second', HOUR],
];

const places = { first: 0, second: 1, none: undefined } as const;

describe('the CA of the next order is', () => {
  const rules = { now: noon, timeScale: 1 };

  it.each(table)('%s', (_title, first, second, chosen) => {
    const choice = chooseAuthority([first, second], rules);
    expect(choice?.index).toBe(places[chosen]);
    if (choice !== null) expect(choice.notBefore <= noon).toBe(true);
  });

  it.each(late)('%s, when its pause is over', (_title, first, second, chosen, pauseMs) => {
    const choice = { index: places[chosen], notBefore: later(noon, pauseMs) };
    expect(chooseAuthority([first, second], rules)).toEqual(choice);
  });

  it('the only one configured, unless CAA forbids it', () => {
    for (const one of [well, saidNo, paused(HOUR), down(HOUR)]) {
      expect(chooseAuthority([one], rules)).toEqual({ index: 0, notBefore: one.pausedUntil });
    }
    expect(chooseAuthority([forbidden], rules)).toBeNull();
  });

  it('the second, sooner with TIME_SCALE', () => {
    const inTestLab = { now: noon, timeScale: 100 };
    expect(chooseAuthority([down(3 * SECOND), well], inTestLab)?.index).toBe(1);
    expect(chooseAuthority([down(2 * SECOND), well], inTestLab)?.index).toBe(0);
    expect(chooseAuthority([paused(4 * SECOND), well], inTestLab)?.index).toBe(1);
  });
});

describe('before the choice', () => {
  const rules = { now: noon, timeScale: 1 };
  const table: readonly (readonly [string, AuthorityState, AuthorityState, number[]])[] = [
    ['no CA when the first is healthy', well, silent, []],
    ['the first when it is down, before the second is chosen', down(HOUR), well, [0]],
    ['the first when it is silent', silent, well, [0]],
    ['both when neither has responded', down(HOUR), silent, [0, 1]],
    [
      'no CA that would not get the order anyway',
      { ...paused(HOUR), isSilent: true },
      forbidden,
      [],
    ],
  ];
  it.each(table)('a probe goes to %s', (_whom, first, second, asked) => {
    expect(worthAsking([first, second], rules)).toEqual(asked);
  });
});

describe('the other CA is tried at once', () => {
  it.each(['caa', 'rejected_identifier', 'unsupported_identifier', 'user_action_required'])(
    'after %s',
    (type) => expect(isOwnView(type)).toBe(true),
  );
  it.each(['connection', 'unauthorized', 'dns', 'tls', 'incorrect_response', 'rate_limited'])(
    'except after %s',
    (type) => expect(isOwnView(type)).toBe(false),
  );
});
