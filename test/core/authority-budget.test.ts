import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AuthorityLimit,
  afterGivingBack,
  afterTaking,
  authorityLimits,
  type Bucket,
  bucketOf,
  bucketsOf,
  budgetWait,
  isGivenBack,
  type OrderKind,
  orderKind,
  publishedBudget,
  refillMs,
  takenAgain,
  takesAtOnce,
  tokenAt,
} from '../../src/core/certificates/budget.ts';
import { later, noon } from '../support/builders.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const { project_orders: _notCounted, ...counted } = authorityLimits;
const limits = Object.keys(counted) as AuthorityLimit[]; // it has no others

const docs = { hostname: 'docs.example.com', projectId: 'p', accountId: 'a' };
const authority = 'https://acme-v02.api.letsencrypt.org/directory';
const letsEncrypt = { authority, budget: 'letsencrypt' } as const;
const other = { authority: 'https://ca.test/dir', budget: 'none' } as const;

describe('the limits of Let’s Encrypt', () => {
  /** As published, the refill rounded as it is there. */
  const published: readonly (readonly [AuthorityLimit, number, number, number])[] = [
    ['orders', 300, 36 * SECOND, SECOND],
    ['account_orders', 75, 144 * SECOND, SECOND],
    ['registrable_domain', 50, 202 * MINUTE, MINUTE],
    ['same_names', 5, 34 * HOUR, HOUR],
    ['failed_authorizations', 5, 12 * MINUTE, MINUTE],
  ];
  it.each(published)('%s: %d, and one more every %d ms', (limit, tokens, refill, rounding) => {
    let fullAt = noon;
    for (let taken = 0; taken < tokens; taken += 1) {
      expect(tokenAt(limit, fullAt) <= noon).toBe(true);
      fullAt = afterTaking(limit, fullAt, noon);
    }
    // The 301st order, the 51st name, the sixth of the same name, the try after five that failed.
    const next = tokenAt(limit, fullAt);
    expect(next).toEqual(later(noon, refillMs(limit)));
    expect(Math.round(refillMs(limit) / rounding) * rounding).toBe(refill);
    // It is taken when it is there, and the one after that is as far away again.
    expect(tokenAt(limit, afterTaking(limit, fullAt, next))).toEqual(
      later(noon, 2 * refillMs(limit)),
    );
    // Untouched for a window, it is full.
    expect(fullAt).toEqual(later(noon, authorityLimits[limit].windowMs));
  });

  it('are each there at once after a long rest, and no more than that', () => {
    const rested = later(noon, 365 * 24 * HOUR);
    expect(afterTaking('orders', noon, rested)).toEqual(later(rested, 36 * SECOND));
  });
});

describe('a token that is given back', () => {
  const left = (ms: number) => {
    const fullAt = afterTaking('same_names', noon, noon);
    return afterGivingBack('same_names', fullAt, { takenAt: noon, now: later(noon, ms) });
  };
  it('is there again', () => expect(left(0)).toEqual(noon));
  it('was half refilled by then', () => {
    const half = refillMs('same_names') / 2;
    expect(left(half)).toEqual(later(noon, half));
  });
  it('was refilled by then: nothing changes', () => {
    const fullAt = later(noon, refillMs('same_names'));
    expect(left(refillMs('same_names'))).toEqual(fullAt);
    expect(left(100 * 24 * HOUR)).toEqual(fullAt);
  });
});

describe('what an order counts for', () => {
  const limitsOf = (kind: OrderKind, budget: typeof letsEncrypt | typeof other = letsEncrypt) =>
    bucketsOf(budget, { ...docs, kind }).map(({ limit }) => limit);

  it.each<readonly [OrderKind, readonly AuthorityLimit[]]>([
    ['first', limits],
    ['renewal', ['failed_authorizations', 'same_names']],
    ['replacement', []],
  ])('as %s: %j', (kind, counted) => {
    expect([...limitsOf(kind)].sort()).toEqual([...counted].sort());
  });

  it.each(['first', 'renewal', 'replacement'] as const)(
    'as %s, where the authority has published nothing: its failures alone',
    (kind) => expect(limitsOf(kind, other)).toEqual(['failed_authorizations']),
  );

  it.each([
    ['there was none before', null, 'first'],
    ['the authority has not said when', { window: null }, 'renewal'],
    ['before its window', window(1, 2), 'renewal'],
    ['as its window begins', window(0, 1), 'replacement'],
    ['in its window', window(-1, 1), 'replacement'],
    ['when its window is over', window(-1, 0), 'renewal'],
  ] as const)('is a matter of the certificate before: %s', (_what, previous, kind) => {
    expect(orderKind(previous, noon)).toBe(kind);
  });

  function window(from: number, to: number) {
    return { window: { start: later(noon, from * HOUR), end: later(noon, to * HOUR) } };
  }

  it('is taken when the order is opened, but for failures; a refusal gives certificates back', () => {
    const those = (what: (bucket: Bucket) => boolean) =>
      limits.filter((limit) => what({ limit, key: limit }));
    expect(those(takesAtOnce)).toEqual([
      'orders',
      'account_orders',
      'registrable_domain',
      'same_names',
    ]);
    expect(those(isGivenBack)).toEqual(['registrable_domain', 'same_names']);
  });
});

describe('whose bucket it is', () => {
  const keyOf = (
    limit: AuthorityLimit,
    hostname: string,
    budget: typeof letsEncrypt = letsEncrypt,
  ) =>
    bucketsOf(budget, { ...docs, hostname, kind: 'first' }).find((one) => one.limit === limit)?.key;

  it.each([
    ['orders', 'the account’s', 'docs.example.com', ''],
    ['account_orders', 'the account’s', 'docs.example.com', ` ${docs.accountId}`],
    ['registrable_domain', 'the zone’s', 'docs.example.com', ' example.com'],
    ['registrable_domain', 'an apex’s own', 'example.com', ' example.com'],
    ['registrable_domain', 'below a suffix of two labels', 'a.shop.co.uk', ' shop.co.uk'],
    ['registrable_domain', 'below a private suffix', 'docs.shop.github.io', ' shop.github.io'],
    ['registrable_domain', 'a private suffix itself', 'github.io', ' github.io'],
    ['same_names', 'the name’s', 'docs.example.com', ' docs.example.com'],
    ['failed_authorizations', 'the name’s', 'docs.example.com', ' docs.example.com'],
  ] as const)('%s: %s', (limit, _whose, hostname, subject) => {
    expect(keyOf(limit, hostname)).toBe(`${limit} ${authority}${subject}`);
  });

  it('is another one at another authority', () => {
    const elsewhere = { ...letsEncrypt, authority: 'https://other.test/dir' } as const;
    for (const limit of limits) {
      const [here, there] = [letsEncrypt, elsewhere] as const;
      expect(keyOf(limit, 'docs.example.com', here)).not.toBe(
        bucketsOf(there, { ...docs, kind: 'first' }).find((one) => one.limit === limit)?.key,
      );
    }
  });

  it('is read from its key', () => {
    for (const bucket of bucketsOf(letsEncrypt, { ...docs, kind: 'first' })) {
      expect(bucketOf(bucket.key)).toEqual(bucket);
    }
    expect(bucketOf('of_another_version https://ca.test/dir')).toBeNull();
  });
});

describe('an order waits', () => {
  const buckets = bucketsOf(letsEncrypt, { ...docs, kind: 'first' });
  const state = (...empty: readonly AuthorityLimit[]) =>
    new Map(
      buckets
        .filter(({ limit }) => empty.includes(limit))
        .map(({ key, limit }) => [key, later(noon, authorityLimits[limit].windowMs)]),
    );

  it('for nothing where all of its buckets have a token', () => {
    expect(budgetWait(buckets, { fullAt: new Map(), now: noon, othersWait: false })).toBeNull();
  });
  it('for the last of those that have none, and says whose it is', () => {
    expect(
      budgetWait(buckets, {
        fullAt: state('orders', 'registrable_domain'),
        now: noon,
        othersWait: false,
      }),
    ).toEqual({
      limit: 'registrable_domain',
      subject: 'example.com',
      until: later(noon, refillMs('registrable_domain')),
    });
    expect(
      budgetWait(buckets, { fullAt: state('orders'), now: noon, othersWait: false }),
    ).toMatchObject({ subject: '' });
  });
  it('until then, and no longer', () => {
    expect(
      budgetWait(buckets, {
        fullAt: state('orders'),
        now: later(noon, 36 * SECOND),
        othersWait: false,
      }),
    ).toBeNull();
  });
});

describe('an order that is placed long after it was opened', () => {
  const keys = ['orders https://ca.test/dir', 'same_names https://ca.test/dir docs.example.com'];
  const counted = (ms: number, buckets: readonly string[] = keys) =>
    takenAgain({ buckets, createdAt: noon }, later(noon, ms)).map(({ limit }) => limit);

  it('counts for the account once more, and for nothing else', () => {
    expect(counted(MINUTE + 1)).toEqual(['orders']);
  });
  it('counts once where it is placed at once', () => expect(counted(MINUTE)).toEqual([]));
  it('counts for nothing where it never did', () =>
    expect(counted(HOUR, keys.slice(1))).toEqual([]));
});

describe('the budget of an authority', () => {
  it.each([
    ['acme-v02.api.letsencrypt.org', 'letsencrypt'],
    ['letsencrypt.org', 'letsencrypt'],
    ['acme-staging-v02.api.letsencrypt.org', 'none'],
    ['notletsencrypt.org', 'none'],
    ['letsencrypt.org.example.com', 'none'],
    ['localhost', 'none'],
  ] as const)('%s: %s', (host, budget) => expect(publishedBudget(host)).toBe(budget));
});

describe('however orders come', () => {
  const limit = fc.constantFrom(...limits);
  /** Tokens that are left at the start: fewer than any bucket holds, so that every run meets its end. */
  const LEFT = 3;
  /** In refills: the wait before each ask, and how long after an order that is placed it is refused; null: never. */
  const asks = fc.array(
    fc.record({
      wait: fc.double({ min: 0, max: 1.5, noNaN: true }),
      refusedAfter: fc.option(fc.double({ min: 0, max: 2, noNaN: true })),
    }),
    { maxLength: 60 },
  );
  type Ask = { readonly wait: number; readonly refusedAfter: number | null };
  type Refusal = { readonly takenAt: Date; readonly now: Date };

  const drained = (of: AuthorityLimit) =>
    later(noon, (authorityLimits[of].tokens - LEFT) * refillMs(of));
  const steps = (of: AuthorityLimit, count: number) => Math.round(count * refillMs(of));

  /** When those were placed that nobody refused. */
  function placed(of: AuthorityLimit, orders: readonly Ask[]): readonly Date[] {
    let [at, fullAt] = [noon, drained(of)];
    let open: readonly Refusal[] = [];
    const kept: Date[] = [];
    for (const { wait, refusedAfter } of orders) {
      at = later(at, steps(of, wait));
      for (const one of open.filter(({ now }) => now <= at)) {
        fullAt = afterGivingBack(of, fullAt, one);
      }
      open = open.filter(({ now }) => now > at);
      if (tokenAt(of, fullAt) > at) continue;
      fullAt = afterTaking(of, fullAt, at);
      if (refusedAfter === null) kept.push(at);
      else open = [...open, { takenAt: at, now: later(at, steps(of, refusedAfter)) }];
    }
    return kept;
  }

  it('no window has more than there was and what was refilled in it, whatever is given back', () => {
    fc.assert(
      fc.property(limit, asks, (of, orders) => {
        const kept = placed(of, orders);
        const refilled = (from: Date, to: Date) => (to.getTime() - from.getTime()) / refillMs(of);
        for (const [last, to] of kept.entries()) {
          expect(last + 1).toBeLessThanOrEqual(LEFT + refilled(noon, to));
          for (const [first, from] of kept.slice(0, last).entries()) {
            const allowed = authorityLimits[of].tokens + refilled(from, to);
            expect(last - first + 1).toBeLessThanOrEqual(allowed);
          }
        }
      }),
    );
  });

  it('whoever waits until its time gets its token', () => {
    fc.assert(
      fc.property(limit, asks, (of, orders) => {
        let [at, fullAt] = [noon, drained(of)];
        for (const { wait } of orders) {
          const asked = later(at, steps(of, wait));
          at = new Date(Math.max(asked.getTime(), tokenAt(of, fullAt).getTime()));
          fullAt = afterTaking(of, fullAt, at);
          expect(fullAt.getTime() - at.getTime()).toBeLessThanOrEqual(authorityLimits[of].windowMs);
        }
      }),
    );
  });
});
