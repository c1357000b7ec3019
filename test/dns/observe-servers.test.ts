/** Every server of a zone is asked by itself, and told of with the reason where it tells nothing. */
import { afterEach, describe, expect, it } from 'vitest';
import type { LabFault } from '../../src/lab/faults.ts';
import { BRIEF_MS, closeAll, openDns, openLaboratory } from './laboratory.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const checkTarget = { hostname, target, apex: false };
const right = 'docs CNAME p1.edge.test.';
const two = ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.2'];

/** shop.test on two servers, the resolver and the registry beside the first. */
async function openPair(first: readonly string[], second: readonly string[], timeoutMs = 2_000) {
  const dns = await openDns({ 'shop.test': [...two, ...first], 'edge.test': ['p1 A 192.0.2.10'] });
  const other = await openDns({ 'shop.test': [...two, ...second] }, dns.port, '127.0.0.2');
  const servers = [{ address: dns.address, port: dns.port }];
  const { observer } = await openLaboratory({}, { servers, authorityPort: dns.port, timeoutMs });
  return { dns, other, observer };
}

describe('a zone with two servers', () => {
  it('is seen as both have it, where only one has the record', async () => {
    const { observer } = await openPair([right], []);
    const { servers, world } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([
      { server: 'ns1.shop.test', address: '127.0.0.1', cname: { records: [target] } },
      { server: 'ns2.shop.test', address: '127.0.0.2', cname: { kind: 'nxdomain' }, rcode: 3 },
    ]);
    expect(world).toEqual([]);
  });

  it('has the serial number of each, so that one that lags behind can be told', async () => {
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
  ])('is right by one of them where the other has the fault %s', async (fault, expected) => {
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

  it('keeps a server that has no address, and asks the other', async () => {
    const lines = ['@ NS ns1', '@ NS gone', 'ns1 A 127.0.0.1', right];
    const { observer } = await openLaboratory({ 'shop.test': lines, 'edge.test': [] });
    expect((await observer.observe(checkTarget)).servers).toMatchObject([
      { server: 'gone.shop.test', address: null, state: 'no_address', cname: { kind: 'servfail' } },
      { server: 'ns1.shop.test', state: 'answers' },
    ]);
  });

  it('keeps a server as not asked whose address the resolver does not tell', async () => {
    const { dns, observer } = await openPair([right], [right], BRIEF_MS);
    dns.fail('ns2.shop.test', '*', 'timeout', 'recursive');
    expect((await observer.observe(checkTarget)).servers).toMatchObject([
      { state: 'answers' },
      { address: null, state: 'not_asked', cname: { kind: 'timeout' } },
    ]);
  });

  it('is asked at a second address where the first is silent', async () => {
    const lines = ['@ NS ns1', 'ns1 A 127.0.0.3', 'ns1 AAAA ::1', right];
    const dns = await openDns({ 'shop.test': lines, 'edge.test': [] });
    await openDns({ 'shop.test': lines }, dns.port, '::1');
    const servers = [{ address: dns.address, port: dns.port }];
    const { observer } = await openLaboratory(
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
  ])('of one that cannot be reached says %s for %j', async (state, lines, expected) => {
    const { observer } = await openLaboratory(
      {
        'shop.test': ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', ...lines, right],
        'edge.test': [],
      },
      { timeoutMs: BRIEF_MS },
    );
    const { servers } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([{ state: 'answers' }, { state, ...expected }]);
  });

  it('stays silent where the first address is, and nobody tells the second', async () => {
    const { dns, other, observer } = await openPair([right], [right], BRIEF_MS);
    other.fail(hostname, '*', 'timeout');
    dns.fail('ns2.shop.test', 'AAAA', 'timeout', 'recursive');
    expect((await observer.observe(checkTarget)).servers).toMatchObject([
      { state: 'answers' },
      { address: '127.0.0.2', state: 'timeout' },
    ]);
  });

  it('whose other server knows of a zone below is seen as that zone’s servers have it', async () => {
    const { dns, observer } = await openPair(
      ['docs NS ns.docs', 'ns.docs A 127.0.0.3'],
      ['docs NS ns.docs', 'ns.docs A 127.0.0.3'],
    );
    const docs = ['@ NS ns', 'ns A 127.0.0.3', '@ A 192.0.2.1'];
    await openDns({ 'docs.shop.test': docs }, dns.port, '127.0.0.3');
    const { servers, delegation, nearby } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([{ server: 'ns.docs.shop.test', a: { kind: 'records' } }]);
    expect(delegation).toMatchObject({ zone: hostname, parent: 'shop.test' });
    // What is beside the apex of a zone belongs to another one.
    expect(nearby.sibling).toBeNull();
  });
});

describe('what our own limits leave out', () => {
  it('is not asked, which says nothing of a server', async () => {
    const { dns } = await openPair([right], [right]);
    const { observer } = await openLaboratory(
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

  it('is told with every check: what it took, and when it was', async () => {
    const now = () => new Date('2026-01-02T03:04:05Z');
    const zones = { 'shop.test': [right], 'edge.test': [] };
    const { dns, observer } = await openLaboratory(zones, { now });
    const { at, cost } = await observer.observe(checkTarget);
    expect(at).toBe('2026-01-02T03:04:05.000Z');
    expect(cost.questions).toBe(dns.questions.length);
    expect(cost.bytes).toBeGreaterThan(dns.questions.length * 20);
    expect(cost.ms).toBeGreaterThanOrEqual(0);
  });
});
