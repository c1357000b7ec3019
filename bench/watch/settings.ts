/** What the watch and its name servers share. */
import { numberFrom } from '../support/figures.ts';

export const NAMES = numberFrom('NAMES', 1_000_000);
export const ZONE = 'watched.test';
/** One change in so many names. */
export const CHANGES = 1_000;
export const [BEFORE, AFTER] = ['198.51.100.1', '198.51.100.2'] as const;
export const MEASURE_MS = 1_000 * numberFrom('SECONDS', 65);

/** Addresses of name servers on loopback; each name is at two of them. One in twenty is silent. */
const ADDRESSES = 1_000;
export const addresses = Array.from(
  { length: ADDRESSES },
  (_, i) => `127.53.${1 + Math.floor(i / 200)}.${1 + (i % 200)}`,
);
export const answering = addresses.filter((_, i) => i % 20 !== 19);

export function hostnameOf(index: number): string {
  return `shop-${index}.${ZONE}`;
}

/** What one run found. Lags in ms, from a change to its report. */
export type Found = {
  readonly names: number;
  readonly perSecond: number;
  readonly ofACore: number;
  readonly cpuUsPerQuestion: number;
  readonly bytesPerName: number;
  readonly delayP99Ms: number;
  readonly unansweredShare: number;
  readonly falseDifferences: number;
  readonly reported: number;
  readonly lagP50Ms: number;
  readonly lagP95Ms: number;
};
