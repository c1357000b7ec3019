/** Zones made to keep an observer busy: a check still ends within its limits. */
import { afterEach, expect, it } from 'vitest';
import { defaultLimits } from '../../../src/dns/wire/budget.ts';
import { closeInternet, type InternetOptions, openInternet } from './internet.ts';
import { RIGHT, shop } from './row.ts';

afterEach(closeInternet);

const HOSTNAME = 'docs.shop.test';
const twenty = Array.from({ length: 20 }, (_, i) => `ns${i + 1}`);
const listed = (names: readonly string[]) => ({ 'shop.test': names });
const nowhere = twenty.map((name) => `no-${name}`);
const outside = twenty.map((name) => `${name}.victim.test`);

/** The zone, and how many of its traps a check may query. */
const traps: readonly (readonly [
  title: string,
  world: InternetOptions,
  trap: RegExp,
  steps: number,
])[] = [
  [
    'lists twenty servers without addresses',
    { ...shop([RIGHT]), atParent: listed(nowhere), atZone: listed(nowhere) },
    /^no-ns\d+\.shop\.test$/,
    4,
  ],
  [
    'lists twenty servers in a foreign zone (an NXNSAttack)',
    {
      ...shop([RIGHT], { zones: { 'victim.test': { ns1: [] } } }),
      atParent: listed(outside),
      atZone: listed(outside),
    },
    /^ns\d+\.victim\.test$/,
    4,
  ],
  [
    'delegates a name to servers that delegate it to themselves',
    shop(['docs NS ns1']),
    /^docs\.shop\.test$/,
    1,
  ],
  [
    'delegates a name to a zone that delegates it back',
    {
      zones: {
        'shop.test': { ns1: ['docs NS ns1.other.test.'] },
        'other.test': { ns1: [] },
      },
    },
    /^docs\.shop\.test$/,
    1,
  ],
  [
    'has a chain of nine aliases in one answer',
    shop([
      'docs CNAME n1',
      ...twenty.slice(0, 8).map((_, i) => `n${i + 1} CNAME n${i + 2}`),
      'n9 CNAME p1.edge.test.',
    ]),
    /^n\d\.shop\.test$/,
    8,
  ],
];

it.each(traps)('a check is limited for a zone that %s', async (_title, world, trap, steps) => {
  const internet = await openInternet(world);
  const { observation, verdict } = await internet.check(HOSTNAME);
  expect(verdict).not.toBe('right');
  const stepped = internet.questions().flatMap(({ name }) => (trap.test(name) ? name : []));
  expect(new Set(stepped).size).toBeLessThanOrEqual(steps);
  expect(observation.cost.questions).toBeLessThanOrEqual(defaultLimits.questions);
  expect(internet.questions().length).toBeLessThanOrEqual(observation.cost.questions);
});

it('a server with twenty silent addresses does not keep another one from being queried', async () => {
  const internet = await openInternet({
    zones: { 'shop.test': { ns1: [RIGHT], ns2: [RIGHT] } },
    timeoutMs: 150,
  });
  const silent = Array.from({ length: 20 }, (_, i) => `ns1.shop A 127.0.1.${i + 1}`);
  internet.registry.edit('test', { add: silent });
  const { observation, verdict } = await internet.check(HOSTNAME);
  expect(verdict).toBe('right');
  expect(observation.cost.questions).toBeLessThanOrEqual(defaultLimits.questions);
});
