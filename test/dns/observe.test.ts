import { afterEach, describe, expect, it } from 'vitest';
import type { DnsAnswer, ServerView } from '../../src/core/diagnosis/observation.ts';
import { asked, BRIEF_MS, closeAll, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const ours = ['192.0.2.10', '192.0.2.11', '2001:db8::10'];
const edge = ['p1 A 192.0.2.10', 'p1 A 192.0.2.11', 'p1 AAAA 2001:db8::10'];
const subdomain = { hostname, target, apex: false };

const records = (...list: [string, ...string[]]): DnsAnswer<string> => ({
  kind: 'records',
  records: list,
  ttlSeconds: 60,
});
const [nodata, nxdomain] = [{ kind: 'nodata' }, { kind: 'nxdomain' }] as const;

/** The queries about the hostname itself, in the authoritative view. */
const table: { title: string; zone: string[]; view: Partial<ServerView>; questions: string[] }[] = [
  {
    title: 'a right CNAME costs one query',
    zone: ['docs CNAME p1.edge.test.'],
    view: { cname: records(target), a: nodata, aaaa: nodata },
    questions: ['A'],
  },
  {
    title: 'a CNAME in capitals is shown in lower case',
    zone: ['docs CNAME P1.Edge.TEST.'],
    view: { cname: records(target), a: nodata, aaaa: nodata },
    questions: ['A'],
  },
  {
    title: 'a CNAME to a name that does not exist is still a CNAME',
    zone: ['docs CNAME gone'],
    view: { cname: records('gone.shop.test'), a: nodata, aaaa: nodata },
    questions: ['A'],
  },
  {
    title: 'addresses behind an alias are not addresses of the name',
    zone: ['docs CNAME mid', 'mid A 192.0.2.1'],
    view: { cname: records('mid.shop.test'), a: nodata, aaaa: nodata },
    questions: ['A'],
  },
  {
    title: 'a CNAME to a label with a dot differs from two labels',
    zone: ['docs CNAME p1.edge.test'],
    view: { cname: records('p1.edge.test.shop.test'), a: nodata, aaaa: nodata },
    questions: ['A'],
  },
  {
    title: 'a nonexistent name costs one query',
    zone: ['www A 192.0.2.1'],
    view: { cname: nxdomain, a: nxdomain, aaaa: nxdomain },
    questions: ['A'],
  },
  {
    title: 'a name with only names below it exists',
    zone: ['a.docs A 192.0.2.1'],
    view: { cname: nodata, a: nodata, aaaa: nodata },
    questions: ['A', 'AAAA'],
  },
  {
    title: 'an old A record is shown, sorted',
    zone: ['docs A 192.0.2.9', 'docs A 192.0.2.1'],
    view: { cname: nodata, a: records('192.0.2.1', '192.0.2.9'), aaaa: nodata },
    questions: ['A', 'AAAA'],
  },
  {
    title: 'an old AAAA record is shown',
    zone: ['docs AAAA 2001:DB8:0::1'],
    view: { cname: nodata, a: nodata, aaaa: records('2001:db8::1') },
    questions: ['A', 'AAAA'],
  },
  {
    title: 'records of other types are ignored',
    zone: ['docs MX 10 mail', 'docs TXT "hello"'],
    view: { cname: nodata, a: nodata, aaaa: nodata },
    questions: ['A', 'AAAA'],
  },
  {
    title: 'a forbidden A record beside the CNAME hides neither',
    zone: ['docs CNAME p1.edge.test.', 'docs A 192.0.2.1'],
    view: { cname: records(target), a: records('192.0.2.1'), aaaa: nodata },
    questions: ['A', 'AAAA'],
  },
  {
    title: 'a wildcard answers for the name',
    zone: ['* CNAME p1.edge.test.'],
    view: { cname: records(target), a: nodata, aaaa: nodata },
    questions: ['A'],
  },
];

describe.each(['authoritative', 'recursive'] as const)('in the %s view', (view) => {
  const authoritative = view === 'authoritative';

  it.each(table)('$title', async ({ zone, view: expected, questions }) => {
    const { dns, observer } = await openTestLab(
      { 'shop.test': zone, 'edge.test': edge },
      { authoritative },
    );
    const seen = await observer.observe(subdomain);
    const server = authoritative ? 'ns1.shop.test' : '127.0.0.1';
    const addresses = expected.a?.kind === 'records' || expected.aaaa?.kind === 'records';
    // The record that conflicts with the CNAME may be ours.
    expect(seen).toMatchObject({ hostname, view, targetAddresses: addresses ? ours : [] });
    expect(seen.servers).toMatchObject([
      { server, address: '127.0.0.1', state: 'answers', aa: authoritative, ...expected },
    ]);
    const aboutIt = asked(dns).filter((one) => /^docs\.shop\.test A/.test(one));
    const rd = authoritative ? '' : ' rd';
    // Resolvers are queried once the zone is right.
    expect(aboutIt.filter((one) => !authoritative || !one.endsWith(' rd'))).toEqual(
      questions.map((type) => `${hostname} ${type}${rd}`),
    );
  });

  it.each([
    ['servfail', 'servfail', 'servfail'],
    ['notimp', 'servfail', 'servfail'],
    ['refused', 'refused', 'refused'],
    ['garbage', 'servfail', 'malformed'],
    // Over TCP, only the server can have sent it.
    ['wrong_id', 'servfail', 'malformed'],
    ['timeout', 'timeout', 'timeout'],
  ] as const)('a server with the fault %s is in state %s (%s)', async (fault, kind, state) => {
    const { dns, observer } = await openTestLab(
      { 'shop.test': ['docs CNAME p1.edge.test.'] },
      { authoritative, timeoutMs: BRIEF_MS },
    );
    dns.fail(hostname, '*', fault);
    const { servers, caa } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ state, cname: { kind }, a: { kind }, aaaa: { kind } }]);
    expect(caa).toBeNull();
  });

  it('a truncated answer is completed', async () => {
    const { dns, observer } = await openTestLab(
      { 'shop.test': ['docs CNAME p1.edge.test.'], 'edge.test': edge },
      { authoritative },
    );
    dns.fail(hostname, '*', 'truncate');
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ cname: { kind: 'records', records: [target] } }]);
  });

  it('a failed AAAA query leaves the A answer valid', async () => {
    const { dns, observer } = await openTestLab(
      { 'shop.test': ['docs A 192.0.2.1'] },
      { authoritative },
    );
    dns.fail(hostname, 'AAAA', 'servfail');
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([
      { cname: nodata, a: { kind: 'records' }, aaaa: { kind: 'servfail' } },
    ]);
  });
});

describe('the apex of a domain', () => {
  const apex = { hostname: 'shop.test', target, apex: true };
  const zones = { 'shop.test': ['@ A 192.0.2.10'], 'edge.test': edge };

  it('is compared with the addresses of the target', async () => {
    const { observer } = await openTestLab(zones);
    const seen = await observer.observe(apex);
    expect(seen.targetAddresses).toEqual(ours);
    expect(seen.servers).toMatchObject([{ a: { kind: 'records', records: ['192.0.2.10'] } }]);
    expect(seen.caa).not.toBeNull();
  });

  it('is compared with the configured addresses in normalized form', async () => {
    const platformAddresses = ['192.0.2.77', '2001:DB8:0:0::77'];
    const { dns, observer } = await openTestLab(zones, { platformAddresses });
    const seen = await observer.observe(apex);
    expect(seen.targetAddresses).toEqual(['192.0.2.77', '2001:db8::77']);
    expect(asked(dns).some((one) => one.startsWith(target))).toBe(false);
  });

  it("can have a real CNAME to the target, as some providers allow; the target's CAA applies", async () => {
    const { observer } = await openTestLab({
      ...zones,
      'shop.test': ['@ CNAME p1.edge.test.'],
    });
    const seen = await observer.observe(apex);
    expect(seen.servers).toMatchObject([{ cname: { kind: 'records', records: [target] } }]);
    expect(seen.caa?.map(({ name, answer }) => `${name}: ${answer.kind}`)).toEqual([
      'shop.test: nodata',
      'test: nodata',
    ]);
  });

  it.each(['A', 'AAAA'])('has no target addresses when the %s half is missing', async (type) => {
    const { dns, observer } = await openTestLab(zones);
    dns.fail(target, type, 'servfail');
    const seen = await observer.observe(apex);
    expect(seen).toMatchObject({ targetAddresses: [], world: [] });
  });

  it('follows the aliases of the target into any zone', async () => {
    const { observer } = await openTestLab({
      ...zones,
      'edge.test': ['p1 CNAME lb', 'lb CNAME lb.cloud.test.'],
      'cloud.test': ['lb A 192.0.2.10'],
    });
    expect((await observer.observe(apex)).targetAddresses).toEqual(['192.0.2.10']);
  });

  it.each([
    ['its CNAME leads elsewhere', ['@ CNAME other.test.']],
    ['one of its addresses is foreign', ['@ A 192.0.2.10', '@ A 198.51.100.1']],
    ['an AAAA record is foreign', ['@ A 192.0.2.10', '@ AAAA 2001:db8::bad']],
    ['it has no address', ['@ TXT "hello"']],
  ])('is not right, so that no resolver is queried, when %s', async (_why, zone) => {
    const { dns, observer } = await openTestLab({ ...zones, 'shop.test': zone });
    expect(await observer.observe(apex)).toMatchObject({ world: [] });
    expect(asked(dns).filter((one) => /^shop\.test (?!SOA)\S+ rd$/.test(one))).toEqual([]);
  });
});
