/** The delegation of a hostname, by the parent zone and by the zone itself. */
import { afterEach, describe, expect, it } from 'vitest';
import { asked, closeAll, openDns, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const checkTarget = (hostname: string, apex = false) => ({ hostname, target, apex });
const right = 'docs CNAME p1.edge.test.';

/** A registry at 127.0.0.1 with these lines about shop.test, which is at 127.0.0.2. */
async function openMoved(
  registry: readonly string[],
  shop: readonly string[],
  resolver: readonly string[] = shop,
) {
  const parent = await openDns({ test: ['@ NS ns1', 'ns1 A 127.0.0.1', ...registry] });
  const child = await openDns({ 'shop.test': shop }, parent.port, '127.0.0.2');
  const recursive = await openDns(
    { test: ['@ NS ns1', 'ns1 A 127.0.0.1'], 'shop.test': resolver, 'edge.test': [] },
    parent.port,
    '127.0.0.9',
  );
  const servers = [{ address: recursive.address, port: recursive.port }];
  const { observer } = await openTestLab({}, { servers, authorityPort: parent.port });
  return { parent, child, recursive, observer };
}

describe('a registered domain', () => {
  it('has its delegation at the registry and its own NS set reported', async () => {
    const lines = ['@ NS ns2', '@ NS ns1', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.1', right];
    const { observer } = await openTestLab({ 'shop.test': lines });
    expect((await observer.observe(checkTarget('docs.shop.test'))).delegation).toEqual({
      kind: 'delegated',
      zone: 'shop.test',
      parent: 'test',
      atParent: ['ns1.shop.test', 'ns2.shop.test'],
      atZone: ['ns1.shop.test', 'ns2.shop.test'],
      ttlSeconds: 60,
    });
  });

  it('in the middle of a move has both NS sets reported and all their servers queried', async () => {
    const { recursive, child, observer } = await openMoved(
      [
        'shop 120 NS ns1.shop',
        'shop 120 NS old.shop',
        'ns1.shop A 127.0.0.2',
        'old.shop A 127.0.0.2',
      ],
      ['@ NS ns1', '@ NS new', 'ns1 A 127.0.0.2', 'new A 127.0.0.2', right],
    );
    const seen = await observer.observe(checkTarget('docs.shop.test'));
    expect(seen.delegation).toEqual({
      kind: 'delegated',
      zone: 'shop.test',
      parent: 'test',
      atParent: ['ns1.shop.test', 'old.shop.test'],
      atZone: ['new.shop.test', 'ns1.shop.test'],
      ttlSeconds: 120,
    });
    expect(seen.servers.map(({ server, state }) => `${server} ${state}`)).toEqual([
      'ns1.shop.test answers',
      'old.shop.test answers',
      'new.shop.test answers',
    ]);
    expect(asked(child).filter((one) => /^docs\.shop\.test (A|MX)$/.test(one))).toHaveLength(3);
    // The delegation has glue, so resolvers are not asked for those addresses.
    expect(asked(recursive).filter((one) => / A rd$/.test(one))).toEqual([
      'ns1.test A rd',
      'new.shop.test A rd',
      'docs.shop.test A rd',
    ]);
  });

  it('is not queried at out-of-bailiwick glue addresses', async () => {
    const { recursive, observer } = await openMoved(
      ['shop NS ns.elsewhere.example.', 'elsewhere NS ns.elsewhere', 'ns.elsewhere A 127.0.0.3'],
      ['@ NS ns.elsewhere.example.', right],
    );
    const { servers } = await observer.observe(checkTarget('docs.shop.test'));
    expect(servers).toMatchObject([{ server: 'ns.elsewhere.example', state: 'no_address' }]);
    expect(asked(recursive)).toContain('ns.elsewhere.example A rd');
  });

  it('in a delegated zone has the zone above as its parent', async () => {
    const { observer } = await openTestLab({ 'shop.test': [], 'b.shop.test': [right] });
    const { delegation } = await observer.observe(checkTarget('docs.b.shop.test'));
    expect(delegation).toMatchObject({
      zone: 'b.shop.test',
      parent: 'shop.test',
      atParent: ['ns1.b.shop.test'],
      atZone: ['ns1.b.shop.test'],
    });
  });

  it('is found by a resolver when the registry fails, and then has no delegation', async () => {
    const { parent, observer } = await openMoved(
      ['shop NS ns1.shop', 'ns1.shop A 127.0.0.2'],
      ['@ NS ns1', 'ns1 A 127.0.0.2', right],
    );
    parent.fail('shop.test', 'NS', 'servfail');
    const seen = await observer.observe(checkTarget('docs.shop.test'));
    expect(seen.delegation).toBeNull();
    expect(seen.servers).toMatchObject([{ server: 'ns1.shop.test', state: 'answers' }]);
  });

  it('below a suffix of two labels is looked up at the deepest zone above it', async () => {
    const { observer } = await openTestLab({ 'co.uk': [], 'shop.co.uk': [right] });
    const { delegation } = await observer.observe(checkTarget('docs.shop.co.uk'));
    expect(delegation).toMatchObject({ zone: 'shop.co.uk', parent: 'co.uk' });
  });

  it('is found by its registry even if resolvers deny the suffix above it', async () => {
    const { dns, observer } = await openTestLab({ 'co.uk': [], 'shop.co.uk': [right] });
    dns.fail('co.uk', '*', 'nxdomain', 'recursive');
    const { delegation, servers } = await observer.observe(checkTarget('docs.shop.co.uk'));
    expect(delegation).toMatchObject({ zone: 'shop.co.uk', parent: 'uk' });
    expect(servers).toMatchObject([{ cname: { kind: 'records' } }]);
  });

  it('has an unknown own NS set when its servers do not answer for it', async () => {
    const { dns, observer } = await openMoved(
      ['shop NS ns1.shop', 'ns1.shop A 127.0.0.2'],
      ['@ NS ns1', 'ns1 A 127.0.0.2', right],
    ).then(({ child, observer: one }) => ({ dns: child, observer: one }));
    dns.fail('shop.test', 'NS', 'refused');
    const { delegation } = await observer.observe(checkTarget('docs.shop.test'));
    expect(delegation).toMatchObject({ atParent: ['ns1.shop.test'], atZone: null });
  });
});

describe('an unregistered domain', () => {
  it.each([
    ['a name in it', 'docs.unsold.test', false],
    ['itself', 'unsold.test', true],
  ])('is reported by its registry for %s, without further queries', async (_what, name, apex) => {
    const { dns, observer } = await openTestLab({ 'shop.test': [] });
    const seen = await observer.observe(checkTarget(name, apex));
    const nxdomain = { kind: 'nxdomain' };
    expect(seen).toMatchObject({
      delegation: { kind: 'unregistered', zone: 'unsold.test', parent: 'test' },
      caa: null,
      world: [],
      nearby: { sibling: null, doubled: null, wrongHosts: [], chain: null },
    });
    expect(seen.servers).toEqual([
      {
        server: 'ns1.test',
        address: '127.0.0.1',
        state: 'answers',
        aa: true,
        rcode: 3,
        cname: nxdomain,
        a: nxdomain,
        aaaa: nxdomain,
        mx: null,
        txt: null,
        soa: { serial: 1, negativeTtlSeconds: 60 },
        rttMs: expect.any(Number),
      },
    ]);
    expect(asked(dns)).toEqual(['test NS rd', 'ns1.test A rd', 'unsold.test NS']);
  });

  it('is not assumed from a server that is not authoritative for the registry', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': [right], 'edge.test': [] });
    dns.fail('shop.test', 'NS', 'not_authoritative', 'authority');
    const seen = await observer.observe(checkTarget('docs.shop.test'));
    expect(seen.delegation).toBeNull();
    expect(seen.servers).toMatchObject([{ cname: { kind: 'records' } }]);
  });
});
