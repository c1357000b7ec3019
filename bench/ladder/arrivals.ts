/**
 * When customers finish their DNS after adding a domain. An assumption, the same for every schedule: 60 % within
 * 1 to 30 minutes, 25 % within 30 minutes to 6 hours, 15 % within 6 to 47.5 hours, each on a logarithmic scale.
 * Replace it with measured times when there are any.
 */
import { HOUR, MINUTE } from '../../src/core/time.ts';

const mix = [
  { share: 0.6, from: MINUTE, to: 30 * MINUTE },
  { share: 0.25, from: 30 * MINUTE, to: 6 * HOUR },
  { share: 0.15, from: 6 * HOUR, to: 47.5 * HOUR },
] as const;

/** Returns another number from 0 to 1 at each call. */
export type Draw = () => number;

/** The same numbers for the same seed on every machine (mulberry32, public domain). */
export function drawsFrom(seed: number): Draw {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Times in milliseconds after adding at which `count` customers have finished. One is drawn from each of `count` equal
 * shares of the mix, so that a few thousand give the figures of millions.
 */
export function arrivals(count: number, draw: Draw): readonly number[] {
  return mix.flatMap(({ share, from, to }) => {
    const some = Math.round(share * count);
    return Array.from(
      { length: some },
      (_, place) => from * (to / from) ** ((place + draw()) / some),
    );
  });
}
