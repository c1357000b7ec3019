import { afterEach, describe, expect, it } from 'vitest';
import { createAuthorities } from '../../src/dns/servers/authorities.ts';
import { zoneOf } from '../../src/dns/servers/delegation.ts';
import { createHosts } from '../../src/dns/servers/hosts.ts';
import { systemServers } from '../../src/dns/servers/recursive.ts';
import { registrableDomain } from '../../src/dns/servers/zone.ts';
import { defaultLimits, startBudget } from '../../src/dns/wire/budget.ts';
import { asked, BRIEF_MS, caaOf, closeAll, openDns, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const checkTarget = (hostname: string, apex = false) => ({ hostname, target, apex });
const right = 'CNAME p1.edge.test.';

describe('finding the name servers of a name', () => {
  it('asks the resolver for the registry and its servers, and the registry for the domain', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': ['docs A 192.0.2.1'] });
    await observer.observe(checkTarget('docs.shop.test'));
    expect(asked(dns).slice(0, 6)).toEqual([
      'test NS rd',
      'ns1.test A rd',
      'shop.test NS',
      'ns1.shop.test A rd',
      'docs.shop.test A',
      'docs.shop.test AAAA',
    ]);
  });

  it.each([
    ['a name that does not exist yet', 'new.shop.test', false],
    ['a name in a domain that does not exist yet', 'docs.unsold.test', false],
    ['a domain that does not exist yet', 'unsold.test', true],
    ['the apex of a misconfigured domain', 'shop.test', true],
    ['a name in a delegated zone', 'b.shop.test', false],
    ['a name with another CNAME', 'docs.shop.test', false],
  ])('never asks a resolver about %s', async (_what, hostname, apex) => {
    const { dns, observer } = await openTestLab({
      'shop.test': ['docs CNAME other.shop.test.', '@ A 192.0.2.1'],
      'b.shop.test': ['@ A 192.0.2.1'],
      'edge.test': ['p1 A 192.0.2.10'],
    });
    const { servers } = await observer.observe(checkTarget(hostname, apex));
    await caaOf(observer, hostname);
    expect(servers[0].cname.kind).toMatch(/records|nodata|nxdomain/);
    const atOrBelow = dns.questions.filter(
      ({ name, type, recursionDesired }) =>
        recursionDesired &&
        // A zone has an SOA record, so no absence is cached.
        type !== 'SOA' &&
        (name === hostname || name.endsWith(`.${hostname}`)),
    );
    // The address of a name server has to be resolved when the referral has no glue.
    expect(atOrBelow.filter(({ name }) => !name.startsWith('ns1.'))).toEqual([]);
    expect(asked(dns).filter((one) => one.endsWith(' rd')).length).toBeGreaterThan(0);
  });

  it('asks resolvers about a name only after the zone’s servers answer correctly', async () => {
    const { dns, observer } = await openTestLab({
      'shop.test': [`docs ${right}`],
      'edge.test': ['p1 A 192.0.2.10'],
    });
    await observer.observe(checkTarget('docs.shop.test'));
    const aboutIt = asked(dns).filter((one) => one.startsWith('docs.shop.test '));
    expect(aboutIt.filter((one) => !one.endsWith(' SOA'))).toEqual([
      'docs.shop.test A',
      'docs.shop.test A rd',
    ]);
  });

  it('reports an unregistered domain as nonexistent, as its registry says', async () => {
    const { observer } = await openTestLab({ 'shop.test': [] });
    const { servers } = await observer.observe(checkTarget('docs.unsold.test'));
    expect(servers).toMatchObject([{ server: 'ns1.test', cname: { kind: 'nxdomain' } }]);
  });

  it('follows referrals and caches the delegations', async () => {
    const { dns, observer } = await openTestLab({
      'shop.test': [],
      'b.shop.test': [],
      'c.b.shop.test': [`docs ${right}`],
      'edge.test': [],
    });
    const { servers } = await observer.observe(checkTarget('docs.c.b.shop.test'));
    expect(servers).toMatchObject([
      { server: 'ns1.c.b.shop.test', cname: { kind: 'records', records: [target] } },
    ]);
    dns.forget();
    await observer.observe(checkTarget('new.c.b.shop.test'));
    expect(asked(dns)[0]).toEqual('new.c.b.shop.test A');
    expect(asked(dns).filter((one) => / (NS|A rd)/.test(one))).toEqual([]);
  });

  it('looks up a zone once for concurrent checks', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    const { dns, observer } = await openTestLab({
      'shop.test': names.map((name) => `${name} TXT "hello"`),
    });
    await Promise.all(names.map((name) => observer.observe(checkTarget(`${name}.shop.test`))));
    expect(asked(dns).filter((one) => / NS| A rd/.test(one))).toEqual([
      'test NS rd',
      'ns1.test A rd',
      'shop.test NS', // of the registry
      'ns1.shop.test A rd',
      'shop.test NS', // of the zone itself
    ]);
  });

  it('asks the registry again after a failed lookup', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': ['docs CNAME other.test.'] });
    dns.fail('docs.shop.test', 'A', 'refused');
    await observer.observe(checkTarget('docs.shop.test'));
    dns.heal();
    dns.forget();
    await observer.observe(checkTarget('docs.shop.test'));
    expect(asked(dns).slice(0, 2)).toEqual(['shop.test NS', 'docs.shop.test A']);
  });
});

it('the cached NS set of a zone is dropped when its delegation changes', async () => {
  const nobody = () => Promise.reject(new Error('unexpected query'));
  const recursive = { servers: [], inTurn: () => [], ask: nobody, askOne: nobody };
  const asker = { ask: nobody, askAt: nobody, hasResponded: () => true };
  const authorities = createAuthorities({ recursive, asker });
  const zoneAt = (server: string) =>
    zoneOf(
      {
        kind: 'referral',
        zone: 'shop.test',
        servers: [{ name: server, glue: [] }],
        ttlSeconds: 60,
      },
      'test',
    );
  const own = ['ns.old.test', 'ns.older.test'].map((name) => ({ name, glue: [] }));
  await authorities.ownServers(zoneAt('ns.old.test'), startBudget(defaultLimits), async () => ({
    value: own,
    ttlMs: 60_000,
    failed: false,
  }));
  expect(authorities.knownOwnServers(zoneAt('ns.old.test'))).toEqual(own);
  expect(authorities.knownOwnServers(zoneAt('ns.new.test'))).toBeNull();
});

describe('a zone with unhealthy servers', () => {
  const zone = (...lines: string[]) => ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', ...lines];

  it('has a failed view for each server when all fail', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': zone('ns2 A 127.0.0.1') });
    dns.fail('docs.shop.test', 'A', 'refused');
    const { servers } = await observer.observe(checkTarget('docs.shop.test'));
    expect(servers).toMatchObject([
      { server: 'ns1.shop.test', cname: { kind: 'refused' } },
      { server: 'ns2.shop.test', cname: { kind: 'refused' } },
    ]);
  });

  it('is lame and has no verdict when a server does not know it', async () => {
    const { observer } = await openTestLab({
      'shop.test': ['b NS ns1.b', 'ns1.b A 127.0.0.1'],
    });
    const { servers } = await observer.observe(checkTarget('docs.b.shop.test'));
    // The server refers to itself, so it does not serve the zone.
    expect(servers).toMatchObject([
      { server: 'ns1.b.shop.test', state: 'not_authoritative', cname: { kind: 'refused' } },
    ]);
  });

  it('is queried at four of its servers, and at the others if these fail', async () => {
    const numbers = [1, 2, 3, 4, 5, 6];
    const lines = numbers.flatMap((n) => [`@ NS ns${n}`, `ns${n} A 127.0.0.1`]);
    const { dns, observer } = await openTestLab({ 'shop.test': lines });
    expect((await observer.observe(checkTarget('docs.shop.test'))).servers).toHaveLength(4);
    dns.fail('docs.shop.test', 'A', 'servfail');
    expect((await observer.observe(checkTarget('docs.shop.test'))).servers).toHaveLength(6);
  });

  it.each([
    ['has no address', [], 'no_address', null],
    ['has a private address', ['ns1 A 10.0.0.1'], 'reserved_address', '10.0.0.1'],
    ['has a loopback address', ['ns1 A 127.0.0.1'], 'reserved_address', '127.0.0.1'],
    ['has a link-local address', ['ns1 AAAA fe80::1'], 'reserved_address', 'fe80::1'],
    [
      'is an IPv4-mapped IPv6 address',
      ['ns1 AAAA ::ffff:10.0.0.1'],
      'reserved_address',
      '::ffff:a00:1',
    ],
  ])('is not queried when its server %s', async (_what, lines, state, address) => {
    const { dns, observer } = await openTestLab(
      { 'shop.test': ['@ NS ns1', ...lines, `docs ${right}`] },
      { allowPrivate: false },
    );
    const { servers } = await observer.observe(checkTarget('docs.shop.test'));
    expect(servers).toMatchObject([
      { server: 'ns1.shop.test', address, state, cname: { kind: 'servfail' } },
    ]);
    expect(asked(dns).some((one) => one.startsWith('docs.'))).toBe(false);
  });

  it.each([
    ['10.0.0.1', false, 4, 'reserved'],
    ['fd00::1', false, 6, 'reserved'],
    ['64:ff9b::a00:1', false, 6, 'reserved'],
    ['10.0.0.1', true, 4, 'address'],
    ['93.184.215.14', false, 4, 'address'],
    ['93.184.215.14', false, 6, 'none'],
  ] as const)(
    'with glue %s, private addresses allowed: %s, by IPv%i: %s',
    async (address, allowPrivate, family, kind) => {
      const nobody = () => Promise.reject(new Error('unexpected query'));
      const recursive = { servers: [], inTurn: () => [], ask: nobody, askOne: nobody };
      const hosts = createHosts({ recursive, allowPrivate });
      const server = { name: 'ns1.b.shop.test', glue: [address] };
      const found = await hosts.find(server, family, startBudget(defaultLimits));
      expect(found).toMatchObject({ kind });
    },
  );
});

describe('resolvers that fail', () => {
  it.each(['servfail', 'refused', 'timeout'] as const)('are reported: %s', async (fault) => {
    const { dns, observer } = await openTestLab({ 'shop.test': [] }, { timeoutMs: BRIEF_MS });
    dns.fail('.', 'NS', fault, 'recursive');
    const { servers } = await observer.observe(checkTarget('docs.shop.test'));
    expect(servers).toMatchObject([{ server: '127.0.0.1', state: fault, cname: { kind: fault } }]);
  });

  it('are skipped in favor of the next one', async () => {
    const dns = await openDns({ 'shop.test': [`docs ${right}`] });
    const unsubscribed = await openDns({}, dns.port, '127.0.0.9');
    unsubscribed.fail('docs.shop.test', '*', 'refused');
    const servers = [unsubscribed, dns].map(({ address, port }) => ({ address, port }));
    const { observer } = await openTestLab({}, { servers, authoritative: false });
    const seen = await observer.observe(checkTarget('docs.shop.test'));
    expect(seen.servers).toMatchObject([{ server: '127.0.0.1', cname: { kind: 'records' } }]);
  });

  it('with a timeout are queried last for a while', async () => {
    const dns = await openDns({ 'shop.test': [] });
    const silent = await openDns({}, dns.port, '127.0.0.9');
    silent.fail('.', '*', 'timeout');
    const servers = [silent, dns].map(({ address, port }) => ({ address, port }));
    const options = { servers, authorityPort: dns.port, timeoutMs: BRIEF_MS };
    const { observer } = await openTestLab({}, options);
    const seen = await observer.observe(checkTarget('docs.shop.test'));
    expect(seen.servers).toMatchObject([{ server: 'ns1.shop.test', state: 'answers' }]);
    // One query, one retry, and one over TCP.
    expect(asked(silent)).toEqual(Array(3).fill('test NS rd'));
  });

  it('a resolver still shows an alias whose target cannot be resolved', async () => {
    const { dns, observer } = await openTestLab(
      { 'shop.test': [`docs ${right}`] },
      { authoritative: false },
    );
    dns.fail('docs.shop.test', 'A', 'servfail');
    const seen = await observer.observe(checkTarget('docs.shop.test'));
    expect(seen.servers).toMatchObject([{ cname: { kind: 'records', records: [target] } }]);
  });
});

it.each([
  ['docs.example.co.uk', 'example.co.uk'],
  ['a.b.github.io', 'github.io'],
  ['_signpost.docs.example.com', 'example.com'],
  ['co.uk', 'co.uk'],
  ['docs.shop.test', 'shop.test'],
  ['test', 'test'],
])('the registrable domain of %s is %s', (name, domain) => {
  expect(registrableDomain(name)).toBe(domain);
});

it('the system reports its servers in four formats', () => {
  const texts = ['192.0.2.1', '192.0.2.1:5353', '2001:db8::1', '[2001:db8::1]:5353', 'nonsense'];
  expect(systemServers(texts)).toEqual([
    { address: '192.0.2.1', port: 53 },
    { address: '192.0.2.1', port: 5353 },
    { address: '2001:db8::1', port: 53 },
    { address: '2001:db8::1', port: 5353 },
  ]);
});
