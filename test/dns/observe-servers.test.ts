/** Every server of a zone is queried separately and reported with its state. */
import { afterEach, describe, expect, it } from 'vitest';
import type { LabFault } from '../../src/lab/faults.ts';
import { BRIEF_MS, closeAll, openDns, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const checkTarget = { hostname, target, apex: false };
const right = 'docs CNAME p1.edge.test.';
const two = ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.2'];

/** shop.test on two servers; the resolver and the registry run beside the first. */
async function openPair(first: readonly string[], second: readonly string[], timeoutMs = 2_000) {
  const dns = await openDns({ 'shop.test': [...two, ...first], 'edge.test': ['p1 A 192.0.2.10'] });
  const other = await openDns({ 'shop.test': [...two, ...second] }, dns.port, '127.0.0.2');
  const servers = [{ address: dns.address, port: dns.port }];
  const { observer } = await openTestLab({}, { servers, authorityPort: dns.port, timeoutMs });
  return { dns, other, observer };
}

describe('a zone with two servers', () => {
  it('is reported per server when only one has the record', async () => {
    const { observer } = await openPair([right], []);
    const { servers, world } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([
      { server: 'ns1.shop.test', address: '127.0.0.1', cname: { records: [target] } },
      { server: 'ns2.shop.test', address: '127.0.0.2', cname: { kind: 'nxdomain' }, rcode: 3 },
    ]);
    expect(world).toEqual([]);
  });

  it('has the serial number of each server, which shows a lagging one', async () => {
    const { observer } = await openPair(
      ['@ SOA ns1 hostmaster 8 3600 600 86400 300', right],
      ['@ SOA ns1 hostmaster 7 3600 600 86400 30', right],
    );
    const { servers } = await observer.observe(checkTarget);
    expect(servers.map(({ soa }) => soa)).toEqual([
      { serial: 8, negativeTtlSeconds: 60 },
      { serial: 7, negativeTtlSeconds: 30 },
    ]);
  });

  it.each<[LabFault, object]>([
    ['refused', { state: 'refused', aa: false, rcode: 5, cname: { kind: 'refused' } }],
    ['servfail', { state: 'servfail', rcode: 2, cname: { kind: 'servfail' } }],
    ['notimp', { state: 'servfail', rcode: 4, cname: { kind: 'servfail' } }],
    ['garbage', { state: 'malformed', aa: null, rcode: null, cname: { kind: 'servfail' } }],
    [
      'timeout',
      { state: 'timeout', aa: null, rcode: null, rttMs: null, cname: { kind: 'timeout' } },
    ],
    ['not_authoritative', { state: 'not_authoritative', aa: false, cname: { kind: 'refused' } }],
    ['upward_referral', { state: 'not_authoritative', aa: false, cname: { kind: 'refused' } }],
  ])('is right by one server when the other has the fault %s', async (fault, expected) => {
    const { other, observer } = await openPair([right], [right], BRIEF_MS);
    other.fail(hostname, '*', fault);
    const { servers, caa, world } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([
      { state: 'answers', cname: { kind: 'records' } },
      {
        server: 'ns2.shop.test',
        address: '127.0.0.2',
        soa: null,
        mx: null,
        txt: null,
        ...expected,
      },
    ]);
    expect(caa).not.toBeNull();
    expect(world).toHaveLength(1);
  });

  it('reports a server without an address and queries the other', async () => {
    const lines = ['@ NS ns1', '@ NS gone', 'ns1 A 127.0.0.1', right];
    const { observer } = await openTestLab({ 'shop.test': lines, 'edge.test': [] });
    expect((await observer.observe(checkTarget)).servers).toMatchObject([
      { server: 'gone.shop.test', address: null, state: 'no_address', cname: { kind: 'servfail' } },
      { server: 'ns1.shop.test', state: 'answers' },
    ]);
  });

  it('reports a server as not queried when the resolver fails for its address', async () => {
    const { dns, observer } = await openPair([right], [right], BRIEF_MS);
    dns.fail('ns2.shop.test', '*', 'timeout', 'recursive');
    expect((await observer.observe(checkTarget)).servers).toMatchObject([
      { state: 'answers' },
      { address: null, state: 'not_asked', cname: { kind: 'timeout' } },
    ]);
  });

  it('is queried at a second address when the first is silent', async () => {
    const lines = ['@ NS ns1', 'ns1 A 127.0.0.3', 'ns1 AAAA ::1', right];
    const dns = await openDns({ 'shop.test': lines, 'edge.test': [] });
    await openDns({ 'shop.test': lines }, dns.port, '::1');
    const servers = [{ address: dns.address, port: dns.port }];
    const { observer } = await openTestLab(
      {},
      { servers, authorityPort: dns.port, timeoutMs: BRIEF_MS },
    );
    const { servers: seen } = await observer.observe(checkTarget);
    expect(seen).toMatchObject([
      { server: 'ns1.shop.test', address: '::1', state: 'answers', soa: { serial: 1 } },
    ]);
  });

  it.each<[string, string[], object]>([
    ['timeout', ['ns2 A 127.0.0.3', 'ns2 AAAA fe80::1'], { address: '127.0.0.3' }],
    ['timeout', ['ns2 A 127.0.0.3'], { address: '127.0.0.3' }],
    ['no_address', ['ns2 TXT "none"'], { address: null }],
  ])('whose other server is unreachable reports %s for %j', async (state, lines, expected) => {
    const { observer } = await openTestLab(
      {
        'shop.test': ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', ...lines, right],
        'edge.test': [],
      },
      { timeoutMs: BRIEF_MS },
    );
    const { servers } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([{ state: 'answers' }, { state, ...expected }]);
  });

  it('reports silence when the first address is silent and the second unknown', async () => {
    const { dns, other, observer } = await openPair([right], [right], BRIEF_MS);
    other.fail(hostname, '*', 'timeout');
    dns.fail('ns2.shop.test', 'AAAA', 'timeout', 'recursive');
    expect((await observer.observe(checkTarget)).servers).toMatchObject([
      { state: 'answers' },
      { address: '127.0.0.2', state: 'timeout' },
    ]);
  });

  it('with a delegation known only to the other server is reported from the delegated zone’s servers', async () => {
    const { dns, observer } = await openPair(
      ['docs NS ns.docs', 'ns.docs A 127.0.0.3'],
      ['docs NS ns.docs', 'ns.docs A 127.0.0.3'],
    );
    const docs = ['@ NS ns', 'ns A 127.0.0.3', '@ A 192.0.2.1'];
    await openDns({ 'docs.shop.test': docs }, dns.port, '127.0.0.3');
    const { servers, delegation, nearby } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([{ server: 'ns.docs.shop.test', a: { kind: 'records' } }]);
    expect(delegation).toMatchObject({ zone: hostname, parent: 'shop.test' });
    // Names beside the apex of a zone belong to another zone.
    expect(nearby.sibling).toBeNull();
  });
});

describe('a check and its own limits', () => {
  it('marks servers beyond the query limit as not queried, without blaming them', async () => {
    const { dns } = await openPair([right], [right]);
    const { observer } = await openTestLab(
      {},
      {
        servers: [{ address: dns.address, port: dns.port }],
        authorityPort: dns.port,
        limits: { questions: 6, ms: 7_000, bytes: 65_536 },
      },
    );
    const { servers, cost } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([
      { state: 'answers' },
      { state: 'not_asked', cname: { kind: 'timeout' } },
    ]);
    expect(cost.questions).toBe(6);
  });

  it('reports its cost and its time', async () => {
    const now = () => new Date('2026-01-02T03:04:05Z');
    const zones = { 'shop.test': [right], 'edge.test': [] };
    const { dns, observer } = await openTestLab(zones, { now });
    const { at, cost } = await observer.observe(checkTarget);
    expect(at).toBe('2026-01-02T03:04:05.000Z');
    expect(cost.questions).toBe(dns.questions.length);
    expect(cost.bytes).toBeGreaterThan(dns.questions.length * 20);
    expect(cost.ms).toBeGreaterThanOrEqual(0);
  });
});
