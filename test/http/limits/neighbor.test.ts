import { describe, expect, it } from 'vitest';
import { createIsNeighbor, trustedProxies } from '../../../src/net/client-address.ts';

describe('isNeighbor', () => {
  const isNeighbor = createIsNeighbor(trustedProxies(['10.9.0.1', '203.0.113.9']));
  const table: readonly (readonly [boolean, string, string | undefined, string | undefined])[] = [
    [true, 'is on the same machine', '127.0.0.1', undefined],
    [true, 'is on the same machine, over IPv6', '::1', undefined],
    [true, 'is on the same machine, as an IPv4-mapped address', '::ffff:127.0.0.1', undefined],
    [true, 'is in a private network', '10.0.0.7', undefined],
    [true, 'is in a private IPv6 network', 'fd00::7', undefined],
    [true, 'is on the same link', 'fe80::7%eth0', undefined],
    [true, 'is the trusted proxy itself', '10.9.0.1', undefined],
    [true, 'comes through a trusted proxy', '10.9.0.1', '192.168.1.7'],
    [true, 'comes through a trusted proxy with a public address', '203.0.113.9', '10.0.0.7'],
    [false, 'is on the internet', '8.8.8.8', undefined],
    [false, 'is on the internet, over IPv6', '2606:4700::1', undefined],
    [false, 'is a trusted proxy with a public address', '203.0.113.9', '8.8.8.8'],
    [false, 'is on the internet behind a trusted proxy', '10.9.0.1', '8.8.8.8'],
    [false, 'claims a local address through a trusted proxy', '10.9.0.1', '127.0.0.1, 8.8.8.8'],
    [false, 'is forwarded by an unknown proxy', '127.0.0.1', '10.0.0.7'],
    [false, 'is forwarded by an unknown proxy without an address', '127.0.0.1', ''],
    [false, 'has a closed connection', undefined, undefined],
  ];
  it.each(table)('returns %s when the client %s', (expected, _why, remoteAddress, forwardedFor) => {
    expect(isNeighbor(remoteAddress, forwardedFor)).toBe(expected);
  });
});
