import { afterEach, describe, expect, it } from 'vitest';
import { type LabDnsOptions, type LabDnsServer, startDnsServer } from '../../src/lab/dns-server.ts';
import { encodeLabName } from '../../src/lab/encode.ts';
import { openClient, type Query } from './client.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function openDns(options: LabDnsOptions): Promise<LabDnsServer> {
  const dns = await startDnsServer(options);
  open.push(dns.close);
  return dns;
}

async function ask(dns: Pick<LabDnsServer, 'address' | 'port'>, query: Query) {
  const client = openClient(dns);
  open.push(client.close);
  const next = client.next();
  client.send(query);
  return await next;
}

const soaOf = async (dns: LabDnsServer, name: string) =>
  (await ask(dns, { name, type: 'SOA' })).packet.answers;

describe('The SOA record of a zone', () => {
  it('is generated unless the zone has one', async () => {
    const own = '@ 900 SOA ns1 hostmaster 2026112101 7200 900 1209600 30';
    const dns = await openDns({ zones: { 'shop.test': [own], 'edge.test': [] } });
    expect(await soaOf(dns, 'edge.test')).toMatchObject([
      { ttl: 60, data: { mname: 'ns1.edge.test', serial: 1, minimum: 60 } },
    ]);
    expect(await soaOf(dns, 'shop.test')).toMatchObject([
      { ttl: 900, data: { mname: 'ns1.shop.test', serial: 2_026_112_101, minimum: 30 } },
    ]);
  });

  it('limits the TTL of a negative answer', async () => {
    const own = '@ 900 SOA ns1 hostmaster 1 7200 900 1209600 30';
    const dns = await openDns({ zones: { 'shop.test': [own] } });
    const { packet } = await ask(dns, { name: 'docs.shop.test' });
    expect(packet.authorities).toMatchObject([{ type: 'SOA', ttl: 30 }]);
  });
});

describe('The name servers of one zone', () => {
  it('can serve different content at one port', async () => {
    const first = await openDns({ zones: { 'shop.test': ['docs A 192.0.2.1'] } });
    const second = await openDns({
      zones: { 'shop.test': ['docs A 192.0.2.2'] },
      address: '127.0.0.2',
      port: first.port,
    });
    const name = 'docs.shop.test';
    expect((await ask(first, { name })).packet.answers).toMatchObject([{ data: '192.0.2.1' }]);
    expect((await ask(second, { name })).packet.answers).toMatchObject([{ data: '192.0.2.2' }]);
    expect(second.questions).toMatchObject([{ name, address: '127.0.0.2' }]);
  });

  it('answer over IPv6', async () => {
    const dns = await openDns({ zones: { 'shop.test': ['docs A 192.0.2.1'] }, address: '::1' });
    const { packet } = await ask(dns, { name: 'docs.shop.test' });
    expect(packet.answers).toMatchObject([{ data: '192.0.2.1' }]);
    const server = await ask(dns, { name: 'ns1.shop.test', type: 'AAAA' });
    expect(server.packet.answers).toMatchObject([{ data: '::1' }]);
  });

  it('do not know the parent zone unless it is generated', async () => {
    const dns = await openDns({ zones: { 'shop.test': [] }, topLevels: false });
    expect(await ask(dns, { name: 'other.test' })).toMatchObject({ rcode: 5 });
  });

  it('can have IPv6 addresses in a referral', async () => {
    const lines = ['shop NS ns1.shop', 'ns1.shop AAAA ::1', 'ns1.shop A 127.0.0.1'];
    const dns = await openDns({ zones: { test: lines } });
    const { packet } = await ask(dns, { name: 'docs.shop.test' });
    expect(packet.additionals).toMatchObject([{ data: '127.0.0.1' }, { data: '::1' }]);
  });
});

describe('A name', () => {
  it.each([
    ['a.bc', [1, 'a', 2, 'bc', 0]],
    ['a\\.b.c', [3, 'a.b', 1, 'c', 0]],
    ['a\\027b.c', [3, 'a\x1bb', 1, 'c', 0]],
    ['a\\\\b', [3, 'a\\b', 0]],
    ['<b>.test', [3, '<b>', 4, 'test', 0]],
    ['', [0]],
  ])('%s is encoded octet by octet', (name, parts) => {
    const expected = Buffer.concat(
      parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part))),
    );
    expect(encodeLabName(name)).toEqual(expected);
  });

  it('with a dot inside a label differs from the name with two labels in queries and answers', async () => {
    const zones = { 'shop.test': ['docs CNAME p1\\.edge.test.'], 'edge.test': ['p1 A 192.0.2.1'] };
    const dns = await openDns({ zones });
    const { bytes } = await ask(dns, { name: 'docs.shop.test' });
    expect(bytes.includes(encodeLabName('p1\\.edge.test'))).toBe(true);
    expect(bytes.includes(encodeLabName('p1.edge.test'))).toBe(false);
  });
});

describe('An alias loop', () => {
  it('ends, within one zone and across two', async () => {
    const zones = {
      'shop.test': ['docs CNAME a', 'a CNAME docs', 'www CNAME www.edge.test.'],
      'edge.test': ['www CNAME www.shop.test.'],
    };
    const dns = await openDns({ zones });
    const inside = await ask(dns, { name: 'docs.shop.test' });
    expect(inside.packet.answers?.slice(0, 2)).toMatchObject([
      { name: 'docs.shop.test', data: 'a.shop.test' },
      { name: 'a.shop.test', data: 'docs.shop.test' },
    ]);
    const across = await ask(dns, { name: 'www.shop.test' });
    expect(across.packet.answers).toMatchObject([{ data: 'www.edge.test' }]);
    expect(await ask(dns, { name: 'www.shop.test', recursionDesired: true })).toMatchObject({
      rcode: 2,
    });
  });
});
