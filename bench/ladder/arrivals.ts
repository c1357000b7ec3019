/**
 * When customers finish their DNS after adding a domain. An assumption until there are figures of one's own, and the same for
 * every ladder: 60 % within 1 to 30 minutes, 25 % within 30 minutes to 6 hours, 15 % within 6 to 47.5 hours, each on a
 * logarithmic scale.
 */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const mix = [
  { share: 0.6, from: MINUTE, to: 30 * MINUTE },
  { share: 0.25, from: 30 * MINUTE, to: 6 * HOUR },
  { share: 0.15, from: 6 * HOUR, to: 47.5 * HOUR },
] as const;

/** 0 to 1, another one at each call. */
export type Draw = () => number;

/** The same draws for the same seed, everywhere (mulberry32, public domain). */
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
 * The times in milliseconds after adding at which `count` customers have finished. One is drawn from each of as many equal
 * shares of the mix, so that few thousand give the figures of very many.
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
