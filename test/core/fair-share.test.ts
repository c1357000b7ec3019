import { describe, expect, it } from 'vitest';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/accounts/access.ts';
import {
  type AuthorityLimit,
  afterTaking,
  authorityLimits,
  bucketsOf,
  budgetWait,
  refillMs,
} from '../../src/core/certificates/budget.ts';
import { later, noon } from '../support/builders.ts';

const SECOND = 1_000;
const projectId = '00000000-0000-4000-8000-00000000000a';
const accountId = '00000000-0000-4000-8000-00000000000b';
const letsEncrypt = { authority: 'https://ca.test/dir', budget: 'letsencrypt' } as const;

describe('while others wait', () => {
  const account = { projectId, accountId, hostname: 'docs.example.com', kind: 'first' } as const;
  const buckets = bucketsOf(letsEncrypt, account);
  const keyOf = (wanted: AuthorityLimit) =>
    buckets.find(({ limit }) => limit === wanted)?.key ?? wanted;
  const waitWith = (left: number, used: number, othersWait: boolean) => {
    const missing = (300 - left) * refillMs('orders');
    const fullAt = new Map([
      [keyOf('orders'), later(noon, missing)],
      [keyOf('account_orders'), later(noon, used * refillMs('account_orders'))],
    ]);
    return budgetWait(buckets, { fullAt, now: noon, othersWait });
  };

  // What is left, what the account took of late, and whether it may take another one.
  it.each([
    [300, 0, true],
    [300, 74, true],
    [226, 74, true],
    [225, 75, false],
    [100, 24, true],
    [100, 33, false],
    [30, 10, false],
    [30, 9, false],
    [30, 8, true],
    [4, 0, true],
    [1, 0, true],
    [1, 1, false],
    [2, 1, false],
  ])('of %d that are left, an account that took %d: %s', (left, used, may) => {
    const wait = waitWith(left, used, true);
    if (may) expect(wait).toBeNull();
    else expect(wait).toMatchObject({ limit: 'account_orders', subject: accountId });
    expect(waitWith(left, used, false)).toBeNull();
  });

  it('an account asks again when its share grows, or in five minutes', () => {
    expect(waitWith(1, 1, true)?.until).toEqual(later(noon, 144 * SECOND));
    expect(waitWith(1, 75, true)?.until).toEqual(later(noon, 300 * SECOND));
  });

  it('an account owes the others no more than its whole share, however much it took alone', () => {
    let fullAt = noon;
    for (let taken = 0; taken < 300; taken += 1) {
      fullAt = afterTaking('account_orders', fullAt, noon);
    }
    expect(fullAt).toEqual(later(noon, authorityLimits.account_orders.windowMs));
  });

  it('projects that have no account of their own share as accounts do', () => {
    const { key } = bucketsOf(letsEncrypt, { ...account, accountId: DEFAULT_ACCOUNT_ID })[2] ?? {};
    expect(key).toBe(`account_orders ${letsEncrypt.authority} ${projectId}`);
  });
});
