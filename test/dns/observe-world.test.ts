/** What public resolvers see once the zone is right, and checks in the recursive view. */
import { afterEach, describe, expect, it } from 'vitest';
import { createObserver } from '../../src/dns/observe/observe.ts';
import { createReachability } from '../../src/dns/servers/reachability.ts';
import { defaultLimits } from '../../src/dns/wire/budget.ts';
import type { Wire } from '../../src/dns/wire/wire.ts';
import type { LabFault } from '../../src/lab/faults.ts';
import { asked, BRIEF_MS, caaOf, closeAll, openDns, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const checkTarget = { hostname, target, apex: false };
const apex = { hostname: 'shop.test', target, apex: true };
const right = 'docs CNAME p1.edge.test.';
const edge = ['p1 A 192.0.2.10'];
const zones = { 'shop.test': [right, '@ A 192.0.2.10'], 'edge.test': edge };

/** Several resolvers beside the zones' own server; the first one finds the zones. */
async function openWithResolvers(
  count: number,
  options: { readonly signed?: readonly string[] } = {},
) {
  const dns = await openDns({
    test: ['@ NS ns1', 'ns1 A 127.0.0.1'],
    ...Object.fromEntries(
      Object.entries(zones).map(([name, lines]) => [
        name,
        ['@ NS ns1', 'ns1 A 127.0.0.1', ...lines],
      ]),
    ),
  });
  const resolvers = [];
  for (let n = 0; n < count; n++) {
    resolvers.push(await openDns(dnsZones(), dns.port, `127.0.0.${n + 10}`, options));
  }
  const servers = resolvers.map(({ address, port }) => ({ address, port }));
  const { observer } = await openTestLab({}, { servers, authorityPort: dns.port });
  return { dns, resolvers, observer };
}

/** A resolver that changes its behavior from the first query with CD on. */
async function openFickle(then: 'heal' | LabFault) {
  const { dns, wire } = await openTestLab(zones, { timeoutMs: BRIEF_MS });
  const ask: Wire['ask'] = async (question, ...rest) => {
    const answer = await wire.ask(question, ...rest);
    if (question.checkingDisabled && then === 'heal') dns.heal();
    else if (question.checkingDisabled && then !== 'heal')
      dns.fail(hostname, 'A', then, 'recursive');
    return answer;
  };
  const servers = [{ address: dns.address, port: dns.port }];
  const config = { servers, authoritative: true, authorityPort: dns.port, allowPrivate: true };
  const observer = createObserver({ wire: { ...wire, ask }, config, platformAddresses: [] });
  return { dns, observer };
}

const dnsZones = () => ({
  test: ['@ NS ns1', 'ns1 A 127.0.0.1'],
  'shop.test': ['@ NS ns1', 'ns1 A 127.0.0.1', ...zones['shop.test']],
  'edge.test': ['@ NS ns1', 'ns1 A 127.0.0.1', ...edge],
});

describe('the resolver cross-check', () => {
  it('queries up to two resolvers, each separately', async () => {
    const { observer } = await openWithResolvers(3);
    const { world } = await observer.observe(checkTarget);
    expect(world).toEqual(
      ['127.0.0.10', '127.0.0.11'].map((server) => ({
        server,
        cname: { kind: 'records', records: [target], ttlSeconds: 60 },
        a: { kind: 'nodata' },
        aaaa: { kind: 'nodata' },
        negativeTtlSeconds: null,
        authenticated: false,
        answersUnchecked: null,
        errors: [],
        rttMs: expect.any(Number),
      })),
    );
  });

  it('requests the signature status', async () => {
    const { observer, resolvers } = await openWithResolvers(1, { signed: ['shop.test'] });
    expect((await observer.observe(checkTarget)).world).toMatchObject([{ authenticated: true }]);
    const about = resolvers[0]?.questions.filter(({ name }) => name === hostname);
    expect(about).toMatchObject([{ type: 'A', dnssecOk: true, checkingDisabled: false }]);
  });

  it('reports a cached answer and its TTL', async () => {
    const { observer, resolvers } = await openWithResolvers(1);
    const remembered = { kind: 'remembered', lines: [], ttlSeconds: 17 } as const;
    resolvers[0]?.fail(hostname, 'A', remembered, 'recursive');
    expect((await observer.observe(checkTarget)).world).toMatchObject([
      { cname: { kind: 'nxdomain' }, a: { kind: 'nxdomain' }, negativeTtlSeconds: 17 },
    ]);
  });

  it('reports a failure because of invalid signatures', async () => {
    const { observer, resolvers } = await openWithResolvers(1);
    const errors = [{ code: 7, text: 'expired' }];
    resolvers[0]?.fail(hostname, 'A', { kind: 'bogus', errors }, 'recursive');
    expect((await observer.observe(checkTarget)).world).toMatchObject([
      { cname: { kind: 'servfail' }, answersUnchecked: true, errors },
    ]);
  });

  it('reports a failure for another reason', async () => {
    const { observer, resolvers } = await openWithResolvers(2);
    resolvers[0]?.fail(hostname, 'A', 'servfail', 'recursive');
    resolvers[1]?.fail(hostname, 'A', 'refused', 'recursive');
    expect((await observer.observe(checkTarget)).world).toMatchObject([
      { cname: { kind: 'servfail' }, answersUnchecked: false },
      { cname: { kind: 'refused' }, answersUnchecked: null },
    ]);
  });

  it.each([
    ['answers', 'heal', { cname: { kind: 'records' }, answersUnchecked: null, errors: [] }],
    ['is silent', 'timeout', { cname: { kind: 'servfail' }, answersUnchecked: null }],
  ] as const)(
    'does not blame signatures when the resolver then %s',
    async (_what, then, expected) => {
      const { dns, observer } = await openFickle(then);
      dns.fail(hostname, 'A', { kind: 'bogus', errors: [] }, 'recursive');
      expect((await observer.observe(checkTarget)).world).toMatchObject([expected]);
      expect(asked(dns).filter((one) => one === `${hostname} A rd`).length).toBeGreaterThan(2);
    },
  );

  it('reports the signature status that only a second failure shows', async () => {
    const [vague, exact] = [
      { code: 22, text: '' },
      { code: 7, text: 'expired' },
    ];
    const { dns, observer } = await openFickle({ kind: 'bogus', errors: [exact] });
    dns.fail(hostname, 'A', { kind: 'bogus', errors: [vague] }, 'recursive');
    expect((await observer.observe(checkTarget)).world).toMatchObject([
      { cname: { kind: 'servfail' }, answersUnchecked: true, errors: [vague, exact] },
    ]);
  });

  it('queries both address families at an apex', async () => {
    const { observer } = await openWithResolvers(1);
    expect((await observer.observe(apex)).world).toMatchObject([
      { cname: { kind: 'nodata' }, a: { records: ['192.0.2.10'] }, aaaa: { kind: 'nodata' } },
    ]);
  });
});

describe('a check in the recursive view', () => {
  it('has the same answer as the server’s view and as the cross-check', async () => {
    const { observer } = await openTestLab(zones, { authoritative: false });
    expect(await observer.observe(checkTarget)).toMatchObject({
      view: 'recursive',
      whyRecursive: 'configured',
      delegation: null,
      servers: [
        {
          server: '127.0.0.1',
          address: '127.0.0.1',
          state: 'answers',
          cname: { records: [target] },
        },
      ],
      world: [{ server: '127.0.0.1', cname: { records: [target] } }],
      nearby: { sibling: null, doubled: null, wrongHosts: [], chain: null },
    });
  });

  it('sends no queries around the name, as resolvers would cache negative answers', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': [] }, { authoritative: false });
    await observer.observe(checkTarget);
    const about = asked(dns).filter((one) => one.includes('shop.test') && !one.includes(' CAA'));
    expect(about).toEqual(['docs.shop.test A rd']);
  });

  it('keeps the answer of each queried resolver', async () => {
    const dns = await openDns(zones);
    const bad = await openDns(zones, dns.port, '127.0.0.9');
    bad.fail(hostname, '*', { kind: 'bogus', errors: [{ code: 6, text: '' }] });
    const servers = [bad, dns].map(({ address, port }) => ({ address, port }));
    const { observer } = await openTestLab({}, { servers, authoritative: false });
    const seen = await observer.observe(checkTarget);
    expect(seen.servers).toMatchObject([{ server: '127.0.0.1', state: 'answers' }]);
    expect(seen.world).toMatchObject([
      { server: '127.0.0.9', answersUnchecked: true, errors: [{ code: 6 }] },
      { server: '127.0.0.1', cname: { kind: 'records' } },
    ]);
  });
});

describe('silent resolvers', () => {
  it.each([true, false])(
    'are queried last afterwards (authoritative: %s)',
    async (authoritative) => {
      const dns = await openDns(dnsZones());
      const three = [10, 11, 12].map((n) => openDns(dnsZones(), dns.port, `127.0.0.${n}`));
      const resolvers = await Promise.all(three);
      for (const dead of resolvers.slice(0, 2)) dead.fail('docs.shop.test', '*', 'timeout');
      const servers = resolvers.map(({ address, port }) => ({ address, port }));
      const options = { servers, authoritative, authorityPort: dns.port, timeoutMs: BRIEF_MS };
      const { observer } = await openTestLab({}, options);
      const before = await observer.observe(checkTarget);
      expect(before.world[0]).toMatchObject({ server: '127.0.0.10', a: { kind: 'timeout' } });
      for (const { forget } of resolvers) forget();
      const { world } = await observer.observe(checkTarget);
      expect(world.at(-1)).toMatchObject({ server: '127.0.0.12', cname: { records: [target] } });
      // One of them may be tried as well, but a check does not wait for both.
      expect(world.length).toBeLessThanOrEqual(authoritative ? 2 : 1);
    },
  );
});

describe('with port 53 blocked', () => {
  it('a check continues with resolvers if no name server has ever answered', async () => {
    const { dns, observer } = await openTestLab(zones, { timeoutMs: BRIEF_MS });
    dns.fail('.', '*', 'timeout', 'authority');
    const seen = await observer.observe(checkTarget);
    expect(seen).toMatchObject({ view: 'recursive', whyRecursive: 'port_53_blocked' });
    expect(seen.servers).toMatchObject([{ server: '127.0.0.1', cname: { records: [target] } }]);
    expect(seen.caa).not.toBeNull();
    expect(await caaOf(observer, hostname)).toHaveLength(3);
  });

  it('a silent registry does not mean blocked once a name server has answered', async () => {
    const { dns, observer } = await openTestLab(
      { ...zones, 'shop.example': [right] },
      { timeoutMs: BRIEF_MS },
    );
    await observer.observe({ ...checkTarget, hostname: 'docs.shop.example' });
    dns.fail('shop.test', 'NS', 'timeout', 'authority');
    const seen = await observer.observe(checkTarget);
    expect(seen).toMatchObject({ view: 'authoritative', delegation: null });
    expect(seen.servers).toMatchObject([{ server: 'ns1.shop.test', state: 'answers' }]);
  });

  it('a check learns this from earlier ones and does not wait for name servers', async () => {
    const reachability = createReachability();
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      reachability.note(address, false);
    expect(reachability.mayProbe()).toBe(true);
    const { dns, observer } = await openTestLab(zones, { reachability });
    expect(await observer.observe(checkTarget)).toMatchObject({ whyRecursive: 'port_53_blocked' });
    expect(asked(dns).every((one) => one.endsWith(' rd'))).toBe(true);
  });

  it('a probing check has enough time left for resolvers', async () => {
    const reachability = createReachability();
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      reachability.note(address, false);
    const limits = { ...defaultLimits, ms: 3_000 };
    const options = { reachability, limits, timeoutMs: 60_000 };
    const { dns, observer } = await openTestLab(zones, options);
    dns.fail('.', '*', 'timeout', 'authority');
    const seen = await observer.observe(checkTarget);
    expect(seen).toMatchObject({ view: 'recursive', whyRecursive: 'port_53_blocked' });
    expect(seen.servers).toMatchObject([{ cname: { records: [target] } }]);
  });

  it('a probing check detects the end of the block', async () => {
    const reachability = createReachability();
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      reachability.note(address, false);
    const { observer } = await openTestLab(zones, { reachability });
    expect(await observer.observe(checkTarget)).toMatchObject({ view: 'authoritative' });
    expect(reachability.isBlocked()).toBe(false);
  });
});
