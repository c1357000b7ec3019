/** A limit that an account has reached, in words: what, how much, and what to do or wait for. */
import type { LimitName } from './limits.ts';

/** What an account asked for has no room within its limits. */
export type LimitReached = {
  readonly limit: LimitName;
  /** More than `most` where the limit was lowered. */
  readonly used: number;
  readonly most: number;
  /** When there is room again by itself; null: not before something ends. */
  readonly until: Date | null;
};

/** `This account has 1,000 of 1,000 domains; remove one first, or have its limit raised.` */
export function limitReachedInWords({ limit, used, most, until }: LimitReached): string {
  const share = `${grouped(used)} of ${grouped(most)}`;
  const end = until?.toISOString();
  switch (limit) {
    case 'additionsPerHour':
      return most === 0
        ? 'This account may add no domains.'
        : `This account added ${share} domains within the last hour; it can add the next one at ${end}.`;
    case 'streams':
      return `This account has ${share} streams open; close one, or try again at ${end}.`;
    case 'diagnoses':
      return `This account has ${share} diagnoses under way; try again at ${end}.`;
    case 'requestsPerMinute':
      return `This account made ${share} requests in this minute; try again at ${end}.`;
    default:
      return `This account has ${share} ${limit}; ${wayOut[limit]}have its limit raised.`;
  }
}

const wayOut = {
  domains: 'remove one first, or ',
  projects: '',
  keys: 'revoke one first, or ',
  webhooks: 'delete one first, or ',
} as const;

/** `1,000`: the same on every machine, whatever its language. */
function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}
