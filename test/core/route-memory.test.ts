/** What is remembered of a name: when it may be used, must be asked for again, and is worth nothing. */
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

/** Read at 0, unless it says otherwise. */
const table: readonly [
  what: string,
  now: number,
  verdict: MemoryVerdict,
  hearing?: Partial<Subscription>,
  more?: { readonly readAt?: number; readonly isOutdated?: boolean },
][] = [
  ['just read', 0, 'use'],
  ['as old as it may be', 2.9, 'use'],
  ['older than that', 3, 'ask'],
  ['told to have changed', 0, 'ask', {}, { isOutdated: true }],
  [
    'told to have changed, however well we hear',
    50,
    'ask',
    { since: 0, completeUntil: 49 },
    { isOutdated: true },
  ],
  ['old, and everything has been told since', 50, 'use', { since: -1, completeUntil: 48 }],
  [
    'old, and read in the moment in which the listening began',
    50,
    'use',
    { since: 0, completeUntil: 48 },
  ],
  ['old, and nothing was told lately', 50, 'ask', { since: -1, completeUntil: 47 }],
  ['old, and the listening has only begun', 50, 'ask', { since: 49, completeUntil: 49.5 }],
  ['fresh, and the listening has only begun', 2, 'use', { since: 1, completeUntil: never }],
  ['old, and nobody has told anything yet', 50, 'ask', { since: -1, completeUntil: never }],
  ['old, and nobody tells any more', 50, 'ask', { since: null, completeUntil: 49 }],
  ['so old that it may have ended by itself', 100, 'ask', { since: -1, completeUntil: 100 }],
  ['still good while the database is busy', 199, 'ask'],
  [
    'still good, while it is busy, though told to have changed',
    199,
    'ask',
    {},
    { isOutdated: true },
  ],
  ['good for an outage alone', 200, 'last_resort'],
  ['good for an outage alone, as long as that may be', 999, 'last_resort'],
  [
    'heard of lately, however long ago it was read',
    5_000,
    'ask',
    { since: -1, completeUntil: 4_801 },
  ],
  ['not even good for an outage', 1_000, 'forget'],
  ['told to have changed, too old for an outage', 1_000, 'forget', {}, { isOutdated: true }],
  [
    'old, its outage counted from when it was last right',
    1_050,
    'last_resort',
    { since: -1, completeUntil: 60 },
  ],
];

describe('What was read of a name', () => {
  it.each(table)('%s, at %d: %s', (_what, now, verdict, hearing, more) => {
    const subscription = { since: null, completeUntil: never, ...hearing };
    expect(
      classifyMemory({ readAt: 0, isOutdated: false, ...more }, subscription, now, times),
    ).toBe(verdict);
  });
});

describe('What was told before the listening broke off', () => {
  /** Read at 0, and all that changed until 300 was heard; then the listening broke off. */
  const subscription: Subscription = { since: -1, completeUntil: 300 };
  const classify = (hearing: Subscription, now: number, readAt = 0) =>
    classifyMemory({ readAt, isOutdated: false }, hearing, now, times);

  it('still counts when it begins again, so that a busy database costs no visitor', () => {
    const again = resubscribe(subscription, 310);
    expect(classify(again, 320)).toBe('ask');
    expect(classify(again, 499)).toBe('ask');
    expect(classify(again, 500)).toBe('last_resort');
  });

  it('counts however often it begins again without being told anything', () => {
    expect(classify(resubscribe(resubscribe(subscription, 310), 320), 330)).toBe('ask');
  });

  it('counts for nothing that was read before it had begun', () => {
    expect(classify(resubscribe({ since: 250, completeUntil: 300 }, 310), 320)).toBe('last_resort');
    expect(classify(resubscribe(unsubscribed, 310), 320)).toBe('last_resort');
  });
});
