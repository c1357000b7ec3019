import { describe, expect, test } from 'vitest';
import { addressGroup, clientAddress, trustedProxies } from '../../../src/net/client-address.ts';

const trusted = trustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8', '2001:db8:ffff::1']);

describe('clientAddress', () => {
  const rows: readonly [
    what: string,
    remote: string | undefined,
    forwardedFor: string | undefined,
    client: string,
  ][] = [
    ['no proxy: the connected address', '203.0.113.9', undefined, '203.0.113.9'],
    [
      'no proxy: the connected address, whatever the header claims',
      '203.0.113.9',
      '198.51.100.1',
      '203.0.113.9',
    ],
    ['one proxy: the address that it saw', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a proxy configured by its address', '192.0.2.7', '198.51.100.1', '198.51.100.1'],
    ['an untrusted neighbor', '192.0.2.8', '198.51.100.1', '192.0.2.8'],
    ['a silent proxy: the proxy', '10.0.0.1', undefined, '10.0.0.1'],
    ['two proxies', '10.0.0.1', '198.51.100.1, 10.9.9.9', '198.51.100.1'],
    [
      'the rightmost untrusted address',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.1, 10.2.2.2',
      '198.51.100.1',
    ],
    ['values prepended by the client', '10.0.0.1', '10.3.3.3, 203.0.113.9', '203.0.113.9'],
    ['only proxies: the leftmost', '10.0.0.1', '10.3.3.3,10.2.2.2', '10.3.3.3'],
    [
      'an invalid entry: the address that passed it on',
      '10.0.0.1',
      '198.51.100.1, what, 10.2.2.2',
      '10.2.2.2',
    ],
    ['an invalid entry alone', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['no entry', '10.0.0.1', '', '10.0.0.1'],
    ['an empty entry', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
    ['an invalid entry of 16 KB', '10.0.0.1', 'x'.repeat(16_000), '10.0.0.1'],
    ['octets with leading zeros', '10.0.0.1', '198.051.100.001', '10.0.0.1'],
    ['a host name', '10.0.0.1', 'client.example', '10.0.0.1'],
    ['an address with its port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['IPv6', '10.0.0.1', '2001:DB8:0:0::1', '2001:db8::1'],
    ['IPv6 in brackets', '10.0.0.1', '[2001:db8::1]', '2001:db8::1'],
    ['IPv6 with its port', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['an IPv6 proxy', 'fd12::1', '198.51.100.1', '198.51.100.1'],
    [
      'an IPv6 proxy in another spelling',
      '2001:DB8:FFFF:0:0:0:0:1',
      '198.51.100.1',
      '198.51.100.1',
    ],
    ['an IPv4 client of a dual-stack listener', '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['an IPv4 proxy of a dual-stack listener', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['an IPv4-mapped entry, in hexadecimal', '10.0.0.1', '::ffff:c633:6401', '198.51.100.1'],
    ['a link-local neighbor', 'fe80::1%eth0', undefined, 'fe80::1'],
    ['a closed connection', undefined, '198.51.100.1', 'unknown'],
  ];
  test.each(rows)('returns for %s', (_what, remote, forwardedFor, client) => {
    expect(clientAddress(remote, forwardedFor, trusted)).toBe(client);
  });

  test('trusts no proxy when none is configured', () => {
    expect(clientAddress('127.0.0.1', '198.51.100.1', trustedProxies([]))).toBe('127.0.0.1');
  });
});

describe('addressGroup', () => {
  const rows: readonly [address: string, group: string][] = [
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['2001:db8::1', '2001:db8::/64'],
    ['::1', '::/64'],
    ['unknown', 'unknown'],
  ];
  test.each(rows)('groups %s as %s', (address, group) => {
    expect(addressGroup(address)).toBe(group);
    expect(addressGroup(address)).toBe(group); // cached
  });
});
