/** The customer's record in all right and wrong forms, as NSD and BIND serve it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FindingCode } from '../../../src/core/diagnosis/findings.ts';
import { recordsOf } from '../../../src/core/diagnosis/observation.ts';
import { type Check, type Checked, checkIn, TARGET } from './check.ts';
import { lacksNameServers, type RealWorld, startRealWorld } from './world.ts';
import type { RealZone } from './zones.ts';

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
/** Too many for a datagram of 1232 octets; BIND has a limit of 100 records per type. */
const [MANY, LONG] = [95, 20] as const;

const shop = [
  'right CNAME p1.edge.test.',
  'capitals CNAME P1.Edge.TEST.',
  'mismatch CNAME elsewhere.edge.test.',
  'relative CNAME p1.edge.test',
  'indirect CNAME mid',
  'mid CNAME p1.edge.test.',
  'loop CNAME pool',
  'pool CNAME loop',
  'old A 198.51.100.7',
  'ours A 203.0.113.10',
  'old6 AAAA 2001:db8:2::7',
  'mail MX 10 mx.elsewhere.test.',
  'below.empty A 198.51.100.7',
  'doubled.shop.test CNAME p1.edge.test.',
  'www.host CNAME p1.edge.test.',
  'texts TXT "CNAME p1.edge.test"',
  '*.wild CNAME p1.edge.test.',
  '*.masked A 198.51.100.9',
  ...range(MANY).map((i) => `many A 198.51.100.${i}`),
  ...range(LONG).map((i) => `long TXT "${i} ${'x'.repeat(200)}"`),
];
const platform = ['@ A 203.0.113.10', '@ A 203.0.113.11', '@ AAAA 2001:db8:1::10'];
const zones: readonly RealZone[] = [
  { name: 'shop.test', records: shop, atParent: ['ns1.shop.test', 'ns2.shop.test'] },
  {
    name: 'named.test',
    records: ['loop CNAME pool', 'pool CNAME loop'],
    atParent: ['ns2.named.test'],
  },
  { name: 'whole.test', records: platform },
  { name: 'partial.test', records: ['@ A 203.0.113.11'] },
  { name: 'mixed.test', records: ['@ A 203.0.113.10', '@ A 198.51.100.7'] },
  { name: 'foreign.test', records: ['@ A 198.51.100.7', '@ AAAA 2001:db8:2::7'] },
  { name: 'bare.test', records: [] },
  {
    name: 'allowed.test',
    records: [
      '@ CAA 0 issue "letsencrypt.org"',
      'docs CNAME p1.edge.test.',
      'strict CAA 0 issue "ca.example"',
      'docs.strict CNAME p1.edge.test.',
    ],
  },
  {
    name: 'blocked.test',
    records: [
      '@ CAA 0 issue "ca.example"',
      'docs CNAME p1.edge.test.',
      'free CAA 0 issue "letsencrypt.org"',
      'docs.free CNAME p1.edge.test.',
    ],
  },
];

type Case = {
  readonly title: string;
  readonly hostname: string;
  readonly verdict: Checked['verdict'];
  readonly codes: readonly FindingCode[];
  readonly evidence?: object;
};

const cases: readonly Case[] = [
  { title: 'the right CNAME', hostname: 'right.shop.test', verdict: 'right', codes: [] },
  { title: 'a CNAME in capitals', hostname: 'capitals.shop.test', verdict: 'right', codes: [] },
  {
    title: 'no such name',
    hostname: 'missing.shop.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { seen: 'nxdomain' },
  },
  {
    title: 'a name with only names below it',
    hostname: 'empty.shop.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { seen: 'nodata' },
  },
  {
    title: 'a CNAME to somewhere else',
    hostname: 'mismatch.shop.test',
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    evidence: { found: 'elsewhere.edge.test' },
  },
  {
    title: 'a CNAME without its trailing dot',
    hostname: 'relative.shop.test',
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    evidence: { hints: [{ code: 'relative_target', found: 'p1.edge.test.shop.test' }] },
  },
  {
    title: 'a CNAME that reaches the target indirectly',
    hostname: 'indirect.shop.test',
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    evidence: { hints: [{ code: 'cname_indirect', via: ['mid.shop.test'] }] },
  },
  {
    title: 'a CNAME loop',
    hostname: 'loop.shop.test',
    verdict: 'wrong',
    codes: ['cname_loop', 'cname_mismatch'],
    evidence: { names: ['loop.shop.test', 'pool.shop.test', 'loop.shop.test'] },
  },
  {
    // BIND answers SERVFAIL together with the aliases.
    title: 'a CNAME loop at BIND alone',
    hostname: 'loop.named.test',
    verdict: 'wrong',
    codes: ['cname_loop', 'cname_mismatch'],
  },
  {
    title: 'a foreign A record',
    hostname: 'old.shop.test',
    verdict: 'wrong',
    codes: ['conflicting_a'],
    evidence: { addresses: ['198.51.100.7'], ours: [] },
  },
  {
    title: 'our own address instead of the CNAME',
    hostname: 'ours.shop.test',
    verdict: 'wrong',
    codes: ['conflicting_a'],
    evidence: { addresses: ['203.0.113.10'] },
  },
  {
    title: 'a foreign AAAA record',
    hostname: 'old6.shop.test',
    verdict: 'wrong',
    codes: ['conflicting_aaaa'],
    evidence: { addresses: ['2001:db8:2::7'] },
  },
  {
    title: 'a name that receives mail',
    hostname: 'mail.shop.test',
    verdict: 'wrong',
    codes: ['record_missing', 'mail_at_name'],
  },
  {
    title: 'the record at the doubled name',
    hostname: 'doubled.shop.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'doubled_name', name: 'doubled.shop.test.shop.test' }] },
  },
  {
    title: 'the record at www',
    hostname: 'host.shop.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'wrong_host', name: 'www.host.shop.test' }] },
  },
  {
    title: 'a TXT record instead of the CNAME',
    hostname: 'texts.shop.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'txt_instead_of_cname', text: `CNAME ${TARGET}` }] },
  },
  {
    title: 'a wildcard that matches the target',
    hostname: 'docs.wild.shop.test',
    verdict: 'right',
    codes: ['wildcard_answers'],
    evidence: { wildcard: '*.wild.shop.test' },
  },
  {
    title: 'a wildcard with an address',
    hostname: 'docs.masked.shop.test',
    verdict: 'wrong',
    codes: ['conflicting_a'],
    evidence: { hints: [{ code: 'wildcard_masks', wildcard: '*.masked.shop.test' }] },
  },
  { title: 'an apex with all our addresses', hostname: 'whole.test', verdict: 'right', codes: [] },
  {
    title: 'an apex with one of our addresses',
    hostname: 'partial.test',
    verdict: 'right',
    codes: ['apex_partial'],
    evidence: { missing: ['203.0.113.10'] },
  },
  {
    title: 'an apex with an additional foreign address',
    hostname: 'mixed.test',
    verdict: 'wrong',
    codes: ['apex_mixed'],
    evidence: { ours: ['203.0.113.10'], others: ['198.51.100.7'] },
  },
  {
    title: 'an apex with foreign addresses',
    hostname: 'foreign.test',
    verdict: 'wrong',
    codes: ['apex_elsewhere'],
  },
  {
    title: 'an apex without addresses',
    hostname: 'bare.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { seen: 'nodata' },
  },
  {
    title: 'CAA at the zone that allows us',
    hostname: 'docs.allowed.test',
    verdict: 'right',
    codes: [],
  },
  {
    title: 'CAA at the zone that allows another CA',
    hostname: 'docs.blocked.test',
    verdict: 'wrong',
    codes: ['caa_blocks'],
    evidence: { foundAt: 'blocked.test', records: ['0 issue "ca.example"'] },
  },
  {
    title: 'CAA between the name and the zone that forbids',
    hostname: 'docs.strict.allowed.test',
    verdict: 'wrong',
    codes: ['caa_blocks'],
    evidence: { foundAt: 'strict.allowed.test' },
  },
  {
    title: 'CAA between the name and the zone that allows',
    hostname: 'docs.free.blocked.test',
    verdict: 'right',
    codes: [],
  },
  {
    title: 'an unregistered domain',
    hostname: 'docs.nobody.test',
    verdict: 'wrong',
    codes: ['domain_unregistered'],
    evidence: { domain: 'nobody.test', registry: 'test' },
  },
];

describe.skipIf(lacksNameServers('records in NSD and BIND'))('a record in NSD and BIND', () => {
  let world: RealWorld;
  let check: Check;
  beforeAll(async () => {
    world = await startRealWorld(zones);
    check = checkIn(world);
  });
  afterAll(() => world?.close());

  it.each(cases)('$title', async ({ hostname, verdict, codes, evidence }) => {
    const seen = await check(hostname);
    expect(seen).toMatchObject({ verdict });
    expect(seen.findings.map(({ code }) => code)).toEqual(codes);
    if (evidence !== undefined) expect(seen.findings[0]).toMatchObject(evidence);
  });

  const wrong = cases.filter(({ verdict }) => verdict === 'wrong');
  it.each(wrong)('$title: a second check confirms the first', async ({ hostname }) => {
    const { observation } = await check(hostname);
    const again = await check(hostname, observation);
    expect(again.observation).toBe(observation);
  });

  it('is read completely when it exceeds a datagram', async () => {
    const answers = await Promise.all(
      (['ns1', 'ns2'] as const).map((server) => world.ask(server, 'many.shop.test', 'A')),
    );
    expect(answers.map(({ via }) => via)).toEqual(['tcp', 'tcp']);
    const { observation, findings } = await check('many.shop.test');
    expect(observation.servers.map(({ a }) => recordsOf(a).length)).toEqual([MANY, MANY]);
    expect(findings).toMatchObject([{ code: 'conflicting_a' }]);
    const long = await check('long.shop.test');
    expect(long.observation.servers.flatMap(({ txt }) => recordsOf(txt))).toHaveLength(LONG);
    expect(long.findings).toMatchObject([{ code: 'record_missing', seen: 'nodata' }]);
  });
});
