import { afterAll, beforeAll, expect, it } from 'vitest';
import { refillMs, tokensLeft } from '../../src/core/certificates/budget.ts';
import { loadBudget } from '../../src/service/overview.ts';
import { openStoredOrders, type StoredOrders } from '../db/stored-orders.ts';
import { later, noon } from '../support/builders.ts';

let db: StoredOrders;
beforeAll(async () => {
  db = await openStoredOrders();
});
afterAll(() => db?.close());

it.each([
  ['full for a while', -1, 300],
  ['full at this moment', 0, 300],
  ['a fraction of a token used', 0.5, 299],
  ['one token used', 1, 299],
  ['no tokens left', 300, 0],
  ['more tokens used than available', 400, 0],
] as const)('The budget counts whole tokens: %s', (_, missing, left) => {
  const fullAt = later(noon, missing * refillMs('orders'));
  expect(tokensLeft('orders', fullAt, noon)).toBe(left);
});

it('The budget lists the scarcest limits first and omits full ones', async () => {
  const directory = 'https://ca.test/dir';
  const taken = (limit: 'orders' | 'same_names', count: number) =>
    later(noon, count * refillMs(limit));
  await db.database.prisma.authorityBudget.createMany({
    data: [
      { key: `orders ${directory}`, fullAt: taken('orders', 30) },
      { key: `same_names ${directory} docs.shop.test`, fullAt: taken('same_names', 5) },
      { key: `same_names ${directory} www.shop.test`, fullAt: taken('same_names', -1) },
      { key: `of_another_version ${directory}`, fullAt: taken('orders', 9) },
    ],
  });
  expect(await loadBudget(db.database.prisma, noon)).toEqual([
    {
      authority: directory,
      limit: '5 certificates in 7 days for docs.shop.test',
      left: 0,
      of: 5,
      fullAt: taken('same_names', 5),
    },
    {
      authority: directory,
      limit: '300 new orders in 3 hours for all domains of this installation together',
      left: 270,
      of: 300,
      fullAt: taken('orders', 30),
    },
  ]);
});
