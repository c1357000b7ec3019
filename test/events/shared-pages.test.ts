import { expect, it } from 'vitest';
import { type Access, accessTo, wholeInstallation } from '../../src/core/access.ts';
import type { EventRange, EventRow } from '../../src/db/events.ts';
import { sharePages } from '../../src/events/feed.ts';

const range: EventRange = { projectId: 'p', hostname: null, after: 1n, upTo: 3n, limit: 100 };

it('Streams share a concurrent read of the same page', async () => {
  const asked: EventRange[] = [];
  const rows: EventRow[] = [];
  const page = sharePages(async (_access, one) => {
    asked.push(one);
    return rows;
  });
  const others = [{ projectId: 'q' }, { hostname: 'd.test' }, { after: 2n }, { upTo: 4n }];
  const all = [range, range, range, ...others.map((other) => ({ ...range, ...other }))];
  await Promise.all(all.map((one) => page(wholeInstallation, one)));
  expect(asked).toHaveLength(5);
  await page(wholeInstallation, range);
  expect(asked).toHaveLength(6);
});

it('Streams share no read with another access', async () => {
  const asked: Access[] = [];
  const page = sharePages(async (access) => {
    asked.push(access);
    return [];
  });
  const accesses = [
    wholeInstallation,
    accessTo('one'),
    accessTo('one', ['p']),
    accessTo('one', ['p', 'q']),
    accessTo('other'),
  ];
  await Promise.all([...accesses, ...accesses].map((access) => page(access, range)));
  expect(asked).toEqual(accesses);
});

it('A failed read does not affect later ones', async () => {
  let isAway = true;
  const page = sharePages(async () => {
    if (isAway) throw new Error('away');
    return [];
  });
  const read = () => page(wholeInstallation, range);
  const both = await Promise.allSettled([read(), read()]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isAway = false;
  expect(await read()).toEqual([]);
});
