/** The table on top of full-observation.ts lists every question of a full check. */
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { asked, closeAll, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const right = 'docs CNAME p1.edge.test.';

/** Which queries for `docs.shop.test` each row is about, as `name TYPE`. */
const rows: Readonly<Record<string, RegExp>> = {
  'A name': /^docs\.shop\.test A$/,
  'MX name': /^docs\.shop\.test MX$/,
  'AAAA name': /^docs\.shop\.test AAAA$/,
  'NS zone': /^shop\.test NS$/,
  'SOA name, SOA its parent': /^docs\.shop\.test SOA$/,
  'A, AAAA target': /^p1\.edge\.test (A|AAAA)$/,
  'A random sibling': /^[a-z]{24}\.shop\.test A$/,
  'CNAME name.zone, www.name …':
    /^(docs\.shop\.test\.shop\.test|www\.docs\.shop\.test|shop\.test) CNAME$/,
  'MX, TXT name': /^docs\.shop\.test (MX|TXT)$/,
  'A along a foreign CNAME': /^(x|y)\.other\.test A$/,
  'CAA target, then upward':
    /^((p1\.)?edge|(docs\.)?shop|((x|y)\.)?other)\.test CAA( rd)?$|^test CAA rd$/,
  'A, AAAA name, with DO': /^docs\.shop\.test (A|AAAA) rd$/,
  'SOA zone, with DO': /^shop\.test SOA rd$/,
};
/** How zones and their servers are found (src/dns/servers/delegation.ts). */
const delegation = /^(test NS rd|ns1\.(\w+\.)?test A rd|(edge|other)\.test NS)$/;
/** Other tests have their conditions: an apex, a signed zone, a server without its zone, no server. */
const elsewhere = [
  'SOA zone',
  'HTTPS name',
  'A, AAAA its target',
  'CAA own levels, with DO',
  'A name, plain',
  'NS top-level domain',
];

const source = readFileSync(
  new URL('../../src/dns/observe/full-observation.ts', import.meta.url),
  'utf8',
);
const listed = [...source.matchAll(/^ \* \| (?!question|-)(.+?) +\|/gm)].map(
  ([, text = '']) => text,
);

async function questionsFor(shop: string[], others: string[] = []): Promise<readonly string[]> {
  const zones = { 'shop.test': shop, 'edge.test': ['p1 A 192.0.2.10'], 'other.test': others };
  const { dns, observer } = await openTestLab(zones);
  const checkTarget = { hostname, target, apex: false };
  await observer.observe(checkTarget);
  return asked(dns).filter((question) => !delegation.test(question));
}

const zones = [
  { what: 'the right record', shop: [right] },
  { what: 'a wrong address', shop: ['docs A 192.0.2.1', 'docs A 192.0.2.2'] },
  { what: 'a wrong wildcard', shop: ['* A 192.0.2.9', '* MX 1 x'] },
  { what: 'no record', shop: [] },
  { what: 'a text only', shop: ['docs TXT "x"'] },
  {
    what: 'a foreign CNAME',
    shop: ['docs CNAME x.other.test.'],
    others: ['x CNAME y', 'y A 192.0.2.9'],
  },
];

describe('The questions of a full check', () => {
  it('are exactly the rows of the table', () => {
    expect(listed.toSorted()).toEqual([...Object.keys(rows), ...elsewhere].toSorted());
  });

  it.each(zones)('with $what are all in the table', async ({ shop, others }) => {
    const unlisted = (await questionsFor(shop, others)).filter(
      (question) => !Object.values(rows).some((row) => row.test(question)),
    );
    expect(unlisted).toEqual([]);
  });

  it('include each row in one of these zones', async () => {
    const all = new Set<string>();
    for (const { shop, others } of zones) {
      for (const question of await questionsFor(shop, others)) all.add(question);
    }
    const unseen = Object.entries(rows).filter(([, row]) => ![...all].some((one) => row.test(one)));
    expect(unseen.map(([text]) => text)).toEqual([]);
  });
});
