import { describe, expect, it } from 'vitest';
import {
  faultWaitMs,
  isPoison,
  outageWaitMs,
  quarantineWaitsMs,
  sweepLeasesMs,
} from '../../src/core/operations/quarantine.ts';
import { SECOND } from '../../src/core/time.ts';

describe('a job with internal errors', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 4],
    [9, 256],
    [10, 300],
    [1_000, 300],
  ])('after %i in a row waits for %i seconds', (faults, seconds) => {
    expect(faultWaitMs(faults, 1)).toBe(seconds * SECOND);
  });

  it.each([
    [1, 1],
    [4, 8],
    [6, 30],
    [1_000, 30],
  ])('retries an unavailable storage for the %i. time in %i seconds', (outages, seconds) => {
    expect(outageWaitMs(outages, 1)).toBe(seconds * SECOND);
  });

  it('waits at least a quarter of a second at any TIME_SCALE', () => {
    expect(faultWaitMs(3, 1_000)).toBe(250);
    expect(quarantineWaitsMs(10_000)).toEqual([250, 360, 8_640]);
  });

  it('is quarantined for five minutes, an hour, and then a day each time', () => {
    expect(quarantineWaitsMs(1).map((ms) => ms / SECOND)).toEqual([300, 3_600, 86_400]);
  });
});

describe('a domain that a sweep picks up repeatedly', () => {
  const MINUTE = 60 * SECOND;
  it.each([
    ['looks', 2, 1, [2, 2, 2, 5, 60, 1_440]],
    ['renewals, which take longer than the first wait', 10, 1, [10, 10, 10, 10, 60, 1_440]],
    ['a test lab that runs a thousand times as fast', 0.5, 1_000, [0.5, 0.5, 0.5, 0.5, 0.5, 1.44]],
  ])('is leased for longer from the fourth time: %s', (_, usual, timeScale, minutes) => {
    expect(sweepLeasesMs(usual * MINUTE, timeScale).map((ms) => ms / MINUTE)).toEqual(minutes);
  });
});

describe('a job is quarantined', () => {
  it.each([
    [{ faults: 0, deathsAlone: 0, probation: false }, false],
    [{ faults: 9, deathsAlone: 0, probation: false }, false],
    [{ faults: 10, deathsAlone: 0, probation: false }, true],
    [{ faults: 0, deathsAlone: 2, probation: false }, false],
    [{ faults: 0, deathsAlone: 3, probation: false }, true],
    [{ faults: 0, deathsAlone: 0, probation: true }, false],
    [{ faults: 1, deathsAlone: 0, probation: true }, true],
    [{ faults: 0, deathsAlone: 1, probation: true }, true],
  ])('%j: %s', (misfortune, poison) => {
    expect(isPoison(misfortune)).toBe(poison);
  });
});
