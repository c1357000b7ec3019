/** Every finding and hint over real DNS: name servers on loopback, observation, diagnosis, text. */
import { afterEach, describe, expect, it } from 'vitest';
import { type FindingCode, severities } from '../../../src/core/diagnosis/findings.ts';
import type { HintCode } from '../../../src/core/diagnosis/hints.ts';
import type { LabDnsServer } from '../../../src/lab/dns-server.ts';
import { caaRows } from './caa-rows.ts';
import { closeInternet, openInternet } from './internet.ts';
import { apexRows, recordRows } from './record-rows.ts';
import { RIGHT, type Row, shop, textOf } from './row.ts';
import { serverRows } from './server-rows.ts';

/* Mistakes that a value or a wildcard shows. */

const LONG = 'k3jw5xqm2c7rtzna.edge.test';
const typed = (code: string, text: string) => ({ hints: [{ code, typed: text }] });

const slipRows: readonly Row[] = [
  {
    title: 'has a wildcard that points here, and a TXT record at the name',
    world: ['* CNAME p1.edge.test.', 'docs TXT "hello"'],
    verdict: 'wrong',
    codes: ['record_missing'],
    hint: 'wildcard_stops',
    evidence: { seen: 'nodata', hints: [{ code: 'wildcard_stops', wildcard: '*.shop.test' }] },
    words: ['*.shop.test points here, but does not apply to docs.shop.test', 'Create: CNAME docs'],
  },
  {
    title: 'has a wildcard that points here, and a name below',
    world: ['* CNAME p1.edge.test.', 'old.docs A 198.51.100.7'],
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'wildcard_stops', wildcard: '*.shop.test' }] },
    words: ['or names below it'],
  },
  {
    title: 'has the record at a wildcard below the name',
    world: ['*.docs CNAME p1.edge.test.'],
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'wrong_host', name: '*.docs.shop.test' }] },
    words: ['The record is at *.docs.shop.test instead of docs.shop.test'],
  },
  {
    title: 'has only the first part of the target as its value',
    world: ['docs CNAME p1'],
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'partial_target',
    evidence: { found: 'p1.shop.test', ...typed('partial_target', 'p1') },
    words: ['only the first part of the target: p1. Enter all of it: p1.edge.test'],
  },
  {
    title: 'has the end of the target twice',
    world: ['docs CNAME p1.edge.test.edge.test.'],
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'doubled_end',
    evidence: typed('doubled_end', 'p1.edge.test.edge.test'),
    words: ['the end of the target twice'],
  },
  {
    title: 'has one letter of the target wrong',
    world: ['docs CNAME k3jw5xqm2c7rtzma.edge.test.'],
    expected: { target: LONG },
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'misspelled_target',
    evidence: typed('misspelled_target', 'k3jw5xqm2c7rtzma.edge.test'),
    words: ['has “m” instead of “n” after “k3jw5xqm2c7rtz”', `Enter ${LONG}`],
  },
  {
    title: 'has the target of another domain',
    world: ['docs CNAME q8vn4ytd6h3bwzsa.edge.test.'],
    expected: { target: LONG },
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'other_target',
    evidence: typed('other_target', 'q8vn4ytd6h3bwzsa.edge.test'),
    words: ['looks like the target of another domain', `the one of docs.shop.test is ${LONG}`],
  },
  {
    title: 'has no record in its zone below the domain',
    hostname: 'docs.team.shop.test',
    world: shop([], { zones: { 'shop.test': { ns1: [] }, 'team.shop.test': { ns1: [] } } }),
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { zone: 'team.shop.test' },
    words: ['Create: CNAME docs → p1.edge.test, TTL 3600, in the zone team.shop.test.'],
  },
  {
    title: 'is www, and its apex points here',
    hostname: 'www.shop.test',
    world: ['@ A 192.0.2.10'],
    verdict: 'wrong',
    codes: ['record_missing'],
    hint: 'apex_points_here',
    evidence: { hints: [{ code: 'apex_points_here', apex: 'shop.test' }] },
    words: ['shop.test points here already, but that does not cover www.shop.test'],
  },
];

afterEach(closeInternet);

const tables: readonly (readonly [string, readonly Row[]])[] = [
  ['its record', recordRows],
  ['its apex', apexRows],
  ['its servers', serverRows],
  ['what was mistyped', slipRows],
  ['its CAA records', caaRows],
];

/** Queries about the name's records. A zone has NS and SOA records, so no absence is cached. */
function askedAbout({ questions }: LabDnsServer, hostname: string) {
  return questions.filter(({ name, type }) => name === hostname && type !== 'NS' && type !== 'SOA');
}

describe.each(tables)('a domain, by %s,', (_what, rows) => {
  it.each(rows)('that $title: $codes.0', async (row) => {
    const { world, fails = [], hostname = 'docs.shop.test', about = row.codes[0] } = row;
    const internet = await openInternet('zones' in world ? world : shop(world));
    for (const [server, fault, names, type] of fails) internet.fail(server, fault, names, type);
    const { codes, verdict, findings, observation } = await internet.check(hostname, row.expected);
    expect({ verdict, codes }).toEqual({ verdict: row.verdict, codes: row.codes });
    // A resolver that is queried too early caches a negative answer for everyone (RFC 2308, 5).
    if (observation.view === 'authoritative' && observation.world.length === 0) {
      expect(askedAbout(internet.resolver, hostname)).toEqual([]);
    }
    const finding = findings.find(({ code }) => code === about);
    expect(finding).toMatchObject(row.evidence);
    if (finding === undefined) return;
    const text = textOf(finding);
    for (const word of row.words) expect(text).toContain(word);
  });
});

it('a domain with a correct record and no anomalies has no findings', async () => {
  const internet = await openInternet(shop([RIGHT], { signed: ['shop.test'] }));
  const { codes, verdict, observation } = await internet.check('docs.shop.test');
  expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
  expect(observation.world).toMatchObject([{ authenticated: true }]);
  expect(observation.delegation).toMatchObject({ zone: 'shop.test', parent: 'test' });
});

it.each([15, 16, 17, 18])('a filtering resolver (EDE %i) is not believed', async (code) => {
  const internet = await openInternet(shop([RIGHT]));
  const errors = [{ code, text: 'policy' }];
  internet.fail('resolver', { kind: 'bogus', errors }, '.shop.test');
  const { codes, verdict, observation } = await internet.check('docs.shop.test');
  expect(observation.world).toMatchObject([{ a: { kind: 'servfail' }, errors }]);
  expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
});

it.each([
  ['in the zone', 'ns1.shop.test'],
  ['elsewhere', 'ns.host.test'],
])('an IPv6-only name server is queried: one %s', async (_where, name) => {
  const zones = { 'shop.test': { [name]: [RIGHT] } };
  const internet = await openInternet({ zones, addresses: { [name]: '::1' } });
  const { codes, verdict, observation } = await internet.check('docs.shop.test');
  expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
  expect(observation.servers).toMatchObject([{ server: name, address: '::1', state: 'answers' }]);
});

it.each([
  ['negative', []],
  ['positive', ['@ A 198.51.100.7']],
] as const)('a cached old %s answer is reported until its TTL ends', async (_kind, lines) => {
  const internet = await openInternet(shop([RIGHT]));
  const fault = { kind: 'remembered', lines, ttlSeconds: 1_800 } as const;
  internet.fail('resolver', fault, 'docs.shop.test');
  const { observation, findings } = await internet.check('docs.shop.test');
  const [finding] = findings;
  if (finding?.code !== 'old_answer_cached' || finding.until === null) throw new Error('no time');
  const seconds = (Date.parse(finding.until) - Date.parse(observation.at)) / 1_000;
  expect(seconds).toBeGreaterThanOrEqual(1_800);
  expect(seconds).toBeLessThanOrEqual(1_860); // rounded up to a minute
});

describe('the finding tables', () => {
  const rows = tables.flatMap(([, table]) => table);
  /** What saving a check finds (the first three), and what only real servers do: test/dns/unusual. */
  const elsewhere: readonly FindingCode[] = [
    'held_elsewhere',
    'ownership_unproven',
    'plan_required',
    'no_name_servers',
    'glue_mismatch',
    'https_record_mismatch',
  ];
  /** `dname_above`, `own_zone`, `separate_zone` and `plain_answer`: test/dns/unusual. */
  const hints: {
    readonly [C in Exclude<
      HintCode,
      'dname_above' | 'own_zone' | 'separate_zone' | 'plain_answer'
    >]: true;
  } = {
    cname_indirect: true,
    doubled_name: true,
    wrong_host: true,
    relative_target: true,
    txt_instead_of_cname: true,
    wildcard_masks: true,
    trailing_junk: true,
    wildcard_stops: true,
    apex_points_here: true,
    partial_target: true,
    doubled_end: true,
    misspelled_target: true,
    other_target: true,
  };

  it('cover every finding', () => {
    const shown = rows.map(({ codes: [first], about = first }) => about);
    const wanted = Object.keys(severities).filter((code) => !elsewhere.some((one) => one === code));
    expect([...new Set(shown)].sort()).toEqual(wanted.sort());
  });

  it('cover every hint', () => {
    const shown = rows.flatMap(({ hint }) => hint ?? []);
    expect([...new Set(shown)].sort()).toEqual(Object.keys(hints).sort());
  });
});
