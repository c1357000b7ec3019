import { describe, expect, it } from 'vitest';
import { reservedRange } from '../../src/core/names/reserved-addresses.ts';

/** First and last address of each range whose length that shows. */
const reserved: readonly (readonly [address: string, range: string, source: string])[] = [
  ['0.0.0.0', 'unspecified', 'RFC 1122'],
  ['0.255.255.255', 'unspecified', 'RFC 1122'],
  ['10.0.0.1', 'private', 'RFC 1918'],
  ['10.255.255.255', 'private', 'RFC 1918'],
  ['172.16.0.0', 'private', 'RFC 1918'],
  ['172.31.255.255', 'private', 'RFC 1918'],
  ['192.168.1.1', 'private', 'RFC 1918'],
  ['100.64.0.0', 'carrierGradeNat', 'RFC 6598'],
  ['100.127.255.255', 'carrierGradeNat', 'RFC 6598'],
  ['127.0.0.1', 'loopback', 'RFC 1122'],
  ['127.255.255.254', 'loopback', 'RFC 1122'],
  ['169.254.169.254', 'linkLocal', 'RFC 3927; where clouds keep their secrets'],
  ['192.0.0.8', 'reserved', 'RFC 7600'],
  ['192.0.0.170', 'reserved', 'RFC 7050'],
  ['192.0.2.1', 'documentation', 'RFC 5737'],
  ['198.51.100.255', 'documentation', 'RFC 5737'],
  ['203.0.113.7', 'documentation', 'RFC 5737'],
  ['192.31.196.1', 'as112', 'RFC 7535'],
  ['192.175.48.6', 'as112', 'RFC 7534'],
  ['192.52.193.1', 'amt', 'RFC 7450'],
  ['192.88.99.1', 'reserved', 'RFC 7526, once 6to4'],
  ['198.18.0.1', 'benchmarking', 'RFC 2544'],
  ['198.19.255.255', 'benchmarking', 'RFC 2544'],
  ['224.0.0.251', 'multicast', 'RFC 5771'],
  ['239.255.255.255', 'multicast', 'RFC 5771'],
  ['240.0.0.0', 'reserved', 'RFC 1112'],
  ['255.255.255.254', 'reserved', 'RFC 1112'],
  ['255.255.255.255', 'broadcast', 'RFC 919'],
  ['::', 'unspecified', 'RFC 4291'],
  ['::1', 'loopback', 'RFC 4291'],
  ['::a00:1', 'reserved', 'RFC 4291, 2.5.5.1, IPv4-compatible'],
  ['::808:808', 'reserved', 'the same'],
  ['::10.0.0.1', 'ipv4Mapped', 'the same in a notation that ipaddr.js parses as mapped'],
  ['::ffff:10.0.0.1', 'ipv4Mapped', 'RFC 4291, 2.5.5.2'],
  ['::ffff:8.8.8.8', 'ipv4Mapped', 'the same, though it leads to a public address'],
  ['::ffff:7f00:1', 'ipv4Mapped', 'the same, in hexadecimal'],
  ['::ffff:0:10.0.0.1', 'rfc6145', 'RFC 2765, translated'],
  ['64:ff9b::10.0.0.1', 'rfc6052', 'RFC 6052'],
  ['64:ff9b::808:808', 'rfc6052', 'RFC 6052'],
  ['64:ff9b:1::1', 'rfc6052', 'RFC 8215'],
  ['100::1', 'discard', 'RFC 6666'],
  ['100:0:0:1::1', 'reserved', 'RFC 9780'],
  ['2001::1', 'teredo', 'RFC 4380'],
  ['2001:1::1', 'reserved', 'RFC 7723'],
  ['2001:2::1', 'benchmarking', 'RFC 5180'],
  ['2001:3::1', 'amt', 'RFC 7450'],
  ['2001:4:112::1', 'as112v6', 'RFC 7535'],
  ['2001:10::1', 'deprecatedOrchid', 'RFC 4843'],
  ['2001:20::1', 'orchid2', 'RFC 7343'],
  ['2001:30::1', 'droneRemoteIdProtocolEntityTags', 'RFC 9374'],
  ['2001:1ff:ffff::1', 'reserved', 'RFC 2928, the end of 2001::/23'],
  ['2001:db8::1', 'documentation', 'RFC 3849'],
  ['2001:db8:ffff:ffff::1', 'documentation', 'RFC 3849'],
  ['2002:a00:1::1', '6to4', 'RFC 3056, and 10.0.0.1'],
  ['2620:4f:8000::1', 'as112v6', 'RFC 7534'],
  ['3fff::1', 'documentation', 'RFC 9637'],
  ['3fff:fff:ffff::1', 'documentation', 'RFC 9637'],
  ['4000::1', 'reserved', 'RFC 4291, not given out'],
  ['5f00::1', 'segmentRouting', 'RFC 9602'],
  ['fc00::1', 'uniqueLocal', 'RFC 4193'],
  ['fd12:3456:789a::1', 'uniqueLocal', 'RFC 4193'],
  ['fe80::1', 'linkLocal', 'RFC 4291'],
  ['fe80::1%eth0', 'linkLocal', 'RFC 4007'],
  ['febf:ffff::1', 'linkLocal', 'RFC 4291'],
  ['fec0::1', 'deprecatedSiteLocal', 'RFC 3879'],
  ['ff02::fb', 'multicast', 'RFC 4291'],
];

/** Servers that must be queried, and the neighbors of the ranges above. */
const open: readonly string[] = [
  '1.0.0.0',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.0.3.0',
  '192.33.4.12',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.41.0.4',
  '223.255.255.255',
  '2001:200::1',
  '2001:500:2::c',
  '2001:503:ba3e::2:30',
  '2001:db7:ffff::1',
  '2001:db9::1',
  '2003::1',
  '2606:4700:4700::1111',
  '3fff:1000::1',
];

describe('a reserved or invalid address is recognized', () => {
  it.each(reserved)('%s: %s (%s)', (address, range) => {
    expect(reservedRange(address)).toBe(range);
  });

  it.each(['', 'localhost', '1.2.3.4.5', '::g', '10.0.0.1/8'])('as invalid: "%s"', (text) => {
    expect(reservedRange(text)).toBe('reserved');
  });

  it('in any notation', () => {
    for (const loopback of ['127.1', '0x7f.0.0.1', '2130706433', '0:0:0:0:0:0:0:1']) {
      expect(reservedRange(loopback)).toBe('loopback');
    }
    expect(reservedRange('FE80::1')).toBe('linkLocal');
  });
});

describe('a public address is accepted', () => {
  it.each(open)('%s', (address) => {
    expect(reservedRange(address)).toBeNull();
  });
});
