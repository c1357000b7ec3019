import { Resolver } from 'node:dns/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createWire } from '../../src/dns/wire/wire.ts';
import { type LabDnsServer, startDnsServer } from '../../src/lab/dns-server.ts';
import { parseZone } from '../../src/lab/zone.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function openDns(zones: Record<string, string[]>): Promise<LabDnsServer> {
  const dns = await startDnsServer({ zones });
  open.push(dns.close);
  return dns;
}

/** The server as seen by Node's own resolver, which shares no code with this project. */
function resolver(dns: LabDnsServer): Resolver {
  const one = new Resolver({ timeout: 3_000, tries: 1 });
  one.setServers([`${dns.address}:${dns.port}`]);
  return one;
}

/** A name server's response: `AA NXDOMAIN docs.shop.test CNAME …`, by section. */
async function askAuthority(dns: LabDnsServer, name: string, type: 'A' | 'CAA' | 'NS' = 'A') {
  const wire = createWire();
  open.push(wire.close);
  const answer = await wire.ask({ name, type, recursionDesired: false }, dns);
  if (answer.kind !== 'response') throw new Error(answer.kind);
  const { rcode, authoritative, answers, authority, additional } = answer.message;
  const owners = (records: typeof answers) =>
    records.filter(({ type: one }) => one !== 'OPT').map((one) => `${one.name} ${one.type}`);
  return {
    rcode,
    authoritative,
    answers: owners(answers),
    authority: owners(authority),
    additional: owners(additional),
  };
}

const zones = {
  'shop.test': [
    'docs CNAME p1.edge.test.',
    'in CNAME www',
    'out CNAME gone',
    'www 300 IN A 192.0.2.1',
    'www AAAA 2001:db8::1',
    '@ MX 10 mail',
    '@ TXT "hello world" "again"',
    '@ CAA 128 issue "ca.example"',
    'deep.er TXT x',
    '*.wild A 192.0.2.2',
    'is.wild TXT "here"',
    'doubled.shop.test A 192.0.2.3',
  ],
  'edge.test': ['p1 A 192.0.2.10'],
};

describe('The lab DNS server as a recursive server', () => {
  it('follows aliases from zone to zone', async () => {
    const dns = await openDns(zones);
    expect(await resolver(dns).resolve4('docs.shop.test')).toEqual(['192.0.2.10']);
    expect(await resolver(dns).resolveCname('docs.shop.test')).toEqual(['p1.edge.test']);
  });

  it('supports every record type of the lab', async () => {
    const dns = await openDns(zones);
    const ask = resolver(dns);
    expect(await ask.resolve4('www.shop.test', { ttl: true })).toEqual([
      { address: '192.0.2.1', ttl: 300 },
    ]);
    expect(await ask.resolve6('www.shop.test')).toEqual(['2001:db8::1']);
    // Node.js 24 adds the type to MX and CAA, too.
    expect(await ask.resolveMx('shop.test')).toMatchObject([
      { priority: 10, exchange: 'mail.shop.test' },
    ]);
    expect(await ask.resolveTxt('shop.test')).toEqual([['hello world', 'again']]);
    expect(await ask.resolveCaa('shop.test')).toMatchObject([
      { critical: 128, issue: 'ca.example' },
    ]);
    expect(await ask.resolveNs('shop.test')).toEqual(['ns1.shop.test']);
    expect(await ask.resolve4('ns1.shop.test')).toEqual(['127.0.0.1']);
    expect(await ask.resolveSoa('shop.test')).toMatchObject({ nsname: 'ns1.shop.test' });
    expect(await ask.resolve4('doubled.shop.test.shop.test')).toEqual(['192.0.2.3']);
  });

  it.each([
    ['nowhere.example', 'ENOTFOUND'],
    ['new.shop.test', 'ENOTFOUND'],
    ['unsold.test', 'ENOTFOUND'],
    ['shop.test', 'ENODATA'],
    ['er.shop.test', 'ENODATA'],
    ['test', 'ENODATA'],
  ])('has no address for %s: %s', async (name, code) => {
    await expect(resolver(await openDns(zones)).resolve4(name)).rejects.toMatchObject({ code });
  });
});

describe('The lab DNS server as an authoritative server', () => {
  const said = { rcode: 0, authoritative: true, answers: [], authority: [], additional: [] };
  it.each<[string, object]>([
    ['www.shop.test', { answers: ['www.shop.test A'] }],
    ['docs.shop.test', { answers: ['docs.shop.test CNAME'] }],
    ['in.shop.test', { answers: ['in.shop.test CNAME', 'www.shop.test A'] }],
    ['out.shop.test', { rcode: 3, answers: ['out.shop.test CNAME'], authority: ['shop.test SOA'] }],
    ['er.shop.test', { authority: ['shop.test SOA'] }],
    ['new.shop.test', { rcode: 3, authority: ['shop.test SOA'] }],
    ['a.b.wild.shop.test', { answers: ['a.b.wild.shop.test A'] }],
    ['is.wild.shop.test', { authority: ['shop.test SOA'] }],
    ['below.is.wild.shop.test', { rcode: 3, authority: ['shop.test SOA'] }],
    ['nowhere.example', { rcode: 5, authoritative: false }],
  ])('answers %s with %o', async (name, expected) => {
    expect(await askAuthority(await openDns(zones), name)).toEqual({ ...said, ...expected });
  });

  it('refers to the servers of a child zone, which answer at the next address', async () => {
    const dns = await openDns({ ...zones, 'b.shop.test': ['docs A 192.0.2.7'] });
    expect(await askAuthority(dns, 'docs.b.shop.test')).toEqual({
      ...said,
      authoritative: false,
      authority: ['b.shop.test NS'],
      additional: ['ns1.b.shop.test A'],
    });
    const below = { ...dns, address: '127.0.0.2' };
    const answer = await askAuthority(below, 'docs.b.shop.test');
    expect(answer).toEqual({ ...said, answers: ['docs.b.shop.test A'] });
    expect(await askAuthority(below, 'www.shop.test')).toMatchObject({ rcode: 5 });
    expect(await resolver(dns).resolve4('docs.b.shop.test')).toEqual(['192.0.2.7']);
  });
});

describe('The running lab DNS server', () => {
  it('has empty non-terminals between a top-level domain and a zone', async () => {
    const dns = await openDns({ 'edge.signpost.test': ['p1 A 192.0.2.1'] });
    expect(await askAuthority(dns, 'signpost.test', 'NS')).toMatchObject({ rcode: 0, answers: [] });
    expect(await askAuthority(dns, 'other.test', 'NS')).toMatchObject({ rcode: 3 });
  });

  it('can have a zone edited, replaced and added', async () => {
    const dns = await openDns({ 'shop.test': ['docs A 192.0.2.1'] });
    const ask = resolver(dns);
    dns.edit('shop.test', { remove: ['docs A 192.0.2.1'], add: ['docs A 192.0.2.2'] });
    expect(await ask.resolve4('docs.shop.test')).toEqual(['192.0.2.2']);
    await dns.setZone('shop.test', ['docs A 192.0.2.3']);
    expect(await ask.resolve4('docs.shop.test')).toEqual(['192.0.2.3']);
    await dns.setZone('b.shop.test', ['docs A 192.0.2.4']);
    expect(await ask.resolve4('docs.b.shop.test')).toEqual(['192.0.2.4']);
  });

  it('rejects an invalid edit without a change', async () => {
    const dns = await openDns({ 'shop.test': ['docs A 192.0.2.1'] });
    expect(() => dns.edit('shop.test', { remove: ['docs A 192.0.2.9'] })).toThrow('no such line');
    expect(() => dns.edit('shop.test', { add: ['docs ADDRESS 192.0.2.9'] })).toThrow('cannot read');
    expect(await resolver(dns).resolve4('docs.shop.test')).toEqual(['192.0.2.1']);
  });

  it('records the queries', async () => {
    const dns = await openDns(zones);
    await resolver(dns).resolve4('www.shop.test');
    const question = { name: 'www.shop.test', type: 'A', recursionDesired: true, transport: 'udp' };
    const plain = { edns: false, dnssecOk: false, checkingDisabled: false };
    expect(dns.questions).toEqual([{ ...question, ...plain, address: '127.0.0.1' }]);
    dns.forget();
    expect(dns.questions).toEqual([]);
  });

  it.each([
    ['servfail', 'ESERVFAIL'],
    ['refused', 'EREFUSED'],
    ['timeout', 'ETIMEOUT'],
    ['garbage', 'EBADRESP'],
    ['flood', 'EBADRESP'],
    ['nxdomain', 'ENOTFOUND'],
    ['nodata', 'ENODATA'],
  ] as const)('can make a name fail with %s and heal it', async (fault, code) => {
    const dns = await openDns(zones);
    dns.fail('www.shop.test', 'A', fault);
    await expect(resolver(dns).resolve4('www.shop.test')).rejects.toMatchObject({ code });
    expect(await resolver(dns).resolve6('www.shop.test')).toEqual(['2001:db8::1']);
    dns.heal('www.shop.test');
    expect(await resolver(dns).resolve4('www.shop.test')).toEqual(['192.0.2.1']);
  });

  it('serves the complete form of a truncated response over TCP', async () => {
    const dns = await openDns(zones);
    dns.fail('www.shop.test', '*', 'truncate');
    expect(await resolver(dns).resolve4('www.shop.test')).toEqual(['192.0.2.1']);
    expect(dns.questions.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
  });
});

it.each(['docs', 'docs A', 'docs ADDRESS 192.0.2.1', 'docs.elsewhere.test. A 192.0.2.1'])(
  'rejects the invalid line %s',
  (line) => {
    expect(() => parseZone('shop.test', [line], { serverAddress: '127.0.0.1' })).toThrow(line);
  },
);
