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
import { slipRows } from './slip-rows.ts';

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
  /** What saving a check finds (`held_elsewhere`, `plan_required`), and what only real servers do: test/dns/unusual. */
  const elsewhere: readonly FindingCode[] = [
    'held_elsewhere',
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
