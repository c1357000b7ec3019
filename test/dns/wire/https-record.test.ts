/** The wire forms of RFC 9460, appendix D, and malformed ones. */
import { expect, it } from 'vitest';
import { MalformedMessage } from '../../../src/dns/wire/name.ts';
import { decodeHttps } from '../../../src/dns/wire/records.ts';

const foo = '03666f6f076578616d706c6503636f6d00';
const plain = { port: null, hints: [], ech: false };

function decoded(hex: string) {
  const bytes = Buffer.from(hex, 'hex');
  const reader = { bytes, offset: 0 };
  const record = decodeHttps(reader, bytes.length);
  expect(reader.offset).toBe(bytes.length);
  return record;
}

it.each([
  ['an alias', `0000${foo}`, { priority: 0, target: 'foo.example.com', ...plain }],
  ['the name itself', '000100', { priority: 1, target: '.', ...plain }],
  [
    'a port',
    `0010${foo}000300020035`,
    { priority: 16, target: 'foo.example.com', ...plain, port: 53 },
  ],
  [
    'IPv6 addresses',
    `0001${foo}0006002020010db800000000000000000000000120010db8000000000000000000530001`,
    {
      priority: 1,
      target: 'foo.example.com',
      ...plain,
      hints: ['2001:db8::1', '2001:db8::53:1'],
    },
  ],
  [
    'an IPv4 address and an ECH key',
    '00010000040004c0000201000500020001',
    { priority: 1, target: '.', port: null, hints: ['192.0.2.1'], ech: true },
  ],
  [
    'a length without a whole address',
    '00010000040003c00002',
    { priority: 1, target: '.', ...plain },
  ],
])('an HTTPS record has %s', (_what, hex, wanted) => {
  expect(decoded(hex)).toEqual(wanted);
});

it('an HTTPS record has at most 16 addresses of a family', () => {
  const many = `00010000040050${'c0000201'.repeat(20)}`;
  expect(decoded(many).hints).toHaveLength(16);
});

it.each([
  ['ends in its priority', '00'],
  ['ends in a parameter', '0001000003'],
  ['has a parameter that leaves it', '000100000300ff0035'],
])('an HTTPS record that %s is malformed', (_what, hex) => {
  expect(() => decoded(hex)).toThrow(MalformedMessage);
});
