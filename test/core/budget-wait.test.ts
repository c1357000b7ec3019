import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AuthorityLimit,
  afterTaking,
  authorityLimits,
  bucketsOf,
  refillMs,
} from '../../src/core/certificates/budget.ts';
import {
  budgetWait,
  dependsOnOthers,
  noneWaiting,
  type OthersWaiting,
} from '../../src/core/certificates/budget-wait.ts';
import { HOUR, SECOND } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

const projectId = '00000000-0000-4000-8000-00000000000a';
const accountId = '00000000-0000-4000-8000-00000000000b';
const buckets = bucketsOf(
  { authority: 'https://ca.test/dir', budget: 'letsencrypt' },
  { hostname: 'docs.example.com', projectId, accountId, kind: 'first' },
);

/** How many tokens are missing. */
type Missing = { readonly [L in AuthorityLimit]?: number };

function state(missing: Missing): Map<string, Date> {
  const all: Readonly<Partial<Record<string, number>>> = missing;
  return new Map(
    buckets.flatMap(({ key, limit }) => {
      const tokens = all[limit];
      return tokens === undefined ? [] : [[key, later(noon, tokens * refillMs(limit))] as const];
    }),
  );
}

const tomorrow = later(noon, 24 * HOUR);
/** Others that took nothing lately. */
const fresh = { until: tomorrow, fullAt: noon };
const everyone: OthersWaiting = { account_share: fresh, project_share: fresh };
const otherProjects: OthersWaiting = { account_share: null, project_share: fresh };

describe('an order', () => {
  it('starts at once when all of its buckets have a token', () => {
    expect(budgetWait(buckets, new Map(), noon)).toBeNull();
  });
  it('waits for the empty bucket that refills last, and names its subject', () => {
    expect(budgetWait(buckets, state({ orders: 300, registrable_domain: 50 }), noon)).toEqual({
      limit: 'registrable_domain',
      subject: 'example.com',
      until: later(noon, refillMs('registrable_domain')),
    });
    expect(budgetWait(buckets, state({ orders: 300 }), noon)).toMatchObject({ subject: '' });
  });
  it('waits until the refill, but no longer', () => {
    expect(budgetWait(buckets, state({ orders: 300 }), later(noon, 36 * SECOND))).toBeNull();
  });
});

describe('while others wait', () => {
  /** All that were taken lately, how many of them by this account, and whether it gets one more. */
  const rows: readonly (readonly [taken: number, ownTaken: number, gets: boolean])[] = [
    [0, 0, true],
    [74, 74, true],
    [75, 75, false], // a quarter of 300
    [75, 0, true],
    [100, 50, true],
    [200, 24, true],
    [200, 33, true],
    [200, 34, false], // 100 are left, and 34 are more than a quarter of 134
    [290, 3, true],
    [290, 4, false],
    [299, 0, true],
    [299, 1, false],
    [300, 0, false], // nothing is left for anyone
    [300, 75, false],
  ];

  it.each(rows)('of %d taken orders %d by one account: it gets another: %s', (...row) => {
    const [orders, account_share, gets] = row;
    const fullAt = state({ orders, account_share });
    expect(budgetWait(buckets, fullAt, noon, everyone) === null).toBe(gets);
  });

  it.each(rows)('of %d taken orders %d by one project: it gets another: %s', (...row) => {
    const [orders, project_share, gets] = row;
    const fullAt = state({ orders, project_share });
    expect(budgetWait(buckets, fullAt, noon, otherProjects) === null).toBe(gets);
  });

  it('of its own account only, an account may take what its projects do not', () => {
    const taken = state({ orders: 200, account_share: 75, project_share: 10 });
    expect(budgetWait(buckets, taken, noon, otherProjects)).toBeNull();
    expect(budgetWait(buckets, taken, noon, everyone)).toMatchObject({
      limit: 'account_share',
      subject: accountId,
    });
  });

  it('an account waits no longer than the others do', () => {
    const soon = later(noon, 90 * SECOND);
    const others = { account_share: { until: soon, fullAt: noon }, project_share: null };
    const taken = state({ orders: 290, account_share: 75 });
    expect(budgetWait(buckets, taken, noon, others)).toMatchObject({ until: soon });
    expect(budgetWait(buckets, taken, soon, others)).toBeNull();
  });
});

describe('without others that wait', () => {
  it.each([75, 150, 299])('an account that took %d of 300 gets another', (taken) => {
    const fullAt = state({ orders: taken, account_share: taken, project_share: taken });
    expect(budgetWait(buckets, fullAt, noon, noneWaiting)).toBeNull();
  });

  it('an account that takes everything owes no more than its share afterwards', () => {
    let fullAt = noon;
    for (let nth = 0; nth < 300; nth += 1) fullAt = afterTaking('account_share', fullAt, noon);
    expect(fullAt).toEqual(later(noon, authorityLimits.account_share.windowMs));
  });
});

it('Who else waits is asked only where it matters', () => {
  expect(dependsOnOthers(buckets, new Map(), noon)).toBe(false);
  expect(dependsOnOthers(buckets, state({ orders: 74, account_share: 74 }), noon)).toBe(false);
  expect(dependsOnOthers(buckets, state({ orders: 75, account_share: 75 }), noon)).toBe(true);
  const ofCaWithoutLimits = bucketsOf(
    { authority: 'local', budget: 'none' },
    { hostname: 'docs.example.com', projectId, accountId, kind: 'first' },
  );
  expect(dependsOnOthers(ofCaWithoutLimits, new Map(), noon)).toBe(false);
});

it('The announced time is the earliest one at which the order is possible, or three refills away', () => {
  const missing = fc.record({
    orders: fc.double({ min: 0, max: 299, noNaN: true }),
    account_share: fc.double({ min: 0, max: 75, noNaN: true }),
    project_share: fc.double({ min: 0, max: 75, noNaN: true }),
  });
  fc.assert(
    fc.property(missing, (taken) => {
      const fullAt = state(taken);
      const wait = budgetWait(buckets, fullAt, noon, everyone);
      if (wait === null) return;
      if (wait.until < later(noon, 108 * SECOND)) {
        expect(budgetWait(buckets, fullAt, wait.until, everyone)).toBeNull();
      }
      const before = later(wait.until, -2);
      if (before > noon) expect(budgetWait(buckets, fullAt, before, everyone)).not.toBeNull();
    }),
  );
});

/** Everyone always wants one more and asks in the same order: the first account is always first. */
it.each([2, 4, 30])(
  '%d accounts that always wait get the same number, and nothing is left unused',
  (count) => {
    const own = Array.from({ length: count }, () => noon);
    const taken = own.map(() => 0);
    let all = later(noon, authorityLimits.orders.windowMs);
    const until = later(noon, 40 * 24 * HOUR);
    const end = later(noon, count * HOUR);
    for (let at = noon; at <= end; at = later(at, 36 * SECOND)) {
      for (const [nth, ownFullAt] of own.entries()) {
        const fullAt = new Map(
          buckets.flatMap(({ key, limit }) => {
            if (limit === 'orders') return [[key, all] as const];
            return limit === 'account_share' ? [[key, ownFullAt] as const] : [];
          }),
        );
        const least = new Date(Math.min(...own.filter((_, other) => other !== nth).map(Number)));
        const others = { account_share: { until, fullAt: least }, project_share: null };
        if (budgetWait(buckets, fullAt, at, others) !== null) continue;
        all = afterTaking('orders', all, at);
        own[nth] = afterTaking('account_share', ownFullAt, at);
        taken[nth] = (taken[nth] ?? 0) + 1;
      }
    }
    expect(taken.reduce((sum, one) => sum + one, 0)).toBe(count * 100); // one each 36 s
    expect(Math.max(...taken) - Math.min(...taken)).toBeLessThanOrEqual(2);
  },
);

it('An account that took everything lets a new one take 75, then they take turns', () => {
  let [all, big, small] = [noon, noon, noon];
  for (let nth = 0; nth < 300; nth += 1) {
    all = afterTaking('orders', all, noon);
    big = afterTaking('account_share', big, noon);
  }
  const got: string[] = [];
  const ask = (name: string, ownFullAt: Date, otherFullAt: Date, at: Date) => {
    const fullAt = new Map([
      [keyOf('orders'), all],
      [keyOf('account_share'), ownFullAt],
    ]);
    const others = { until: tomorrow, fullAt: otherFullAt };
    if (budgetWait(buckets, fullAt, at, { ...noneWaiting, account_share: others })) return false;
    got.push(name);
    all = afterTaking('orders', all, at);
    return true;
  };
  for (let nth = 1; nth <= 90; nth += 1) {
    const at = later(noon, nth * 36 * SECOND);
    if (ask('big', big, small, at)) big = afterTaking('account_share', big, at);
    if (ask('small', small, big, at)) small = afterTaking('account_share', small, at);
  }
  expect(got.slice(0, 70)).toEqual(Array.from({ length: 70 }, () => 'small'));
  expect(got.slice(80)).toEqual(expect.arrayContaining(['big', 'small']));
  expect(got).toHaveLength(90);
});

function keyOf(limit: AuthorityLimit): string {
  return buckets.find((bucket) => bucket.limit === limit)?.key ?? '';
}
