import { describe, expect, test } from 'vitest';
import { addressGroup, clientAddress, trustedProxies } from '../../../src/net/client-address.ts';

const trusted = trustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8', '2001:db8:ffff::1']);

describe('who is asking', () => {
  const rows: readonly [
    what: string,
    remote: string | undefined,
    forwardedFor: string | undefined,
    client: string,
  ][] = [
    ['without a proxy: who connected', '203.0.113.9', undefined, '203.0.113.9'],
    ['who connected, whatever it claims', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['behind a proxy: whom it saw', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['behind a proxy that is named by itself', '192.0.2.7', '198.51.100.1', '198.51.100.1'],
    ['its neighbour is no proxy', '192.0.2.8', '198.51.100.1', '192.0.2.8'],
    ['behind a proxy that says nothing: the proxy', '10.0.0.1', undefined, '10.0.0.1'],
    ['behind two', '10.0.0.1', '198.51.100.1, 10.9.9.9', '198.51.100.1'],
    [
      'the rightmost that is no proxy',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.1, 10.2.2.2',
      '198.51.100.1',
    ],
    [
      'what a client put in front is not checked',
      '10.0.0.1',
      '10.3.3.3, 203.0.113.9',
      '203.0.113.9',
    ],
    ['all proxies: the leftmost', '10.0.0.1', '10.3.3.3,10.2.2.2', '10.3.3.3'],
    [
      'nonsense ends the walk at whoever passed it on',
      '10.0.0.1',
      '198.51.100.1, what, 10.2.2.2',
      '10.2.2.2',
    ],
    ['nonsense alone', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['nothing at all', '10.0.0.1', '', '10.0.0.1'],
    ['an empty entry is nonsense', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
    ['nonsense of 16 KB', '10.0.0.1', 'x'.repeat(16_000), '10.0.0.1'],
    ['octets with leading zeros are nonsense', '10.0.0.1', '198.051.100.001', '10.0.0.1'],
    ['a name is nonsense', '10.0.0.1', 'client.example', '10.0.0.1'],
    ['with its port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['IPv6', '10.0.0.1', '2001:DB8:0:0::1', '2001:db8::1'],
    ['IPv6 in brackets', '10.0.0.1', '[2001:db8::1]', '2001:db8::1'],
    ['IPv6 with its port', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['an IPv6 proxy', 'fd12::1', '198.51.100.1', '198.51.100.1'],
    [
      'an IPv6 proxy, written in another way',
      '2001:DB8:FFFF:0:0:0:0:1',
      '198.51.100.1',
      '198.51.100.1',
    ],
    ['an IPv4 client of a dual-stack listener', '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['an IPv4 proxy of a dual-stack listener', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['an IPv4-mapped entry, in hexadecimal', '10.0.0.1', '::ffff:c633:6401', '198.51.100.1'],
    ['a link-local neighbour', 'fe80::1%eth0', undefined, 'fe80::1'],
    ['a connection that is gone', undefined, '198.51.100.1', 'unknown'],
  ];
  test.each(rows)('%s', (_what, remote, forwardedFor, client) => {
    expect(clientAddress(remote, forwardedFor, trusted)).toBe(client);
  });

  test('nobody is a proxy where none is configured', () => {
    expect(clientAddress('127.0.0.1', '198.51.100.1', trustedProxies([]))).toBe('127.0.0.1');
  });
});

describe('what an address is counted in', () => {
  const rows: readonly [address: string, group: string][] = [
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['2001:db8::1', '2001:db8::/64'],
    ['::1', '::/64'],
    ['unknown', 'unknown'],
  ];
  test.each(rows)('%s: %s', (address, group) => {
    expect(addressGroup(address)).toBe(group);
    expect(addressGroup(address)).toBe(group); // and when it is asked again
  });
});
