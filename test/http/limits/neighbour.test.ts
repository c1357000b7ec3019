import { describe, expect, it } from 'vitest';
import { createIsNeighbour, trustedProxies } from '../../../src/net/client-address.ts';

describe('a neighbour', () => {
  const isNeighbour = createIsNeighbour(trustedProxies(['10.9.0.1', '203.0.113.9']));
  const table: readonly (readonly [boolean, string, string | undefined, string | undefined])[] = [
    [true, 'is on the same machine', '127.0.0.1', undefined],
    [true, 'is on the same machine, over IPv6', '::1', undefined],
    [
      true,
      'is on the same machine, as a socket for both families says it',
      '::ffff:127.0.0.1',
      undefined,
    ],
    [true, 'is in a private network', '10.0.0.7', undefined],
    [true, 'is in a private network of IPv6', 'fd00::7', undefined],
    [true, 'is on the same link', 'fe80::7%eth0', undefined],
    [true, 'is the trusted proxy itself', '10.9.0.1', undefined],
    [true, 'comes through a trusted proxy', '10.9.0.1', '192.168.1.7'],
    [
      true,
      'comes through a trusted proxy with an address of the internet',
      '203.0.113.9',
      '10.0.0.7',
    ],
    [false, 'is not on the internet', '8.8.8.8', undefined],
    [false, 'is not on the internet, over IPv6', '2606:4700::1', undefined],
    [false, 'is not a trusted proxy with an address of the internet', '203.0.113.9', '8.8.8.8'],
    [false, 'is nobody whom a trusted proxy saw on the internet', '10.9.0.1', '8.8.8.8'],
    [false, 'is nobody who says so on the way', '10.9.0.1', '127.0.0.1, 8.8.8.8'],
    [false, 'is nobody whom an unknown proxy passes on', '127.0.0.1', '10.0.0.7'],
    [false, 'is nobody whom an unknown proxy passes on without a name', '127.0.0.1', ''],
    [false, 'is nobody whose connection is gone', undefined, undefined],
  ];
  it.each(table)('%s: %s', (expected, _why, remoteAddress, forwardedFor) => {
    expect(isNeighbour(remoteAddress, forwardedFor)).toBe(expected);
  });
});
