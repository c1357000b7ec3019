import { describe, expect, it } from 'vitest';
import { type Load, noLoad, paceOf, stretchOf } from '../../../src/core/watch/interval.ts';

const MINUTE = 60_000;

describe('the pace of a name', () => {
  it.each([
    ['pending', 0, 1, 'young'],
    ['pending', 30 * MINUTE - 1, 1, 'young'],
    ['pending', 30 * MINUTE, 1, 'pending'],
    ['pending', 3 * MINUTE, 0.1, 'pending'],
    ['pending', 360 * MINUTE - 1, 1, 'pending'],
    ['pending', 360 * MINUTE, 1, 'late'],
    ['live', 0, 1, 'live'],
    ['drifted', 0, 1, 'drifted'],
  ] as const)('%s for %d ms, scale %d: %s', (status, age, scale, pace) => {
    expect(paceOf({ status, since: 1_000 }, 1_000 + age, scale)).toBe(pace);
  });
});

describe('an operator that may be asked 10 questions a second', () => {
  const load = (given: Partial<Load>): Load => ({ ...noLoad(), ...given });
  it.each<[string, Partial<Load>, young: number, others: number]>([
    ['nobody', {}, 1, 1],
    ['as many as it may', { pending: 600 }, 1, 1],
    ['twice as many', { pending: 1_200 }, 1, 2],
    ['late ones, which ask four fifths', { late: 1_500 }, 1, 2],
    ['live ones, which ask a fifth', { live: 3_000 }, 1, 1],
    ['all kinds', { pending: 300, drifted: 300, live: 3_000 }, 1, 2],
    ['young ones alone, up to the whole rate', { young: 150 }, 1, 1],
    ['too many young ones', { young: 300 }, 2, 1],
    ['young ones before the others', { young: 75, pending: 600 }, 1, 2],
    ['half for young ones, however many others there are', { young: 150, pending: 6_000 }, 2, 20],
    ['what young ones leave', { young: 15, pending: 540 }, 1, 1],
  ])('%s', (_, given, young, others) => {
    expect(stretchOf(load(given), 'young', 10)).toBeCloseTo(young);
    expect(stretchOf(load(given), 'pending', 10)).toBeCloseTo(others);
    expect(stretchOf(load(given), 'live', 10)).toBeCloseTo(others);
  });
});
