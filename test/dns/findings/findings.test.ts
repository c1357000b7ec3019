/** Every finding and every hint over the real wire: name servers on loopback, an observation, its diagnosis, its words. */
import { afterEach, describe, expect, it } from 'vitest';
import { explain, type FindingCode, severities } from '../../../src/core/diagnosis/findings.ts';
import type { HintCode } from '../../../src/core/diagnosis/hints.ts';
import type { LabDnsServer } from '../../../src/lab/dns-server.ts';
import type { LabFault } from '../../../src/lab/faults.ts';
import { besideRows } from './beside-rows.ts';
import { brokenRows } from './broken-rows.ts';
import { caaRows } from './caa-rows.ts';
import { dnssecRows } from './dnssec-rows.ts';
import { closeInternet, openInternet } from './internet.ts';
import { apexRows, recordRows } from './record-rows.ts';
import { RIGHT, type Row, shop, textOf, twoServers } from './row.ts';
import { serverRows } from './server-rows.ts';
import { slipRows } from './slip-rows.ts';

afterEach(closeInternet);

const tables: readonly (readonly [string, readonly Row[]])[] = [
  ['its record', recordRows],
  ['a slip', slipRows],
  ['its apex', apexRows],
  ['its servers', serverRows],
  ['servers that nobody finds', brokenRows],
  ['what stands beside it', besideRows],
  ['its CAA records', caaRows],
  ['its signatures', dnssecRows],
];

/** Questions about what stands at the name; who serves it, and since when, may always be asked. */
function askedAbout({ questions }: LabDnsServer, hostname: string) {
  return questions.filter(({ name, type }) => name === hostname && !['NS', 'SOA'].includes(type));
}

describe.each(tables)('a domain, by %s,', (_what, rows) => {
  it.each(rows)('that $title: $codes.0', async (row) => {
    const { world, fails = [], hostname = 'docs.shop.test', about = row.codes[0] } = row;
    const internet = await openInternet('zones' in world ? world : shop(world));
    for (const [server, fault, names, type] of fails) internet.fail(server, fault, names, type);
    const { codes, verdict, findings, observation } = await internet.check(hostname, row.expected);
    expect({ verdict, codes }).toEqual({ verdict: row.verdict, codes: row.codes });
    // A resolver that is asked too early remembers "there is none", and tells everybody (RFC 2308, 5).
    if (observation.view === 'authoritative' && observation.world.length === 0) {
      expect(askedAbout(internet.resolver, hostname)).toEqual([]);
    }
    const finding = findings.find(({ code }) => code === about);
    expect(finding).toMatchObject(row.evidence);
    if (finding === undefined) return;
    const text = textOf(finding);
    for (const word of row.words) expect(text).toContain(word);
    const { actor } = explain(finding);
    expect(actor).toBe(row.actor ?? actor);
  });
});

it('a domain with the right record, and nothing odd about it, gives no finding at all', async () => {
  const internet = await openInternet(shop([RIGHT], { signed: ['shop.test'] }));
  const { codes, verdict, observation } = await internet.check('docs.shop.test');
  expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
  expect(observation.world).toMatchObject([{ authenticated: true }]);
  expect(observation.delegation).toMatchObject({ zone: 'shop.test', parent: 'test' });
});

it('a name that a DNAME record leads here is right', async () => {
  const internet = await openInternet(shop(['team DNAME edge.test.']));
  const { codes, verdict } = await internet.check('p1.team.shop.test');
  expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
});

it('CAA records that differ between servers, and let us issue at each, are no finding', async () => {
  const internet = await openInternet(
    twoServers([RIGHT, '@ CAA 0 issue "letsencrypt.org"'], [RIGHT]),
  );
  const { codes, verdict } = await internet.check('docs.shop.test');
  expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
});

it.each<[string, LabFault]>([
  ['is silent', 'timeout'],
  ['declines', 'refused'],
  ['fails for another reason', { kind: 'servfail', errors: [{ code: 22, text: '' }] }],
  ['filters', { kind: 'bogus', errors: [{ code: 15, text: '' }] }],
])('a resolver that %s, asked whether denials validate, blames nobody', async (_what, fault) => {
  const internet = await openInternet(shop([RIGHT], { signed: ['shop.test'], timeoutMs: 150 }));
  internet.fail('resolver', fault, 'shop.test', 'CAA');
  const { codes, verdict, observation } = await internet.check('docs.shop.test');
  expect(observation.signatures).toMatchObject([{ name: 'shop.test', type: 'CAA' }]);
  expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
});

it('no resolver is asked for CAA beside a name that does not exist, or in a zone that is not signed', async () => {
  const unsigned = await openInternet(shop([RIGHT]));
  expect((await unsigned.check('docs.shop.test')).observation.signatures).toBeUndefined();
  const missing = await openInternet(shop([], { signed: ['shop.test'] }));
  expect((await missing.check('docs.shop.test')).observation.signatures).toMatchObject([
    { name: 'shop.test', type: 'SOA', outcome: 'records' },
  ]);
});

it.each([15, 16, 17, 18])(
  'a resolver that filters (EDE %i) says nothing about the domain',
  async (code) => {
    const internet = await openInternet(shop([RIGHT]));
    const errors = [{ code, text: 'policy' }];
    internet.fail('resolver', { kind: 'bogus', errors }, '.shop.test');
    const { codes, verdict, observation } = await internet.check('docs.shop.test');
    expect(observation.world).toMatchObject([{ a: { kind: 'servfail' }, errors }]);
    expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
  },
);

it.each([
  ['in the zone', 'ns1.shop.test'],
  ['elsewhere', 'ns.host.test'],
])('a name server that has an IPv6 address only is asked there: one %s', async (_where, name) => {
  const zones = { 'shop.test': { [name]: [RIGHT] } };
  const internet = await openInternet({ zones, addresses: { [name]: '::1' } });
  const { codes, verdict, observation } = await internet.check('docs.shop.test');
  expect({ codes, verdict }).toEqual({ codes: [], verdict: 'right' });
  expect(observation.servers).toMatchObject([{ server: name, address: '::1', state: 'answers' }]);
});

it.each([
  ['negative', []],
  ['positive', ['@ A 198.51.100.7']],
] as const)('an old %s answer is remembered until its time is over', async (_kind, lines) => {
  const internet = await openInternet(shop([RIGHT]));
  const fault = { kind: 'remembered', lines, ttlSeconds: 1_800 } as const;
  internet.fail('resolver', fault, 'docs.shop.test');
  const { observation, findings } = await internet.check('docs.shop.test');
  const [finding] = findings;
  if (finding?.code !== 'old_answer_cached' || finding.until === null) throw new Error('no time');
  const seconds = (Date.parse(finding.until) - Date.parse(observation.at)) / 1_000;
  expect(seconds).toBeGreaterThanOrEqual(1_800);
  expect(seconds).toBeLessThanOrEqual(1_860); // told by the minute
});

describe('the tables', () => {
  const rows = tables.flatMap(([, table]) => table);
  /** Claims are in the database, and not in the DNS; the last is said of names that are nobody's claim. */
  const notInTheDns: readonly FindingCode[] = [
    'held_elsewhere',
    'proof_required',
    'claim_by_another',
    'proof_left_over',
    'proof_on_adding',
  ];
  const hints: { readonly [C in HintCode]: true } = {
    cname_indirect: true,
    doubled_name: true,
    wrong_host: true,
    relative_target: true,
    txt_instead_of_cname: true,
    wildcard_masks: true,
    wildcard_stops: true,
    dname_above: true,
    apex_leads_here: true,
    own_zone: true,
    trailing_junk: true,
    partial_target: true,
    doubled_end: true,
    misspelt_target: true,
    other_target: true,
  };

  it('have a row about every finding', () => {
    const shown = rows.map(({ codes: [first], about = first }) => about);
    const wanted = Object.keys(severities).filter(
      (code) => !notInTheDns.some((one) => one === code),
    );
    expect([...new Set(shown)].sort()).toEqual(wanted.sort());
  });

  it('have a row about every hint', () => {
    const shown = rows.flatMap(({ hint }) => hint ?? []);
    expect([...new Set(shown)].sort()).toEqual(Object.keys(hints).sort());
  });
});
