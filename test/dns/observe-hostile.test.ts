/** Full checks of zones whose servers return far more than any honest one. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import { serverAddresses } from '../../src/dns/servers/select.ts';
import type { ResourceRecord } from '../../src/dns/wire/records.ts';
import { closeInternet, openInternet } from './findings/internet.ts';
import { closeAll, openTestLab } from './test-lab.ts';

afterEach(closeAll);
afterEach(closeInternet);

const right = 'docs CNAME p1.edge.test.';
const checkTarget = { hostname: 'docs.evil.test', target: 'p1.edge.test', apex: false };
const zones = { 'evil.test': { ns1: [right] } };
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const longName = (i: number) =>
  [`x${i}`, ...'abc'.split('').map((letter) => letter.repeat(60)), 'evil.test'].join('.');
const short = (i: number) => `a${i}.evil.test`;

function namesIn({ delegation }: Observation, side: 'atParent' | 'atZone') {
  return delegation?.kind === 'delegated' ? delegation[side]?.length : undefined;
}

describe('an NS set', () => {
  it.each([
    ['of 32 names is kept', 31, short, 32],
    ['of 33 names is ignored', 32, short, undefined],
    ['of 450 names is ignored', 449, short, undefined],
    ['of 30 very long names is ignored', 29, longName, undefined],
  ])('of the zone itself %s', async (_what, more, name, kept) => {
    const atZone = { 'evil.test': ['ns1', ...numbers(more).map(name)] };
    const { observe } = await openInternet({ zones, atZone });
    const observation = await observe('docs.evil.test');
    expect(namesIn(observation, 'atZone')).toBe(kept);
    expect(JSON.stringify(observation).length).toBeLessThan(10_000);
  });

  it.each([
    ['of 32 names is kept', 31, 32],
    ['of 33 names is ignored, which leaves only the resolver view', 32, undefined],
  ])('of the parent zone %s', async (_what, more, kept) => {
    const atParent = { 'evil.test': ['ns1', ...numbers(more).map(short)] };
    const { observe } = await openInternet({ zones, atParent });
    expect(namesIn(await observe('docs.evil.test'), 'atParent')).toBe(kept);
  });

  it('of 33 names from a resolver leaves no servers to query', async () => {
    const names = numbers(33).map((i) => `@ NS ${short(i)}.`);
    const { observer } = await openTestLab({ 'evil.test': [...names, right] });
    const { servers } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([{ cname: { kind: 'servfail' } }]);
  });
});

describe('the size of an observation is bounded', () => {
  it.each([
    ['aliases with long names', (i: number) => `docs CNAME ${longName(i)}.`],
    ['mail servers with long names', (i: number) => `docs MX ${i} ${longName(i)}.`],
    ['long texts', (i: number) => `docs TXT "${i} ${'x'.repeat(240)}"`],
    ['long CAA records', (i: number) => `docs CAA 0 issue "${i}${'x'.repeat(240)}.test"`],
  ])('when a name has many %s', async (_what, line) => {
    const { observer } = await openTestLab({ 'evil.test': numbers(90).map(line) });
    const seen = await observer.observe(checkTarget);
    expect(seen.servers).toMatchObject([{ state: 'answers' }]);
    expect(JSON.stringify(seen).length).toBeLessThan(10_000);
  });
});

it('at most 16 addresses per family of a name server are cached', () => {
  const name = 'ns1.evil.test';
  const records: readonly ResourceRecord[] = numbers(100).flatMap((i) => [
    { type: 'A', name, ttlSeconds: 60, address: `192.0.2.${i}` } as const,
    { type: 'AAAA', name, ttlSeconds: 60, address: `2001:db8::${i + 1}` } as const,
  ]);
  const addresses = serverAddresses(records, name);
  expect(addresses.filter((one) => one.includes(':'))).toHaveLength(16);
  expect(addresses).toHaveLength(32);
});

describe('a name server of two customers', () => {
  it('that is silent for the domain of one is still queried for the other’s', async () => {
    const shared = { 'ns1.host.test': [right] };
    const {
      check: checkAt,
      fail,
      observe,
    } = await openInternet({
      zones: { 'shop.test': shared, 'evil.test': shared, 'host.test': { ns9: [] } },
      timeoutMs: 600,
    });
    await checkAt('docs.shop.test');
    fail('ns1.host.test', 'timeout', '.evil.test');
    await Promise.all(['a', 'b', 'c', 'd'].map((label) => observe(`${label}.evil.test`)));
    const { verdict, observation } = await checkAt('docs.shop.test');
    expect(verdict).toBe('right');
    expect(observation.servers).toMatchObject([{ state: 'answers' }]);
  });
});

it('a name server without a route from this host is not queried and not blamed', async () => {
  const lines = ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 255.255.255.255', right];
  const { observer } = await openTestLab({
    'evil.test': lines,
    'edge.test': ['p1 A 192.0.2.1'],
  });
  const { servers } = await observer.observe(checkTarget);
  expect(servers).toMatchObject([
    { server: 'ns1.evil.test', state: 'answers' },
    { server: 'ns2.evil.test', address: '255.255.255.255', state: 'not_asked' },
  ]);
});

it('a process without a route to any name server uses the resolver view', async () => {
  const nowhere = ['@ NS ns1', 'ns1 A 255.255.255.255'];
  const { observer } = await openTestLab({
    test: nowhere,
    'evil.test': [...nowhere, right],
    'edge.test': [...nowhere, 'p1 A 192.0.2.1'],
  });
  const seen = await observer.observe(checkTarget);
  expect(seen).toMatchObject({ view: 'recursive', whyRecursive: 'port_53_blocked' });
});
