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
  isGivenBack,
  type OrderKind,
  orderKind,
  publishedBudget,
  refillMs,
  takenAgain,
  takesAtOnce,
  tokenAt,
} from '../../src/core/certificates/budget.ts';
import { HOUR, MINUTE, SECOND } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

const limits = Object.keys(authorityLimits) as AuthorityLimit[]; // no other limits are published

const projectId = '00000000-0000-4000-8000-00000000000a';
const accountId = '00000000-0000-4000-8000-00000000000b';
const authority = 'https://acme-v02.api.letsencrypt.org/directory';
const letsEncrypt = { authority, budget: 'letsencrypt' } as const;
const other = { authority: 'https://ca.test/dir', budget: 'none' } as const;

describe('the limits of Let’s Encrypt', () => {
  /** As published, with the refill rounded the same way. */
  const published: readonly (readonly [AuthorityLimit, number, number, number])[] = [
    ['orders', 300, 36 * SECOND, SECOND],
    ['account_share', 75, 1_152 * SECOND, SECOND],
    ['project_share', 75, 1_152 * SECOND, SECOND],
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
    // The 301st order, the 51st name, the sixth of the same name, the attempt after five failures.
    const next = tokenAt(limit, fullAt);
    expect(next).toEqual(later(noon, refillMs(limit)));
    expect(Math.round(refillMs(limit) / rounding) * rounding).toBe(refill);
    // Taking it in time leaves the next one a full refill away.
    expect(tokenAt(limit, afterTaking(limit, fullAt, next))).toEqual(
      later(noon, 2 * refillMs(limit)),
    );
    expect(fullAt).toEqual(later(noon, authorityLimits[limit].windowMs));
  });

  it('allow their full burst after a long pause, but no more', () => {
    const rested = later(noon, 365 * 24 * HOUR);
    expect(afterTaking('orders', noon, rested)).toEqual(later(rested, 36 * SECOND));
  });
});

describe('a returned token', () => {
  const left = (ms: number) => {
    const fullAt = afterTaking('same_names', noon, noon);
    return afterGivingBack('same_names', fullAt, { takenAt: noon, now: later(noon, ms) });
  };
  it('is available at once', () => expect(left(0)).toEqual(noon));
  it('counts for the half that was not refilled yet', () => {
    const half = refillMs('same_names') / 2;
    expect(left(half)).toEqual(later(noon, half));
  });
  it('changes nothing when it was refilled already', () => {
    const fullAt = later(noon, refillMs('same_names'));
    expect(left(refillMs('same_names'))).toEqual(fullAt);
    expect(left(100 * 24 * HOUR)).toEqual(fullAt);
  });
});

describe('the limits of an order', () => {
  const limitsOf = (kind: OrderKind, budget: typeof letsEncrypt | typeof other = letsEncrypt) =>
    bucketsOf(budget, { hostname: 'docs.example.com', projectId, accountId, kind }).map(
      ({ limit }) => limit,
    );

  it.each<readonly [OrderKind, readonly AuthorityLimit[]]>([
    ['first', limits],
    ['renewal', ['failed_authorizations', 'same_names']],
    ['replacement', []],
  ])('of kind %s: %j', (kind, counted) => {
    expect([...limitsOf(kind)].sort()).toEqual([...counted].sort());
  });

  it.each(['first', 'renewal', 'replacement'] as const)(
    'of kind %s are failures only when the CA has published nothing',
    (kind) => expect(limitsOf(kind, other)).toEqual(['failed_authorizations']),
  );

  it.each([
    ['no previous certificate', null, 'first'],
    ['no renewal window yet', { window: null }, 'renewal'],
    ['before its window', window(1, 2), 'renewal'],
    ['at the start of its window', window(0, 1), 'replacement'],
    ['in its window', window(-1, 1), 'replacement'],
    ['at the end of its window', window(-1, 0), 'renewal'],
  ] as const)('depend on the previous certificate: %s', (_what, previous, kind) => {
    expect(orderKind(previous, noon)).toBe(kind);
  });

  function window(from: number, to: number) {
    return { window: { start: later(noon, from * HOUR), end: later(noon, to * HOUR) } };
  }

  it('are charged when it opens, except failures; a refusal returns the per-certificate ones', () => {
    const those = (what: (bucket: Bucket) => boolean) =>
      limits.filter((limit) => what({ limit, key: limit }));
    expect(those(takesAtOnce)).toEqual([
      'orders',
      'account_share',
      'project_share',
      'registrable_domain',
      'same_names',
    ]);
    expect(those(isGivenBack)).toEqual(['registrable_domain', 'same_names']);
  });
});

describe('the bucket of a limit', () => {
  const keyOf = (
    limit: AuthorityLimit,
    hostname: string,
    budget: typeof letsEncrypt = letsEncrypt,
  ) =>
    bucketsOf(budget, { hostname, projectId, accountId, kind: 'first' }).find(
      (one) => one.limit === limit,
    )?.key;

  it.each([
    ['orders', 'the installation’s', 'docs.example.com', ''],
    ['account_share', 'the account’s', 'docs.example.com', ` ${accountId}`],
    ['project_share', 'the project’s', 'docs.example.com', ` ${projectId}`],
    ['registrable_domain', 'the zone’s', 'docs.example.com', ' example.com'],
    ['registrable_domain', 'an apex’s own', 'example.com', ' example.com'],
    ['registrable_domain', 'below a suffix of two labels', 'a.shop.co.uk', ' shop.co.uk'],
    ['registrable_domain', 'below a private suffix', 'docs.shop.github.io', ' shop.github.io'],
    ['registrable_domain', 'a private suffix itself', 'github.io', ' github.io'],
    ['same_names', 'the name’s', 'docs.example.com', ' docs.example.com'],
    ['failed_authorizations', 'the name’s', 'docs.example.com', ' docs.example.com'],
  ] as const)('%s has the key %s', (limit, _whose, hostname, subject) => {
    expect(keyOf(limit, hostname)).toBe(`${limit} ${authority}${subject}`);
  });

  it('is separate per CA', () => {
    const elsewhere = { ...letsEncrypt, authority: 'https://other.test/dir' } as const;
    for (const limit of limits) {
      const [here, there] = [letsEncrypt, elsewhere] as const;
      expect(keyOf(limit, 'docs.example.com', here)).not.toBe(
        bucketsOf(there, {
          hostname: 'docs.example.com',
          projectId,
          accountId,
          kind: 'first',
        }).find((one) => one.limit === limit)?.key,
      );
    }
  });

  it('can be parsed from its key', () => {
    for (const bucket of bucketsOf(letsEncrypt, {
      hostname: 'docs.example.com',
      projectId,
      accountId,
      kind: 'first',
    })) {
      expect(bucketOf(bucket.key)).toEqual(bucket);
    }
    expect(bucketOf('of_another_version https://ca.test/dir')).toBeNull();
  });
});

describe('an order that is placed long after it was opened', () => {
  const keys = ['orders https://ca.test/dir', 'same_names https://ca.test/dir docs.example.com'];
  const counted = (ms: number, buckets: readonly string[] = keys) =>
    takenAgain({ buckets, createdAt: noon }, later(noon, ms)).map(({ limit }) => limit);

  it('is charged to the account limit once more, and to no other', () => {
    expect(counted(MINUTE + 1)).toEqual(['orders']);
  });
  it('is charged only once when it is placed at once', () => expect(counted(MINUTE)).toEqual([]));
  it('is not charged when it never was', () => expect(counted(HOUR, keys.slice(1))).toEqual([]));
});

describe('the budget of a CA', () => {
  it.each([
    ['acme-v02.api.letsencrypt.org', 'letsencrypt'],
    ['letsencrypt.org', 'letsencrypt'],
    ['acme-staging-v02.api.letsencrypt.org', 'none'],
    ['notletsencrypt.org', 'none'],
    ['letsencrypt.org.example.com', 'none'],
    ['localhost', 'none'],
  ] as const)('%s: %s', (host, budget) => expect(publishedBudget(host)).toBe(budget));
});

describe('for random orders', () => {
  const limit = fc.constantFrom(...limits);
  /** Initial tokens; fewer than any bucket's capacity, so that every run exhausts it. */
  const LEFT = 3;
  /** In refills: the wait before each request, and how long until a placed order is refused. */
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

  it('no window exceeds its initial tokens plus refills, even with returned tokens', () => {
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

  it('waiting until the announced time always yields a token', () => {
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
