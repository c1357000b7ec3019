import { expect, it } from 'vitest';
import type { EventRange, EventRow } from '../../src/db/events.ts';
import { sharePages } from '../../src/events/feed.ts';

const range: EventRange = { projectId: 'p', hostname: null, after: 1n, upTo: 3n, limit: 100 };

it('Streams share a concurrent read of the same page', async () => {
  const asked: EventRange[] = [];
  const rows: EventRow[] = [];
  const page = sharePages(async (one) => {
    asked.push(one);
    return rows;
  });
  const others = [{ projectId: 'q' }, { hostname: 'd.test' }, { after: 2n }, { upTo: 4n }];
  const all = [range, range, range, ...others.map((other) => ({ ...range, ...other }))];
  await Promise.all(all.map(page));
  expect(asked).toHaveLength(5);
  await page(range);
  expect(asked).toHaveLength(6);
});

it('A failed read does not affect later ones', async () => {
  let isAway = true;
  const page = sharePages(async () => {
    if (isAway) throw new Error('away');
    return [];
  });
  const both = await Promise.allSettled([page(range), page(range)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isAway = false;
  expect(await page(range)).toEqual([]);
});
