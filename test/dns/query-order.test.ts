/** Which of a zone's many name servers one check queries. */

import { describe, expect, it } from 'vitest';
import { HOUR } from '../../src/core/time.ts';
import { queryOrder } from '../../src/dns/servers/query-order.ts';

const named = (...names: readonly string[]) => names.map((name) => ({ name, glue: [] }));
const labels = (operator: string, count: number) =>
  Array.from({ length: count }, (_, i) => `ns${i + 10}.${operator}.test`);

function order(names: readonly string[], hour = 0): readonly (readonly string[])[] {
  return queryOrder(named(...names), hour * HOUR).map((group) => group.map(({ name }) => name));
}

describe('Of a zone with up to four servers', () => {
  it.each([0, 1, 2, 3, 4])('all %i are queried at once, always in the same order', (count) => {
    const names = labels('one', count);
    for (const hour of [0, 1, 7]) expect(order(names, hour)).toEqual(count === 0 ? [] : [names]);
  });
});

describe('Of a zone with more servers', () => {
  const mixed = [...labels('one', 6), ...labels('two', 2)];

  it('four are queried first, and each is in one group', () => {
    for (const hour of [0, 1, 5, 1_000_000]) {
      const groups = order(mixed, hour);
      expect(groups.map((group) => group.length)).toEqual([4, 4]);
      expect(groups.flat().toSorted()).toEqual(mixed.toSorted());
    }
  });

  it.each([2, 3, 4, 5, 6])('one of each of %i operators is queried first', (count) => {
    const operators = Array.from({ length: count }, (_, i) => `operator${i}`);
    const names = operators.flatMap((operator) => labels(operator, 3));
    for (const hour of [0, 1, 2, 11]) {
      const [first = []] = order(names, hour);
      expect(new Set(first.map((name) => name.split('.')[1])).size).toBe(count);
      expect(first).toHaveLength(Math.max(4, count));
    }
  });

  it('six are queried first if there are more operators', () => {
    const names = Array.from({ length: 9 }, (_, i) => `ns.operator${i}.test`);
    const groups = order(names).map((group) => group.length);
    expect(groups[0]).toBe(6);
  });

  it.each([[labels('one', 5)], [labels('one', 30)], [mixed], [['ns.a.test', ...labels('b', 9)]]])(
    'each of %j is queried first within a day',
    (names) => {
      const asked = Array.from({ length: 24 }, (_, hour) => order(names, hour)[0] ?? []).flat();
      expect(new Set(asked)).toEqual(new Set(names));
    },
  );

  it('the same are queried within an hour', () => {
    const at = (ms: number) => queryOrder(named(...mixed), ms);
    expect(at(HOUR)).toEqual(at(2 * HOUR - 1));
    expect(at(HOUR)).not.toEqual(at(2 * HOUR));
  });
});
