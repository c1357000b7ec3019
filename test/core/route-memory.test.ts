/** A cached route: when it is usable, must be refreshed, and is unusable. */
import { describe, expect, it } from 'vitest';
import {
  classifyMemory,
  type MemoryVerdict,
  resubscribe,
  type Subscription,
  unsubscribed,
} from '../../src/core/operations/route-memory.ts';

const times = { freshMs: 3, rereadMs: 100, busyMs: 200, awayMs: 1_000 };
const never = Number.NEGATIVE_INFINITY;

const table: readonly [
  what: string,
  now: number,
  verdict: MemoryVerdict,
  hearing?: Partial<Subscription>,
  more?: { readonly readAt?: number; readonly isOutdated?: boolean },
][] = [
  ['just read', 0, 'use'],
  ['at its maximum age', 2.9, 'use'],
  ['past its maximum age', 3, 'ask'],
  ['reported as changed', 0, 'ask', {}, { isOutdated: true }],
  [
    'reported as changed on a working subscription',
    50,
    'ask',
    { since: 0, completeUntil: 49 },
    { isOutdated: true },
  ],
  ['old, with a complete subscription since', 50, 'use', { since: -1, completeUntil: 48 }],
  ['old, read when the subscription started', 50, 'use', { since: 0, completeUntil: 48 }],
  ['old, without a recent report', 50, 'ask', { since: -1, completeUntil: 47 }],
  ['old, on a new subscription', 50, 'ask', { since: 49, completeUntil: 49.5 }],
  ['fresh, on a new subscription', 2, 'use', { since: 1, completeUntil: never }],
  ['old, without any report yet', 50, 'ask', { since: -1, completeUntil: never }],
  ['old, on a broken subscription', 50, 'ask', { since: null, completeUntil: 49 }],
  ['so old that it may have expired', 100, 'ask', { since: -1, completeUntil: 100 }],
  ['still usable while the database is busy', 199, 'ask'],
  [
    'still usable while it is busy, though reported as changed',
    199,
    'ask',
    {},
    { isOutdated: true },
  ],
  ['usable only in an outage', 200, 'last_resort'],
  ['usable only in an outage, at its maximum age', 999, 'last_resort'],
  ['covered by recent reports, however old', 5_000, 'ask', { since: -1, completeUntil: 4_801 }],
  ['unusable even in an outage', 1_000, 'forget'],
  ['reported as changed, too old for an outage', 1_000, 'forget', {}, { isOutdated: true }],
  [
    'old; the outage counts from when it was last right',
    1_050,
    'last_resort',
    { since: -1, completeUntil: 60 },
  ],
];

describe('a cached route', () => {
  it.each(table)('%s, at %d: %s', (_what, now, verdict, hearing, more) => {
    const subscription = { since: null, completeUntil: never, ...hearing };
    expect(
      classifyMemory({ readAt: 0, isOutdated: false, ...more }, subscription, now, times),
    ).toBe(verdict);
  });
});

describe('a subscription that broke', () => {
  /** Read at 0; all changes until 300 were reported, then the connection broke. */
  const subscription: Subscription = { since: -1, completeUntil: 300 };
  const classify = (hearing: Subscription, now: number, readAt = 0) =>
    classifyMemory({ readAt, isOutdated: false }, hearing, now, times);

  it('still counts when it is restored, so that a busy database affects no visitor', () => {
    const again = resubscribe(subscription, 310);
    expect(classify(again, 320)).toBe('ask');
    expect(classify(again, 499)).toBe('ask');
    expect(classify(again, 500)).toBe('last_resort');
  });

  it('counts after several restarts without a report', () => {
    expect(classify(resubscribe(resubscribe(subscription, 310), 320), 330)).toBe('ask');
  });

  it('does not cover what was read before it started', () => {
    expect(classify(resubscribe({ since: 250, completeUntil: 300 }, 310), 320)).toBe('last_resort');
    expect(classify(resubscribe(unsubscribed, 310), 320)).toBe('last_resort');
  });
});
